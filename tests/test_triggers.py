"""Triggers of the helpers: their syntax, and the settings of a real-time query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal._declarations import Form
from epochal._start import Stream, start
from epochal._trigger import real_time, set_real_time
from epochal.errors import from_spark
from support.databases import Postgres
from support.streams import forget_last_commit, numbers
from support.waiting import until

ALLOWLIST = "spark.sql.streaming.realTimeMode.allowlistCheck"
SHORTEST = "spark.sql.streaming.realTimeMode.minBatchDuration"
#: Spark's noop sink, as a helper would start it.
NOOP = Form("noop", "epochal.write.noop")


SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
STATE = "spark.sql.streaming.stateStore"
#: The state that Spark requires in real time.
ROCKS_DB = {
    f"{STATE}.checkpointFormatVersion": "2",
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}


@pytest.fixture
def short(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that allows short batches in real-time queries."""
    spark.conf.set(SHORTEST, "200")
    yield spark
    spark.conf.unset(SHORTEST)


def strings(spark: SparkSession) -> DataFrame:
    return epochal.read.random(spark, rows_per_second=50, num_partitions=1)


def started(
    df: DataFrame, checkpoint: Path, trigger: str, options: dict[str, str] | None = None, output_mode: str = "append"
) -> StreamingQuery:
    stream = Stream(checkpoint, trigger, cast(Any, output_mode), None)
    query = start(df, NOOP, {}, options, stream)
    assert query is not None
    return query


def delivered(query: StreamingQuery) -> int:
    if (error := query.exception()) is not None:
        raise error
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def some_rows(query: StreamingQuery) -> None:
    try:
        until(lambda: delivered(query) > 0, "rows")
    finally:
        query.stop()


def commit_what_is_begun(spark: SparkSession, checkpoint: Path) -> None:
    """A stop in the middle of an epoch leaves it unfinished, and only micro-batches may replay it."""
    assert started(strings(spark), checkpoint, "availableNow").awaitTermination(60)


def in_real_time(df: DataFrame, postgres: Postgres, checkpoint: Path) -> StreamingQuery:
    return epochal.write.jdbc(
        df,
        postgres.url,
        table="t",
        user=postgres.user,
        create_table=True,
        checkpoint=checkpoint,
        trigger="realTime 300 milliseconds",
    )


def refused_in_real_time(spark: SparkSession, checkpoint: Path) -> epochal.ModeError:
    query = started(strings(spark), checkpoint, "realTime 300 milliseconds")
    error = from_spark(until(lambda: query.exception(), "the query's end"))
    assert isinstance(error, epochal.ModeError)
    return error


@pytest.mark.parametrize(
    ("trigger", "interval"),
    [
        ("realTime", "5 minutes"),
        ("realTime 5s", "5 seconds"),
        ("realTime 1 minute 30 seconds", "1 minute 30 seconds"),
        (" realTime  10 seconds ", "10 seconds"),
        ("5 seconds", None),
        ("availableNow", None),
        (None, None),
    ],
)
def test_a_real_time_trigger_sets_the_batch_duration(trigger: str | None, interval: str | None) -> None:
    assert real_time(trigger) == interval


@pytest.mark.parametrize(
    ("trigger", "meant"),
    [
        ("realtime", 'Did you mean trigger="realTime"?'),
        ("real-time 5 seconds", 'Did you mean trigger="realTime 5 seconds"?'),
        ("real time 5 seconds", 'Did you mean trigger="realTime 5 seconds"?'),
        ("RealTime 5 seconds", 'Did you mean trigger="realTime 5 seconds"?'),
        ("realTime soon", 'Did you mean trigger="realTime"?'),
        ("realTime 5 minuets", 'Did you mean trigger="realTime 5 minutes"?'),
        ("1 minuet", 'Did you mean trigger="1 minute"?'),
        ("continuous 1 secnd", 'Did you mean trigger="continuous 1 second"?'),
        ("1 min 30 secs", 'Did you mean trigger="1 minute 30 seconds"?'),
        ("1 month", 'Set it like this: trigger="5 seconds".'),
        ("5", 'Set it like this: trigger="5 seconds".'),
    ],
)
def test_a_misspelt_trigger_is_refused_with_the_right_one(
    spark: SparkSession, checkpoint: Path, trigger: str, meant: str
) -> None:
    with pytest.raises(epochal.OptionError) as refused:
        started(strings(spark), checkpoint, trigger)
    assert refused.value.condition == "OPTION_INVALID"
    assert refused.value.hint == meant


