"""The state of a query. The only module that polls a query; works the same on a Connect session."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from epochal._start import started
from epochal.errors import from_spark
from epochal.tools.ledger import jvm
from epochal.tools.watch.progress import Batch, batch_of
from epochal.tools.watch.tally import Tally

#: ``ended``: by itself or by another caller of ``stop``; ``stopped``: by the watch.
Phase = Literal["starting", "running", "waiting", "stopping", "ended", "stopped", "failed"]

#: Prefix of the status message of an idle query.
_WAITING = "Waiting for"
#: Maximum seconds between two reports of a query that polls its sources and finds nothing.
_REPORT = 15.0
#: Maximum seconds from the moment a query is no longer active until Spark knows its error.
_MAX_WAIT = 10


class Query(Protocol):
    """The members of a ``StreamingQuery``, classic or Connect, that a watch uses."""

    @property
    def id(self) -> str: ...
    @property
    def runId(self) -> str: ...  # noqa: N802
    @property
    def name(self) -> str | None: ...
    @property
    def isActive(self) -> bool: ...  # noqa: N802
    @property
    def status(self) -> Mapping[str, Any]: ...
    @property
    def lastProgress(self) -> Mapping[str, Any] | None: ...  # noqa: N802
    @property
    def recentProgress(self) -> Sequence[Mapping[str, Any]]: ...  # noqa: N802
    def exception(self) -> Exception | None: ...
    def stop(self) -> None: ...
    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802


@dataclass(frozen=True, kw_only=True)
class QueryState:
    """The state of a query at one moment.

    Attributes:
        name: name of the query, else the target of its sink, else the start of its id.
        message: Spark's status message.
        elapsed: seconds since the start of the watch, or the span of the progress reports if that is longer.
        error: the error of a failed query, in one line.
        unreported: seconds since the end of the last epoch, while the next one runs or the sources are polled for long;
            else None. The lag that the last epoch reported is a lower bound then.
        rows_beyond: rows that tasks have stored beyond the last epoch; None if there are none, or the ledger that knows
            them was not read.
    """

    id: str
    run_id: str
    name: str
    phase: Phase = "starting"
    message: str = ""
    elapsed: float = 0.0
    tally: Tally = field(default_factory=Tally)
    error: str | None = None
    unreported: float | None = None
    rows_beyond: int | None = None

    @property
    def last(self) -> Batch | None:
        """The last progress report."""
        return self.tally.last

    @property
    def has_ended(self) -> bool:
        return self.phase in ("ended", "stopped", "failed")


class WatchedQuery:
    """A query and its last known state."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._began = time.monotonic()
        run_id = str(query.runId)
        self._started = started(run_id)
        self._named = query.name or (self._started and self._started.options.get("dbtable"))
        self.state = QueryState(id=str(query.id), run_id=run_id, name=self._named or str(query.id)[:8])

    def poll(self, *, is_stopping: bool = False) -> QueryState:
        """Polls the query, unless it is known to have ended.

        Args:
            is_stopping: whether the watch is stopping it.
        """
        if self.state.has_ended:
            return self.state
        is_active = self.query.isActive  # before its progress, so that the last report is not missed
        tally = with_new_progress(self.state.tally, self.query)
        status = self.query.status
        message = str(status.get("message", ""))
        error = None if is_active else self._error(is_stopping)
        phase: Phase
        if not is_active:
            phase = "failed" if error else "stopped" if is_stopping else "ended"
        elif is_stopping:
            phase = "stopping"
        elif tally.last is None:
            phase = "starting"
        else:
            phase = "waiting" if _is_waiting(status) else "running"
        name = self._named or (tally.last.sink.target if tally.last else self.state.name)
        seconds = max(time.monotonic() - self._began, tally.span)
        self.state = replace(
            self.state,
            name=name,
            phase=phase,
            message=message,
            elapsed=seconds,
            tally=tally,
            error=error,
            unreported=unreported(tally.last, status) if is_active else None,
        )
        return self.state

    def has_just_ended(self) -> bool:
        """Whether the query has ended since the last poll, or can no longer be polled."""
        try:
            return not self.state.has_ended and not self.query.isActive
        except Exception:  # the next poll reports the reason
            return True

    def lost(self) -> QueryState:
        """The state after the driver has ended, and the query with it."""
        self.state, self._started = replace(self.state, phase="stopped"), None
        return self.state

    def count_beyond(self) -> None:
        """Reads from the ledger which rows of a continuous or real-time run its last progress report does not count.

        Does nothing for a query that no helper has started, and where the ledger cannot be read.
        """
        state, start = self.state, self._started
        epoch = -1 if state.last is None else state.last.sink.epoch
        flushes = state.phase != "failed" if state.last is None else state.last.sink.transport == "flushed"
        session: Any = start.session() if start else None
        if start is None or session is None or "dbtable" not in start.options or epoch is None or not flushes:
            return
        with suppress(Exception):
            row = jvm.beside(session, start.options).find(state.id)
            if row is not None and row.rows_beyond is not None:
                epoch_rows = [one.rows for one in row.history if one.run_id == state.run_id and one.epoch > epoch]
                self.state = replace(state, rows_beyond=row.rows_beyond + sum(epoch_rows))

    def _error(self, is_stopping: bool) -> str | None:
        error = self.query.exception() if is_stopping else failure(self.query)
        return None if error is None else error_line(error)


def _is_waiting(status: Mapping[str, Any]) -> bool:
    return str(status.get("message", "")).startswith(_WAITING) and not status.get("isTriggerActive")


def unreported(last: Batch | None, status: Mapping[str, Any]) -> float | None:
    """The attribute of ``QueryState`` for an active query. Compares the driver's clock with that of this machine."""
    if last is None or _is_waiting(status):
        return None
    seconds = max(0.0, time.time() - last.ended.timestamp())
    has_data = status.get("isTriggerActive") and status.get("isDataAvailable")  # neither is set by a continuous query
    return seconds if has_data or seconds > _REPORT else None


def with_new_progress(tally: Tally, query: Query) -> Tally:
    """Adds the query's new progress reports to a tally; returns the same tally if there are none.

    Reading all recent reports is expensive, so they are read only if the last one does not follow directly.
    """
    last = query.lastProgress
    if last is None:
        return tally
    batch = batch_of(last)
    return tally.adding([batch] if tally.follows(batch) else map(batch_of, query.recentProgress))


def failure(query: Query) -> Exception | None:
    """The error of a query that is no longer active; None if it did not fail.

    When a continuous sink stops its query, Spark reports the query as inactive before it knows the error. This waits
    for the error.
    """
    with suppress(Exception):
        query.awaitTermination(_MAX_WAIT)
    return query.exception()


def error_line(error: BaseException) -> str:
    """The text of an error: complete for one of Epochal's, else its first line."""
    return str(from_spark(error) or str(error).strip().partition("\n")[0])
