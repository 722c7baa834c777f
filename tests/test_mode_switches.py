"""``epochal-random`` under every trigger, and one checkpoint under several triggers in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import epochal
from support.epoch_files import FORMAT, build, epochs
from support.positions import Position
from support.sessions import in_a_jvm_of_its_own
from support.streams import finish, forget_last_commit, numbers
from support.waiting import until

SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
PARTITIONS = 2

pytestmark = pytest.mark.matrix


def micro_batch(_: SparkSession, writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(processingTime="200 milliseconds")


def continuous(_: SparkSession, writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(continuous="200 milliseconds")


def available_now(_: SparkSession, writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(availableNow=True)


def real_time(spark: SparkSession, writer: DataStreamWriter) -> DataStreamWriter:
    """Python has the trigger since Spark 4.2."""
    unwrapped: Any = writer.outputMode("update").option("asyncProgressTrackingEnabled", False)
    if SPARK >= (4, 2):
        triggered: DataStreamWriter = unwrapped.trigger(realTime="1 second")
        return triggered
    java: Any = spark
    unwrapped._jwrite = unwrapped._jwrite.trigger(java._jvm.org.apache.spark.sql.streaming.Trigger.RealTime("1 second"))
    return writer


Trigger = Callable[[SparkSession, DataStreamWriter], DataStreamWriter]
#: Triggers of this Spark.
TRIGGERS: list[Trigger] = [micro_batch, continuous, *([real_time] if SPARK >= (4, 1) else [])]
#: Changes of trigger that Spark refuses. The tests' checkpoints have state format 2, which real-time mode requires.
REFUSED = [(continuous, micro_batch), (continuous, real_time)]
#: Changes of trigger that require the first trigger to finish an epoch that it started.
UNFINISHED_REFUSED = [(micro_batch, continuous), (micro_batch, real_time), (real_time, continuous)]
PAIRS = [(first, second) for first in TRIGGERS for second in TRIGGERS if (first, second) not in REFUSED]


def named(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with a sink for all triggers, and state format 2, which real-time mode requires."""
    conf: dict[str, Any] = {
        "spark.jars": build(tmp_path_factory.mktemp("sink")),
        "spark.ui.enabled": False,
        "spark.log.level": "OFF",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.streaming.realTimeMode.allowlistCheck": False,
        "spark.sql.streaming.realTimeMode.minBatchDuration": 500,
        "spark.sql.streaming.stateStore.checkpointFormatVersion": 2,
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    with in_a_jvm_of_its_own(SparkSession.builder.master("local[2]").config(map=conf)) as session:
        yield session


def delivered(directory: Path, later: Path | None = None) -> list[int]:
    """Rows of each epoch; for a replayed epoch, the rows of the later run."""
    found = epochs(directory) | (epochs(later) if later and later.is_dir() else {})
    return [row for rows in found.values() for row, _ in rows]


def start(
    spark: SparkSession, trigger: Trigger, path: Path, checkpoint: Path, commit_millis: int = 0
) -> StreamingQuery:
    rows = epochal.read.random(spark, rows_per_second=50, num_partitions=PARTITIONS).select("id")
    writer = rows.writeStream.format(FORMAT).options(path=str(path), commitMillis=commit_millis)
    return trigger(spark, writer.option("checkpointLocation", str(checkpoint))).start()


def is_unfinished(checkpoint: Path) -> bool:
    return max(numbers(checkpoint, "offsets"), default=-1) > max(numbers(checkpoint, "commits"), default=-1)


def finish_epoch(spark: SparkSession, path: Path, checkpoint: Path) -> None:
    """Replays an unfinished epoch and delivers all available rows."""
    path.mkdir(exist_ok=True)
    finish(start(spark, available_now, path, checkpoint))
    assert not is_unfinished(checkpoint)


def run(spark: SparkSession, trigger: Trigger, path: Path, checkpoint: Path, rows: int) -> list[int]:
    """Runs a query until it has committed ``rows`` more rows; returns the rows of the run."""
    path.mkdir()
    goal = Position(checkpoint).delivered() + rows
    query = start(spark, trigger, path, checkpoint)

    def there() -> bool:
        assert query.isActive, str(query.exception())
        return Position(checkpoint).delivered() >= goal

    until(there, f"{rows} rows in committed epochs")
    query.stop()
    return delivered(path)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=named)