def test_a_real_time_query_is_started_with_the_settings_that_spark_requires(
    short: SparkSession, checkpoint: Path
) -> None:
    some_rows(started(strings(short), checkpoint, "realTime 300 milliseconds"))
    assert short.conf.get(ALLOWLIST) == "true"
    assert short.conf.get(ALLOWLIST, None) is None


def test_a_start_does_not_change_the_session(short: SparkSession, checkpoint: Path) -> None:
    short.conf.set(ALLOWLIST, "true")
    try:
        with pytest.raises(Exception, match="minBatchDuration"):
            started(strings(short), checkpoint, "realTime 1 millisecond")
        assert short.conf.get(ALLOWLIST, None) == "true"
    finally:
        short.conf.unset(ALLOWLIST)


def test_real_time_and_complete_exclude_each_other(spark: SparkSession, checkpoint: Path) -> None:
    with pytest.raises(epochal.OptionError, match="Leave output_mode out") as refused:
        started(strings(spark), checkpoint, "realTime", output_mode="complete")
    assert refused.value.condition == "OPTION_CONFLICT"


def test_a_real_time_query_switches_to_micro_batches_and_back(short: SparkSession, checkpoint: Path) -> None:
    for trigger in ("realTime 300 milliseconds", "100 milliseconds", "realTime 300 milliseconds"):
        some_rows(started(strings(short), checkpoint, trigger))
        if not trigger.startswith("realTime"):
            commit_what_is_begun(short, checkpoint)


@pytest.mark.slow
def test_a_micro_batch_checkpoint_is_refused_in_real_time_with_a_hint(short: SparkSession, checkpoint: Path) -> None:
    query = started(strings(short), checkpoint, "100 milliseconds")
    until(lambda: numbers(checkpoint, "commits"), "a batch")
    query.stop()
    commit_what_is_begun(short, checkpoint)
    error = refused_in_real_time(short, checkpoint)
    assert error.condition == "MODE_UNSUPPORTED"
    assert "begun in micro-batches" in error.problem
    assert "spark.sql.streaming.stateStore.checkpointFormatVersion" in error.hint


@pytest.mark.slow
def test_an_unfinished_epoch_is_refused_in_real_time_until_it_is_committed(
    short: SparkSession, checkpoint: Path
) -> None:
    commit_what_is_begun(short, checkpoint)
    while not numbers(checkpoint, "commits"):  # The first row is due after 20 ms.
        commit_what_is_begun(short, checkpoint)
    assert forget_last_commit(checkpoint) == 0
    error = refused_in_real_time(short, checkpoint)
    assert error.condition == "TRIGGER_UNSUPPORTED"
    assert "epoch 0 was begun under another trigger" in error.problem
    assert 'trigger="availableNow"' in error.hint
    commit_what_is_begun(short, checkpoint)


