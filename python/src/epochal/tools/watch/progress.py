"""Spark's progress reports as frozen values. Nothing here calls Spark."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

_OBJECT = re.compile(r"(?:[\w$]+\.)*([\w$]+?)\$?@[0-9a-f]+")
_TABLE = re.compile(r"epochal-jdbc (.+) in \S+", re.DOTALL)
_API = re.compile(r"epochal-rest [A-Z]+ (\S+)")
_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counters of an Epochal source or sink since the start of the run; None for those that it does not have.

    Attributes:
        pages: pages that tasks have read.
        requests: HTTP requests, including retries.
        retries: repeated requests or transactions.
        throttled: requests rejected by a rate limit.
        waited: seconds of waiting before requests.
    """

    pages: int | None = None
    requests: int | None = None
    retries: int | None = None
    throttled: int | None = None
    waited: float | None = None


@dataclass(frozen=True, kw_only=True)
class Capture:
    """Slot and snapshot of ``epochal-cdc``, as its progress has them; None: unknown.

    Attributes:
        behind: bytes of the server's log that it has not received.
        seconds_behind: seconds since the last transaction that it has.
        retained: bytes of the log that the server keeps for the slot.
        tables: of the snapshot; None without one.
        tables_left: of these, the ones that are not complete.
        rows: rows copied.
        expected: rows of the snapshot, by the server's estimate.
        eta: seconds until the snapshot is complete.
    """

    slot: str
    behind: int | None = None
    seconds_behind: float | None = None
    retained: int | None = None
    tables: int | None = None
    tables_left: int | None = None
    rows: int | None = None
    expected: int | None = None
    eta: float | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source in one progress report.

    Attributes:
        behind: rows up to the last one that the source has seen; None if it does not report them.
        is_exact: whether ``behind`` is exact; otherwise it is a lower bound.
        seconds_behind: maximum age of the lag.
        malformed: records that did not fit the schema, since the start of the run.
        capture: None for sources other than ``epochal-cdc``.
    """

    name: str
    rows: int = 0
    behind: int | None = None
    is_exact: bool = False
    seconds_behind: float | None = None
    malformed: int = 0
    counts: Counts = field(default_factory=Counts)
    capture: Capture | None = None


@dataclass(frozen=True, kw_only=True)
class Sink:
    """A sink in one progress report.

    Attributes:
        target: short name of the target: a table or an address.
        rows: rows of its last epoch, or of the batch for a sink without epochs; None if it does not report them.
        epoch: the last epoch in its ledger; None for sinks other than Epochal's.
        is_repeated: whether that epoch was a replay.
        bad_rows: rows of that epoch that were put aside.
        all_bad_rows: rows put aside since the start of the run; None if only ``bad_rows`` is reported.
        differing: rows that comparisons with the source found to differ, since the start of the run.
        load: seconds for loading the rows of the epoch.
        commit: seconds for committing the epoch.
        too_large: rows that a display could not keep, since the start of the run.
    """

    name: str
    target: str
    rows: int | None = None
    epoch: int | None = None
    is_repeated: bool = False
    bad_rows: int = 0
    all_bad_rows: int | None = None
    differing: int = 0
    transport: str | None = None
    load: float | None = None
    commit: float | None = None
    too_large: int = 0
    counts: Counts = field(default_factory=Counts)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One progress report: of a batch, or of a trigger without new data.

    Attributes:
        started: when the trigger fired, by the driver's clock.
        seconds: duration.
        is_idle: whether no batch was run. The number is then that of the previous or of the next batch.
        rows: rows read.
    """

    number: int
    started: datetime
    seconds: float
    is_idle: bool
    rows: int
    sources: tuple[Source, ...]
    sink: Sink

    @property
    def ended(self) -> datetime:
        return self.started + timedelta(seconds=self.seconds)

    @property
    def behind(self) -> int | None:
        """The lag of all sources together, in rows; None if no source reports it."""
        lags = [source.behind for source in self.sources if source.behind is not None]
        return sum(lags) if lags else None

    @property
    def is_exact(self) -> bool:
        """Whether ``behind`` is exact; otherwise it is a lower bound."""
        return bool(self.sources) and all(source.behind is not None and source.is_exact for source in self.sources)

    @property
    def seconds_behind(self) -> float | None:
        """The lag of the slowest source, in seconds."""
        return max((s.seconds_behind for s in self.sources if s.seconds_behind is not None), default=None)


