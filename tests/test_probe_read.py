"""A probe's printed call in a program with Spark reads each record once, and resumes where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal.tools.probe import schema
from support.databases import Sqlite
from support.lists import Lists, json_of, records, serving
from support.probing import SHAPES, probed
from support.streams import finish
from support.variants import variants

#: In `make test`.
FEW = {"Django", "cursor in a header"}
#: Shapes of each kind of pagination and of body.
READ = (
    "keyset",
    "Zendesk",
    "Django",
    "Django, fixed size",
    "Spring",
    "cursor in a header",
    "Go, empty list left out",
    "NDJSON",
    "CSV",
    "rows",
    "map",
    "strict",
    "FHIR",
)


def pasted(program: str, spark: SparkSession) -> DataFrame:
    names: dict[str, Any] = {"spark": spark}
    exec(compile(program, "pasted", "exec"), names)
    found = names["records"]
    assert isinstance(found, DataFrame)
    return found


def pasted_as_batch(program: str, spark: SparkSession) -> DataFrame:
    return pasted(program.replace("    schema=", "    streaming=False,\n    schema="), spark)


@pytest.mark.parametrize("name", variants(READ, FEW))
def test_the_printed_call_reads_each_record_once_and_resumes(
    name: str, spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    shape = SHAPES[name]

    def copy(program: str) -> list[Any]:
        frame = pasted(program, spark)
        query = epochal.write.jdbc(
            frame.select("id", "name"),
            sqlite.url,
            table="records",
            checkpoint=checkpoint,
            create_table=True,
            sink_id="probed",
            trigger="availableNow",
        )
        finish(query)
        return sqlite.query("SELECT id, name FROM records ORDER BY id, name")

    with shape.serving() as api:
        found = probed(api.url + shape.query)
        assert copy(found.call) == [(record["id"], record["name"]) for record in api.records]
        api.records += records(45)[len(api.records) :]
        assert copy(found.plain) == [(record["id"], record["name"]) for record in records(45)]


def test_a_whole_list_is_read_as_a_batch(spark: SparkSession) -> None:
    with SHAPES["whole list"].serving() as api:
        found = probed(api.url)
        frame = pasted_as_batch(found.call, spark)
        assert [tuple(row) for row in frame.orderBy("id").collect()] == [(r["id"], r["name"]) for r in api.records]


#: SQL keywords as column names.
KEYWORDS = (
    "not",
    "from",
    "select",
    "interval",
    "timestamp",
    "order",
    "group",
    "union",
    "cross",
    "array",
    "struct",
    "null",
    "end",
)

#: Values of every kind, for schema inference.
VALUES: dict[str, Any] = {
    "whole": 1,
    "large": 2**62,
    "huge": 2**64,
    "part": 1.5,
    "flag": True,
    "text": "a",
    "date": "2026-01-01",
    "moment": "2026-01-01T10:00:00.123456+02:00",
    "utc": "2026-01-01T08:00:00Z",
    "list": [1, 2],
    "object": {"a b": {"c": [None]}, "d": [{"e": 1}]},
    "map": {"2026-01-01": 1},
    "none": None,
    "empty": [],
    "mixed": 1,
    "a b": 1,
    "a`b": 1,
    "a.b": 1,
    "naïve": 1,
    "\x1b": 1,
    **dict.fromkeys(KEYWORDS, 1),
}


def test_spark_reads_records_with_the_found_schema(spark: SparkSession) -> None:
    many = [{"id": number, **VALUES, "mixed": number if number % 2 else "text"} for number in range(1, 4)]

    with serving(lambda api, request: json_of(many)) as api:
        found = probed(api.url)
        frame = pasted_as_batch(found.call, spark)
        rows = frame.orderBy("id").collect()
    assert [row["whole"] for row in rows] == [1, 1, 1]
    assert rows[0]["large"] == 2**62
    assert int(rows[0]["huge"]) == 2**64
    assert rows[0]["moment"].microsecond == 123456
    assert rows[0]["map"] == {"2026-01-01": 1}
    assert rows[0]["object"]["d"][0]["e"] == 1
    assert [row["mixed"] for row in rows] == ["1", "text", "3"]
    assert rows[0]["none"] is None
    assert frame.columns == ["id", *VALUES]


def test_values_that_fit_no_number_type_are_strings(spark: SparkSession) -> None:
    ids = [{"id": "00123"}, {"id": "12345678901234567890123"}]
    assert schema.infer(ids, texts=False).ddl == "id STRING"
    with serving(lambda api, request: json_of(ids)) as api:
        rows = pasted_as_batch(probed(api.url).call, spark).collect()
        assert sorted(row["id"] for row in rows) == ["00123", "12345678901234567890123"]


def test_a_list_that_grows_beyond_an_incomplete_call_fails_it(spark: SparkSession) -> None:
    """An incomplete call never treats a limit of the probe as the end of the list."""

    def link_array(api: Lists, request: Any) -> Any:
        return json_of({"items": api.part(0), "hasMore": True})

    with serving(link_array) as api:
        found = probed(api.url)
        assert not found.complete
        with pytest.raises(epochal.EpochalError) as caught:
            pasted_as_batch(found.call, spark).collect()
    assert caught.value.condition == "LIST_INCOMPLETE"
