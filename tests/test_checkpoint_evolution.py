"""Checkpoints in the newer formats of Spark 4.2 and 4.3: named sources, named sinks, epochs of Spark itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal.__main__ import main
from epochal.tools.checkpoint.repair import fork, rewind
from support.checkpoints import commit_text, offsets_text, quiet, row, write
from support.databases import Sqlite
from support.places import over_connect
from support.streams import finish, forget_last_commit, numbers

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
EVOLUTION = "spark.sql.streaming.queryEvolution"
SINKS = '"sinkMetadataMap":{"table":{"sinkName":"table","providerName":"epochal-jdbc","isActive":true}}'
CONTROL = '"controlBatchInfo":{"operationType":"REPARTITION"}'


def commit_v3(watermark: int = 0) -> str:
    return f'v3\n{{"nextBatchWatermarkMs":{watermark},{SINKS}}}'


def test_commits_with_sinks_are_read(tmp_path: Path) -> None:
    texts = {n: offsets_text(f"orders:{n}", version="v2") for n in range(2)}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, {0: commit_text(), 1: commit_v3(7)}))
    assert (found.last_committed, found.epochs[1].next_watermark, found.epochs[1].problem) == (1, 7, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("v3\n{}", "it names no sink"),
        (commit_v3()[:-30], "its second line is not JSON: the file is torn"),
        (commit_v3().replace("v3", "v4"), "it is of version v4, and v1, v2 and v3 are known"),
    ],
)
def test_a_damaged_commit_with_sinks_is_reported(text: str, reason: str, tmp_path: Path) -> None:
    found = epochal.checkpoint(write(tmp_path / "checkpoint", {0: offsets_text("1")}, {0: text}))
    assert found.next_start.explanation == f"Spark fails: commits/0 cannot be read: {reason}."


def test_a_rewind_and_a_fork_keep_names(tmp_path: Path) -> None:
    texts = {n: offsets_text(f"orders:{n}", version="v2") for n in range(3)}
    place = write(tmp_path / "checkpoint", texts, {n: commit_v3() for n in range(3)})
    fork(epochal.checkpoint(place), tmp_path / "copy").run()
    rewind(epochal.checkpoint(place), 1).run()
    copied, found = epochal.checkpoint(tmp_path / "copy"), epochal.checkpoint(place)
    assert (copied.next_start.epoch, found.next_start.epoch) == (3, 2)
    assert [source.name for source in found.epochs[-1].sources] == ["orders"]


def test_the_journal_of_a_named_source_is_checked_before_a_rewind(tmp_path: Path) -> None:
    offset = '{"v":1,"format":"epochal-ingest","source":"s","row":%d}'
    texts = {n: offsets_text(f"orders:{offset % (10 * n)}", version="v2") for n in range(3)}
    place = write(tmp_path / "checkpoint", texts, {n: commit_v3() for n in range(3)})
    (place / "sources" / "orders" / "ingest").mkdir(parents=True)
    with pytest.raises(epochal.RepairError, match="sources/orders/ingest no longer has the rows 10 to 20"):
        rewind(epochal.checkpoint(place), 1)


def test_the_event_time_of_a_named_source_is_shown(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint", {0: offsets_text("orders:1", version="v2")}, {0: commit_v3()})
    marks = place / "sources" / "orders" / "event-time"
    marks.mkdir(parents=True)
    (marks / "1767225600000000").touch()
    assert "event time 2026-01-01 00:00:00" in str(epochal.checkpoint(place))


@pytest.fixture
def evolving(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which sources and sinks have names."""
    if over_connect() or VERSION < (4, 3):
        pytest.skip("Spark 4.3 names sinks, in the JVM alone")
    settings = [f"{EVOLUTION}.enableSourceEvolution", f"{EVOLUTION}.enableSinkEvolution"]
    for name in settings:
        spark.conf.set(name, "true")
    yield spark
    for name in settings:
        spark.conf.unset(name)


