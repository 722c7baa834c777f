"""Tables in Spark's own catalog over Epochal's formats: they work, or are refused with an error that names the fix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from support.databases import Sqlite
from support.streams import finish

pytestmark = pytest.mark.line


@pytest.fixture
def name(spark: SparkSession) -> Iterator[str]:
    yield "epochal_catalog_test"
    spark.sql("DROP TABLE IF EXISTS epochal_catalog_test")


def create(spark: SparkSession, name: str, database: Sqlite) -> None:
    database.execute("CREATE TABLE t (id INTEGER, value TEXT)")
    spark.sql(
        f"CREATE TABLE {name} (id INT, value STRING) USING `epochal-jdbc` "
        f"OPTIONS (url '{database.url}', dbtable 't', batchSize '7')"
    )


def test_a_table_over_a_source_is_read(spark: SparkSession, name: str) -> None:
    spark.sql(f"CREATE TABLE {name} USING `epochal-random` OPTIONS (maxRows 5, rowsPerBatch 5)")
    assert spark.table(name).count() == 5


def test_rows_are_inserted_into_a_table_over_the_sink(spark: SparkSession, name: str, sqlite: Sqlite) -> None:
    create(spark, name, sqlite)
    spark.sql(f"INSERT INTO {name} SELECT 1 AS id, 'a' AS value")
    assert sqlite.query("SELECT id, value FROM t") == [(1, "a")]


def test_a_stream_goes_into_a_table_that_was_created_with_its_options(
    spark: SparkSession, name: str, sqlite: Sqlite, checkpoint: Path
) -> None:
    create(spark, name, sqlite)
    rows = epochal.read.random(spark, rows_per_batch=3, max_rows=6).selectExpr("CAST(id AS INT) AS id", "value")
    writer = rows.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    finish(writer.toTable(name))
    assert sqlite.query("SELECT count(*) FROM t") == [(6,)]


def test_to_table_and_save_as_table_without_a_table_fail_with_a_hint(
    spark: SparkSession, name: str, sqlite: Sqlite, checkpoint: Path
) -> None:
    sqlite.execute("CREATE TABLE t (id INTEGER)")
    options = {"url": sqlite.url, "dbtable": "t", "checkpointLocation": str(checkpoint)}
    stream = epochal.read.random(spark).select("id").writeStream.format("epochal-jdbc").options(**options)
    with pytest.raises(epochal.ModeError, match=r"MODE_UNSUPPORTED.*start\(\).*CREATE TABLE name"):
        stream.toTable(name)
    batch = spark.range(3).write.format("epochal-jdbc").options(url=sqlite.url, dbtable="t").mode("append")
    with pytest.raises(epochal.ModeError, match=r"MODE_UNSUPPORTED.*save\(\)"):
        batch.saveAsTable(name)


@pytest.mark.parametrize("schema", [None, "id INT"])
def test_reading_the_sink_fails_with_a_hint_to_the_reader(
    spark: SparkSession, sqlite: Sqlite, schema: str | None
) -> None:
    sqlite.execute("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (7)")
    reader = spark.read.format("epochal-jdbc").options(url=sqlite.url, dbtable="t")
    with pytest.raises(epochal.ModeError, match="MODE_UNSUPPORTED") as caught:
        (reader if schema is None else reader.schema(schema)).load().collect()
    call = caught.value.hint.partition("format: ")[2].partition(" (A CREATE")[0].rstrip(".")
    assert [row[0] for row in eval(call, {"spark": spark}).collect()] == [7]