def batch_of(progress: Mapping[str, Any]) -> Batch:
    """Parses ``query.lastProgress``, or its JSON as an object."""
    sources = tuple(_source(source) for source in progress.get("sources") or ())
    total = progress.get("numInputRows")
    rows = sum(source.rows for source in sources) if total is None else int(total)
    durations: Mapping[str, Any] = progress.get("durationMs") or {}
    milliseconds = progress.get("batchDuration") or durations.get("triggerExecution") or 0
    return Batch(
        number=int(progress["batchId"]),
        started=datetime.fromisoformat(str(progress["timestamp"]).replace("Z", "+00:00")),
        seconds=milliseconds / 1000,
        is_idle="addBatch" not in durations and rows == 0,
        rows=rows,
        sources=sources,
        sink=_sink(progress.get("sink") or {}, rows),
    )


def short_name(description: str) -> str:
    """Spark's description of a source or sink, without package names and object addresses."""
    match = _OBJECT.fullmatch(description)
    return match[1] if match else description


def _source(progress: Mapping[str, Any]) -> Source:
    metrics: Mapping[str, Any] = progress.get("metrics") or {}
    return Source(
        name=short_name(str(progress.get("description"))),
        rows=int(progress.get("numInputRows") or 0),
        behind=_whole(metrics, "rowsBehind"),
        is_exact=metrics.get("rowsBehindExact") == "true",
        seconds_behind=_number(metrics, "replicaLagSeconds" if "slot" in metrics else "secondsBehind"),
        malformed=_whole(metrics, "malformed") or 0,
        counts=_counts(metrics),
        capture=_capture(metrics),
    )


def _capture(metrics: Mapping[str, Any]) -> Capture | None:
    if "slot" not in metrics:
        return None
    return Capture(
        slot=str(metrics["slot"]),
        behind=_whole(metrics, "slotLagBytes"),
        seconds_behind=_number(metrics, "slotLagSeconds"),
        retained=_whole(metrics, "retainedWalBytes"),
        tables=_whole(metrics, "snapshotTables"),
        tables_left=_whole(metrics, "snapshotTablesLeft"),
        rows=_whole(metrics, "snapshotRows"),
        expected=_whole(metrics, "snapshotRowsExpected"),
        eta=_number(metrics, "snapshotSecondsLeft"),
    )


def _sink(progress: Mapping[str, Any], rows_read: int) -> Sink:
    metrics: Mapping[str, Any] = progress.get("metrics") or {}
    name = short_name(str(progress.get("description")))
    place = _TABLE.fullmatch(name) or _API.fullmatch(name)
    epoch = _whole(metrics, "epoch")
    reported_rows = progress.get("numOutputRows")
    of_batch = rows_read if reported_rows is None or reported_rows < 0 else int(reported_rows)
    is_database = "outcome" in metrics
    bad_rows = _whole(metrics, "badRows") or 0
    return Sink(
        name=name,
        target=place[1] if place else name,
        rows=_whole(metrics, "rows") if epoch is not None else of_batch,
        epoch=epoch,
        is_repeated=metrics.get("outcome") == "repeated",
        bad_rows=bad_rows if is_database else 0,
        all_bad_rows=None if is_database else bad_rows,
        differing=_whole(metrics, "differingRows") or 0,
        transport=metrics.get("transport"),
        load=_seconds(metrics, "loadMs"),
        commit=_seconds(metrics, "commitMs"),
        too_large=_whole(metrics, "tooLargeRows") or 0,
        counts=_counts(metrics),
    )


def _counts(metrics: Mapping[str, Any]) -> Counts:
    return Counts(
        pages=_whole(metrics, "pages"),
        requests=_whole(metrics, "requests"),
        retries=_whole(metrics, "retries"),
        throttled=_whole(metrics, "throttled"),
        waited=_seconds(metrics, "waitedMillis"),
    )


def _whole(metrics: Mapping[str, Any], name: str) -> int | None:
    """A metric as an integer; None if it is missing, or if another sink uses the name for a text."""
    text = str(metrics.get(name, ""))
    return int(text) if _WHOLE.fullmatch(text) else None


def _seconds(metrics: Mapping[str, Any], name: str) -> float | None:
    milliseconds = _whole(metrics, name)
    return None if milliseconds is None else milliseconds / 1000


def _number(metrics: Mapping[str, Any], name: str) -> float | None:
    try:
        number = float(metrics[name])
    except (KeyError, TypeError, ValueError):
        return None
    return None if math.isnan(number) else number
