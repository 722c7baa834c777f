"""REST → Delta Lake: our source with another team's sink, which identifies an epoch by query id and number.

`make test-matrix MATRIX=4.0.5` downloads Delta's jars; other lines of Spark need other releases of Delta.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from epochal import Limits, rest
from support.api import serve
from support.data import COLUMNS, SCHEMA, as_rows, comments
from support.pages import ChainedApi
from support.streams import drain, forget_last_commit, numbers
from support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

JARS = Path(__file__).resolve().parent.parent / "build" / "delta"

pytestmark = [
    pytest.mark.matrix,
    pytest.mark.skipif(
        not pyspark.__version__.startswith("4.0."), reason="the release of Delta fetched is for Spark 4.0"
    ),
]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with Delta Lake as its catalog."""
    from pyspark.sql import SparkSession

    from support.sessions import in_a_jvm_of_its_own

    jars = sorted(str(jar) for jar in JARS.glob("*.jar"))
    assert jars, f"no jars in {JARS}"
    settings: dict[str, Any] = {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.databricks.delta.snapshotPartitions": 2,
        "spark.ui.enabled": False,
        "spark.log.level": os.environ.get("EPOCHAL_TEST_LOG_LEVEL", "OFF"),
    }
    builder = SparkSession.builder.master("local[2]").appName("epochal and delta").config(map=settings)
    with in_a_jvm_of_its_own(builder) as session:
        yield session


#: Pagination with and without journal.
READS: dict[str, dict[str, Any]] = {
    "offset": {"pages": rest.Offset(size=10), "limits": Limits(rows=30)},
    "cursor": {"pages": rest.Cursor(next="/meta/next", param="after"), "limits": Limits(rows=17)},
}


@pytest.mark.parametrize("kind", READS)
def test_a_delta_table_has_every_record_once_after_the_query_was_stopped_and_resumed(
    delta: SparkSession, kind: str, tmp_path: Path
) -> None:
    import epochal

    table = f"comments_{kind}"

    def start(api: ChainedApi) -> StreamingQuery:
        df = epochal.read.rest(delta, api.url, schema=SCHEMA, records=rest.Json("/data"), **READS[kind])
        return df.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint")).toTable(table)

    def rows() -> list[tuple[Any, ...]]:
        found: DataFrame = delta.table(table).select(*COLUMNS).orderBy("id")
        return [tuple(row) for row in found.collect()]

    with serve(ChainedApi()) as api:
        api.records = comments(1, 95)
        first = start(api)
        until(lambda: any(p["numInputRows"] for p in first.recentProgress), "a batch")
        first.stop()
        before = len(rows())
        assert before > 0
        api.records = comments(1, 140)
        drain(start(api))
        assert rows() == as_rows(api.records)
        last = forget_last_commit(tmp_path / "checkpoint")
        drain(start(api))
        assert last in numbers(tmp_path / "checkpoint", "commits")
        assert rows() == as_rows(api.records)
