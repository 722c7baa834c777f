"""Checkpoints that Spark 4.2 and 4.3 write in newer formats: named sources and sinks, and repartitioned state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from support.api import Api
from support.databases import Sqlite
from support.places import over_connect
from support.streams import finish, forget_last_commit, numbers
from support.variants import variants

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
EVOLUTION = "spark.sql.streaming.queryEvolution"

pytestmark = pytest.mark.skipif(over_connect(), reason="sinks are named, and states repartitioned, in the JVM alone")


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Any]:
    """Sets options of the session for one test."""
    names: list[str] = []

    def set_all(values: dict[str, str]) -> None:
        for name, value in values.items():
            spark.conf.set(name, value)
            names.append(name)

    yield set_all
    for name in names:
        spark.conf.unset(name)


def write(rows: DataFrame, sqlite: Sqlite, checkpoint: Path, *, mode: str = "append", sink: str | None = None) -> None:
    """Writes what is available, as one query whose sink has a name."""
    options = {"url": sqlite.url, "dbtable": "t", "createTable": "true", "checkpointLocation": str(checkpoint)}
    writer = rows.writeStream.format("epochal-jdbc").options(**options).outputMode(mode).trigger(availableNow=True)
    if sink:
        writer._jwrite.name(sink)
    finish(writer.start())


def random(spark: SparkSession, count: int, name: str | None = None) -> DataFrame:
    """A source of that many rows, in batches of five."""
    options = {"rowsPerBatch": "5", "maxRows": str(count), "sourceId": "numbers"}
    reader = spark.readStream.format("epochal-random").options(**options)
    return (reader.name(name) if name else reader).load()


@pytest.mark.skipif(VERSION < (4, 3), reason="Spark 4.3 names sinks")
def test_the_commits_of_a_named_sink_are_read(spark: SparkSession, sqlite: Sqlite, checkpoint: Path, conf: Any) -> None:
    conf({f"{EVOLUTION}.enableSinkEvolution": "true"})
    write(random(spark, 10), sqlite, checkpoint, sink="table_t")
    assert (checkpoint / "commits" / "0").read_text().startswith("v3\n")
    rows = epochal.read.checkpoint_log(spark, str(checkpoint)).collect()
    assert [(row["epoch"], row["committed"], row["problem"]) for row in rows] == [(0, True, None), (1, True, None)]

    assert forget_last_commit(checkpoint) == 1
    write(random(spark, 20), sqlite, checkpoint, sink="table_t")
    assert sqlite.query("SELECT count(*), count(DISTINCT id) FROM t") == [(20, 20)]


@pytest.mark.skipif(VERSION < (4, 2), reason="Spark 4.2 names sources")
@pytest.mark.parametrize("source", variants(["epochal-random", "epochal-rest"], {"epochal-random"}))
def test_a_named_source_keeps_its_files_under_its_name(
    source: str, spark: SparkSession, sqlite: Sqlite, checkpoint: Path, conf: Any, api: Api
) -> None:
    conf({f"{EVOLUTION}.enableSourceEvolution": "true", "spark.sql.streaming.offsetLog.formatVersion": "2"})
    api.records = [{"id": number} for number in range(10)]

    def rows() -> DataFrame:
        if source == "epochal-random":
            return random(spark, len(api.records), "orders")
        options = {"url": api.url, "schema": "id INT", "pagination": "offset", "pageSize": "5", "journal": "true"}
        return spark.readStream.format(source).options(**options).name("orders").load()

    write(rows(), sqlite, checkpoint)
    assert [child.name for child in (checkpoint / "sources").iterdir()] == ["orders"]
    assert (checkpoint / "sources" / "orders" / "initial-offset").is_file()
    last = (checkpoint / "offsets" / str(numbers(checkpoint, "offsets")[-1])).read_text()
    assert last.startswith("v2\n")
    assert last.splitlines()[2].startswith("orders:{")

    forget_last_commit(checkpoint)
    api.records += [{"id": number} for number in range(10, 20)]
    write(rows(), sqlite, checkpoint)
    assert sqlite.query("SELECT count(*), count(DISTINCT id) FROM t") == [(20, 20)]


@pytest.mark.skipif(VERSION < (4, 2), reason="Spark 4.2 repartitions states")
@pytest.mark.slow
def test_a_query_continues_after_its_state_was_repartitioned(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, conf: Any
) -> None:
    conf(
        {
            "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
            "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
            "RocksDBStateStoreProvider",
        }
    )
    write(random(spark, 10).dropDuplicates(["id"]), sqlite, checkpoint)
    spark._streamingCheckpointManager.repartition(str(checkpoint), 3)
    assert numbers(checkpoint, "commits") == [0, 1, 2]
    write(random(spark, 20).dropDuplicates(["id"]), sqlite, checkpoint)
    assert sqlite.query("SELECT count(*), count(DISTINCT id) FROM t") == [(20, 20)]