def start(rows: DataFrame, sqlite: Sqlite, checkpoint: Path) -> None:
    options = {"url": sqlite.url, "dbtable": "t", "createTable": "true", "sinkId": "t"}
    writer = rows.writeStream.format("epochal-jdbc").options(**options).trigger(availableNow=True)
    writer._jwrite.name("table_t")
    finish(writer.option("checkpointLocation", str(checkpoint)).start())
    quiet(checkpoint)


def random(spark: SparkSession, count: int) -> DataFrame:
    reader = spark.readStream.format("epochal-random").options(rowsPerBatch="10", maxRows=str(count))
    return reader.name("numbers").load()


@pytest.mark.slow
def test_a_query_with_named_sources_and_sinks_is_shown_and_repaired(
    evolving: SparkSession, sqlite: Sqlite, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(random(evolving, 30), sqlite, checkpoint)
    last = checkpoint / "commits" / "2"
    assert last.read_text().startswith("v3\n")
    found = epochal.checkpoint(checkpoint)
    assert [source.name for epoch in found.epochs for source in epoch.sources] == ["numbers"] * 3
    assert (found.last_committed, [epoch.problem for epoch in found.epochs]) == (2, [None] * 3)
    assert main(["status", str(checkpoint), "--url", sqlite.url]) == 0
    assert "source numbers epochal-random: 30 rows" in capsys.readouterr().out

    last.write_text("v3\n{")
    assert main(["status", str(checkpoint), "--url", sqlite.url]) == 3
    assert "Remove the file" in capsys.readouterr().out
    assert forget_last_commit(checkpoint) == 2
    start(random(evolving, 40), sqlite, checkpoint)
    assert sqlite.query("SELECT count(*), count(DISTINCT id) FROM t") == [(40, 40)]
    assert epochal.checkpoint(checkpoint).compare(epochal.ledger(sqlite.url)).state == "in step"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"conf"', f'{CONTROL},"conf"'),
        lambda text: text.replace('"spark.sql.shuffle.partitions":"2"', '"spark.sql.shuffle.partitions":"3"'),
    ],
    ids=["marked", "partitions"],
)
def test_an_epoch_of_spark_itself_is_no_gap(change: Callable[[str], str], tmp_path: Path) -> None:
    texts = {n: offsets_text(f"0:{min(n, 1)}", version="v2") for n in range(3)}
    texts[2] = change(texts[2])
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, range(3)))
    assert [epoch.control for epoch in found.epochs] == [False, False, True]
    assert found.compare(row(1, offsets_hash=found.epochs[1].offsets_hash)).state == "in step"
    assert found.compare(row(1, offsets_hash="0" * 32)).state == "gap"
    assert found.compare(row(0, offsets_hash=found.epochs[0].offsets_hash)).state == "gap"


@pytest.mark.slow
@pytest.mark.skipif(over_connect() or VERSION < (4, 2), reason="Spark 4.2 repartitions state, in the JVM alone")
def test_a_repartitioned_checkpoint_is_in_step(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    state = "spark.sql.streaming.stateStore"
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    settings = {f"{state}.checkpointFormatVersion": "2", f"{state}.providerClass": provider}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        rows = epochal.read.random(spark, rows_per_batch=10, max_rows=20).dropDuplicates(["id"])
        finish(
            epochal.write.jdbc(
                rows, sqlite.url, table="t", create_table=True, checkpoint=checkpoint, trigger="availableNow"
            )
        )
        before = numbers(checkpoint, "commits")
        spark._streamingCheckpointManager.repartition(str(checkpoint), 3)
        found = epochal.checkpoint(checkpoint)
        assert [epoch.number for epoch in found.epochs if epoch.control] == [before[-1] + 1]
        assert found.compare(epochal.ledger(sqlite.url)).state == "in step"
    finally:
        for name in settings:
            spark.conf.unset(name)
