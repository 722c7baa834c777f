# ruff: noqa: N802 - names of Spark's
"""``epochal.testing``: correct readers keep every promise, faulty ones break the promise that covers their fault."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)

import epochal
from epochal import testing

# Pickled by value, because Python workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

SECONDS = 240
QUERIES = {"replay", "checkpoint-alone", "query-available-now", "restarts"}


@dataclass
class Origin:
    """A file of lines, each with its time."""

    path: Path
    count: int = 0

    def add(self, count: int) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            for number in range(self.count, self.count + count):
                file.write(f"{time.time_ns()} line {number}\n")
        self.count += count


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    path = tmp_path / "lines.txt"
    path.touch()
    return Origin(path)


def lines(path: str) -> list[str]:
    return Path(path).read_text("utf-8").splitlines()


@dataclass
class Slice(InputPartition):
    start: int
    end: int


class LineReader(DataSourceStreamReader):
    """Correct: the offset is the number of delivered lines."""

    def __init__(self, path: str) -> None:
        self.path = path

    def initialOffset(self) -> dict[str, Any]:
        return {"lines": 0}

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        return {"lines": len(lines(self.path))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        middle = (start["lines"] + end["lines"]) // 2
        return [Slice(start["lines"], middle), Slice(middle, end["lines"])]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, Slice)
        for line in lines(self.path)[partition.start : partition.end]:
            yield (line,)


class SimpleLineReader(SimpleDataSourceStreamReader):
    """Correct, with Spark's simple reader."""

    def __init__(self, path: str) -> None:
        self.path = path

    def initialOffset(self) -> dict[str, Any]:
        return {"lines": 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        found = lines(self.path)
        return iter([(line,) for line in found[start["lines"] :]]), {"lines": len(found)}

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        return iter([(line,) for line in lines(self.path)[start["lines"] : end["lines"]]])


class LineSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "lines"

    def schema(self) -> str:
        return "line STRING"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return LineReader(self.options["path"])


class SideFileReader(LineReader):
    """Wrong: keeps its position in a file beside the origin."""

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        position = Path(f"{self.path}.position")
        begin = int(position.read_text("utf-8")) if position.exists() else 0
        position.write_text(str(max(begin, end["lines"])), "utf-8")
        return [Slice(begin, end["lines"])]


class LateFileReader(LineReader):
    """Wrong: keeps its position in a file beside the origin, a batch late. A single resume does not detect it."""

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        position = Path(f"{self.path}.position")
        begin = max(int(position.read_text("utf-8")) if position.exists() else 0, start["lines"])
        position.write_text(str(begin), "utf-8")
        return [Slice(begin, end["lines"])]


class WallClockReader(LineReader):
    """Wrong: the end of a batch is the wall-clock time."""

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        return {"lines": time.time_ns()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        times = [int(line.split()[0]) for line in lines(self.path)]
        return [Slice(*(sum(when < offset["lines"] for when in times) for offset in (start, end)))]


class ForgettingReader(SimpleLineReader):
    """Wrong: a replay reads all current lines."""

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        return self.read(start)[0]


class SlowReader(LineReader):
    """Correct, but slower than the tests' shortest timeout."""

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        time.sleep(5)
        return super().read(partition)


def check(spark: SparkSession, make: Callable[[], Any], origin: Origin, **more: Any) -> testing.Report:
    report = testing.check_source(spark, make, schema="line STRING", add=origin.add, timeout=SECONDS, **more)
    print(report)
    return report


def names(promises: list[testing.Promise]) -> set[str]:
    return {promise.name for promise in promises}


@pytest.mark.slow
def test_a_correct_data_source_keeps_every_promise(spark: SparkSession, origin: Origin) -> None:
    report = testing.check_source(spark, LineSource, options={"path": origin.path}, add=origin.add, timeout=SECONDS)
    report.assert_all()
    assert names(report.exempt) == {"max-rows", "available-now-target"}
    assert names(report.kept) >= QUERIES
    assert str(report).startswith("lines: 10 kept, 0 broken, 2 exempt\n")


@pytest.mark.slow
def test_a_correct_simple_reader_keeps_the_promises_of_readers_and_replays(spark: SparkSession, origin: Origin) -> None:
    wanted = names(testing.source_promises()) - QUERIES | {"replay"}
    report = check(spark, lambda: SimpleLineReader(str(origin.path)), origin, only=wanted)
    report.assert_all()
    assert names(report.exempt) == {"max-rows", "available-now-target"}


@pytest.mark.slow
def test_a_position_outside_the_checkpoint_is_found_by_a_copy_of_the_checkpoint(
    spark: SparkSession, origin: Origin
) -> None:
    wanted = ["end-from-origin", "idempotent-plan", "checkpoint-alone"]
    report = check(spark, lambda: SideFileReader(str(origin.path)), origin, only=wanted)
    assert names(report.broken) == {"idempotent-plan", "checkpoint-alone"}
    assert "from an older copy of the checkpoint: 0 rows for 10" in report.finding("checkpoint-alone").explanation
    with pytest.raises(AssertionError, match="BROKEN   checkpoint-alone"):
        report.assert_all()


@pytest.mark.slow
def test_a_position_outside_the_checkpoint_that_survives_one_resume_is_found_by_the_second(
    spark: SparkSession, origin: Origin
) -> None:
    origin.add(5)
    report = check(spark, lambda: LateFileReader(str(origin.path)), origin, only=["checkpoint-alone"])
    found = report.finding("checkpoint-alone").explanation
    assert found.startswith("from a second such copy, resumed later: 10 rows for 20; missing")


@pytest.mark.slow
def test_rows_that_are_not_kept_are_replayed_twice_from_a_copy_of_the_checkpoint(
    spark: SparkSession, origin: Origin
) -> None:
    not_kept = {"keeps-rows": "the origin forgets"}
    report = check(spark, lambda: LineReader(str(origin.path)), origin, only=["checkpoint-alone"], exempt=not_kept)
    assert names(report.kept) == {"checkpoint-alone"}


@pytest.mark.slow
def test_a_wall_clock_as_end_is_found_without_added_rows(spark: SparkSession, origin: Origin) -> None:
    report = check(spark, lambda: WallClockReader(str(origin.path)), origin, only=["end-from-origin"])
    assert "the end went from" in report.finding("end-from-origin").explanation


@pytest.mark.slow
def test_a_replay_with_other_rows_is_found(spark: SparkSession, origin: Origin) -> None:
    wanted = ["idempotent-plan", "replay"]
    report = check(spark, lambda: ForgettingReader(str(origin.path)), origin, only=wanted)
    assert names(report.broken) == set(wanted)
    assert "surplus" in report.finding("replay").explanation


@pytest.mark.slow
def test_a_format_by_name_is_checked_by_its_queries(spark: SparkSession) -> None:
    options = {"rowsPerBatch": 10, "maxRows": 40, "seed": 7}
    report = testing.check_source(spark, "epochal-random", options=options)
    report.assert_all()
    assert names(report.kept) == QUERIES - {"restarts"}
    assert "rows cannot be added" in report.finding("restarts").explanation


def test_an_exemption_is_shown_with_its_reason(spark: SparkSession, origin: Origin) -> None:
    report = check(
        spark,
        lambda: WallClockReader(str(origin.path)),
        origin,
        only=["end-from-origin"],
        exempt={"end-from-origin": "the origin is a clock"},
    )
    assert "exempt   end-from-origin" in str(report)
    assert "declared: the origin is a clock" in str(report)


def test_empty_and_invalid_promises_are_refused(spark: SparkSession) -> None:
    for only in ([], ["keeps-rows"]):
        with pytest.raises(epochal.OptionError, match="promise"):
            testing.check_source(spark, "rate", only=only)


def test_a_promise_that_does_not_exist_is_refused(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match="There is no promise onceeach"):
        testing.check_source(spark, "epochal-random", only=["onceeach"])


def test_a_reader_without_columns_is_refused(spark: SparkSession, origin: Origin) -> None:
    with pytest.raises(epochal.OptionError, match="Pass `schema`"):
        testing.check_source(spark, lambda: LineReader(str(origin.path)))


def test_a_reader_in_python_without_pyarrow_is_refused(
    spark: SparkSession, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(epochal.ConfigurationError, match="pip install pyarrow"):
        check(spark, lambda: LineReader(str(origin.path)), origin)


def test_a_timeout_reports_delivered_rows_and_how_to_wait_longer(spark: SparkSession, origin: Origin) -> None:
    origin.add(1)
    source = lambda: SlowReader(str(origin.path))  # noqa: E731
    report = testing.check_source(spark, source, schema="line STRING", only=["query-available-now"], timeout=1)
    assert report.finding("query-available-now").explanation == (
        "under AvailableNow the query has not ended after 1 s, with 0 rows delivered;"
        " if it only needs longer, raise `timeout`"
    )