def test_a_query_resumes_after_its_last_committed_epoch(
    spark: SparkSession, tmp_path: Path, first: Trigger, second: Trigger
) -> None:
    checkpoint = tmp_path / "checkpoint"
    run(spark, first, tmp_path / "before", checkpoint, 30)
    if (first, second) in UNFINISHED_REFUSED and is_unfinished(checkpoint):
        finish_epoch(spark, tmp_path / "finished", checkpoint)
    before = Counter(delivered(tmp_path / "before", tmp_path / "finished"))
    committed = Position(checkpoint)
    assert [row for row in range(max(before, default=-1)) if committed.has(row) and before[row] != 1] == []
    after = Counter(run(spark, second, tmp_path / "after", checkpoint, 100))
    assert after
    end = min(max((row for row in after if row % PARTITIONS == part), default=-1) for part in range(PARTITIONS))
    assert [row for row in range(end) if after[row] != (0 if committed.has(row) else 1)] == []


@pytest.mark.parametrize(("first", "second"), [pair for pair in REFUSED if set(pair) <= set(TRIGGERS)], ids=named)
def test_a_continuous_checkpoint_is_refused_under_other_triggers(
    spark: SparkSession, tmp_path: Path, first: Trigger, second: Trigger
) -> None:
    checkpoint = tmp_path / "checkpoint"
    run(spark, first, tmp_path / "before", checkpoint, 30)
    (tmp_path / "after").mkdir()
    with pytest.raises(epochal.ModeError, match=r"TRIGGER_UNSUPPORTED.*checkpoint.*continuous") as caught:
        start(spark, second, tmp_path / "after", checkpoint).awaitTermination(60)
    assert "Hint: Use .trigger(continuous=" in str(caught.value)


@pytest.mark.parametrize("trigger", [trigger for trigger in TRIGGERS if trigger is not micro_batch], ids=named)
def test_an_unfinished_micro_batch_is_kept_and_refused_under_other_triggers(
    spark: SparkSession, tmp_path: Path, trigger: Trigger
) -> None:
    checkpoint, path = tmp_path / "checkpoint", tmp_path / "rows"
    run(spark, micro_batch, path, checkpoint, 30)
    finish_epoch(spark, path, checkpoint)
    last = forget_last_commit(checkpoint)
    logged = (checkpoint / "offsets" / str(last)).read_bytes()
    with pytest.raises(epochal.ModeError, match=rf"TRIGGER_UNSUPPORTED.*epoch {last} was begun under another trigger"):
        start(spark, trigger, path, checkpoint).awaitTermination(60)
    assert (checkpoint / "offsets" / str(last)).read_bytes() == logged
    finish_epoch(spark, path, checkpoint)
    run(spark, trigger, tmp_path / "after", checkpoint, 30)


@pytest.mark.skipif(real_time not in TRIGGERS, reason="Spark 4.0 has no real-time mode")
def test_an_unfinished_real_time_epoch_is_replayed_until_a_micro_batch_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint, path = tmp_path / "checkpoint", tmp_path / "rows"
    run(spark, real_time, path, checkpoint, 30)
    forget_last_commit(checkpoint)
    run(spark, real_time, tmp_path / "again", checkpoint, 30)
    finish_epoch(spark, tmp_path / "finished", checkpoint)
    last = forget_last_commit(checkpoint)
    with pytest.raises(epochal.ModeError, match=rf"epoch {last} was begun under another trigger"):
        start(spark, real_time, path, checkpoint).awaitTermination(60)


def test_a_continuous_query_started_again_while_it_runs_keeps_its_log(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint, path = tmp_path / "checkpoint", tmp_path / "rows"
    path.mkdir()
    for starts in range(8):
        query = start(spark, continuous, path, checkpoint, commit_millis=150)

        def has_gone_on(query: StreamingQuery = query, least: int = 3 * starts) -> bool:
            assert query.isActive, str(query.exception())
            return len(numbers(checkpoint, "commits")) > least

        until(has_gone_on, "three more epochs")
    for query in spark.streams.active:
        query.stop()
    assert set(numbers(checkpoint, "commits")) <= set(numbers(checkpoint, "offsets"))


@pytest.mark.skipif(real_time not in TRIGGERS, reason="Spark 4.0 has no real-time mode")
def test_the_progress_of_a_real_time_query_shows_its_lag(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    query = start(spark, real_time, tmp_path / "rows", tmp_path / "checkpoint")

    def last() -> dict[str, Any] | None:
        assert query.isActive, str(query.exception())
        progress = query.lastProgress
        return progress if progress and progress["batchId"] >= 1 else None

    metrics = until(last, "a second batch")["sources"][0]["metrics"]
    query.stop()
    assert float(metrics["secondsBehind"]) < 10
    assert metrics["rowsBehindExact"] == "true"