@pytest.mark.skipif(SPARK < (4, 3), reason="Spark 4.3 allows shuffles and state in real time")
@pytest.mark.parametrize(
    ("plan", "operator", "reason"),
    [
        (lambda rows: rows.repartition("id"), "Exchange", "in the order in which they arrive"),
        pytest.param(
            lambda rows: rows.dropDuplicates(["id"]),
            "StreamingDeduplicate",
            "the order in which a shuffle delivers",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda rows: rows.groupBy("length").count(),
            "Aggregat",
            "the order in which a shuffle delivers",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda rows: rows.join(rows.sparkSession.range(9), "id"),
            "BroadcastHashJoin",
            "other rows after a restart",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["repartition", "dropDuplicates", "count", "join"],
)
def test_a_plan_whose_rows_cannot_be_counted_is_refused_in_real_time_with_the_reason(
    plan: Callable[[DataFrame], DataFrame],
    operator: str,
    reason: str,
    short: SparkSession,
    postgres: Postgres,
    checkpoint: Path,
) -> None:
    for name, value in ROCKS_DB.items():
        short.conf.set(name, value)
    try:
        query = in_real_time(plan(strings(short)), postgres, checkpoint)
        error = from_spark(until(lambda: query.exception(), "the query's end"))
    finally:
        for name in ROCKS_DB:
            short.conf.unset(name)
    assert isinstance(error, epochal.ModeError)
    assert re.search(f"its plan has \\w*{operator}\\w*, .*{reason}", error.problem), error.problem


@pytest.mark.skipif(SPARK < (4, 2), reason="Python has the trigger since Spark 4.2")
@pytest.mark.slow
def test_exploded_rows_are_stored_once_in_real_time_across_stops(
    short: SparkSession, postgres: Postgres, checkpoint: Path
) -> None:
    postgres.execute("CREATE TABLE t (id BIGINT, part INT)")
    df = strings(short).selectExpr("id", "explode(array(1, 2, 3)) AS part")

    def run(least: int) -> None:
        query = in_real_time(df, postgres, checkpoint)

        def arrived() -> bool:
            if (error := query.exception()) is not None:
                raise error
            return bool(postgres.query("SELECT count(*) FROM t")[0][0] > least)

        until(arrived, "rows")
        query.stop()

    for least in (100, 200, 300):
        run(least)
    ((rows, distinct, last),) = postgres.query("SELECT count(*), count(DISTINCT (id, part)), max(id) FROM t")
    assert rows == distinct
    assert 3 * last < rows <= 3 * (last + 1)


def test_without_the_helper_an_unlisted_sink_names_the_required_setting(short: SparkSession, checkpoint: Path) -> None:
    writer: Any = strings(short).writeStream.format("epochal-jdbc").outputMode("update")
    writer = writer.options(url=f"jdbc:sqlite:{checkpoint.parent}/t.db", dbtable="t", createTable="true")
    with pytest.raises(epochal.ModeError) as refused:
        writer.option("checkpointLocation", str(checkpoint)).trigger(realTime="300 milliseconds").start()
    assert ALLOWLIST in refused.value.hint


@dataclass
class OldSession:
    """A fake session with the methods that the helper uses."""

    version: str


@dataclass
class OldWriter:
    """A Spark Connect writer without a real-time trigger."""

    set: dict[str, str] = field(default_factory=dict)

    def outputMode(self, mode: str) -> OldWriter:  # noqa: N802
        self.set["outputMode"] = mode
        return self

    def option(self, name: str, value: str) -> OldWriter:
        self.set[name] = value
        return self

    def trigger(self, **given: str) -> OldWriter:
        raise TypeError(f"unexpected keyword argument {given}")


@pytest.mark.parametrize(
    ("version", "reason"),
    [("4.0.5", "the session runs Spark 4.0.5"), ("4.1.4", "this client of Spark Connect has no real-time trigger")],
)
def test_a_spark_without_real_time_triggers_is_a_named_error(version: str, reason: str) -> None:
    with pytest.raises(epochal.ModeError, match=reason) as refused:
        set_real_time(cast(Any, OldWriter()), cast(Any, OldSession(version)), "5 seconds", "append", frozenset())
    assert refused.value.condition == "MODE_UNSUPPORTED"


def test_a_given_option_is_kept() -> None:
    writer = OldWriter()
    options = frozenset({"asyncprogresstrackingenabled"})
    with pytest.raises(epochal.ModeError):
        set_real_time(cast(Any, writer), cast(Any, OldSession("4.3.0")), "5 seconds", "append", options)
    assert writer.set == {"outputMode": "update"}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "Data source epochal-rest does not support continuous processing.",
            "Source epochal-rest cannot be read under the continuous trigger.",
        ),
        (
            "Continuous processing does not support Aggregate operations.;\n~Aggregate [id]\n+- ~epochal-random",
            "Spark does not run an aggregation under the continuous trigger (Aggregate).",
        ),
    ],
)
def test_refusals_under_a_continuous_trigger_name_an_alternative(said: str, meant: str) -> None:
    error = from_spark(RuntimeError(said))
    assert isinstance(error, epochal.ModeError)
    assert error.problem == meant
    assert 'trigger="1 second"' in error.hint


def test_an_error_of_a_query_without_epochal_is_unchanged() -> None:
    assert from_spark(RuntimeError("Continuous processing does not support Aggregate operations.")) is None
