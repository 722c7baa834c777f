"""``epochal.watch``: polls streaming queries and shows their progress until they have ended."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TextIO

from epochal import _hooks
from epochal._arguments import suggesting
from epochal.errors import OptionError, named
from epochal.tools.watch import words
from epochal.tools.watch.interrupts import Interrupts
from epochal.tools.watch.state import Query, QueryState, WatchedQuery
from epochal.tools.watch.views import View, view_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from epochal._replication import Replication

    #: One query, several, a session (its active queries), or None (those of the active session).
    Given = StreamingQuery | Replication | Iterable[StreamingQuery | Replication] | SparkSession | None

#: Maximum seconds between two checks whether a query has ended.
_MAX_NOTICE = 0.5
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1.0, "second": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0}
_UNITS |= {"h": 3600.0, "hour": 3600.0}


@suggesting
def watch(
    queries: Given = None,
    *,
    every: str | float | timedelta | None = None,
    file: TextIO | None = None,
    stop_others: bool = False,
) -> None:
    """Shows the progress of streaming queries until they end: rows, rate, lag, requests, and the work of the sink.

    Terminals and notebooks are updated in place; other outputs get plain lines. When all queries have ended, a summary
    line for each is printed.

    Ctrl-C, or a notebook's interrupt button, stops the queries. Rows of an uncommitted epoch are not in the table, and
    a restarted query begins with that epoch. A second Ctrl-C raises ``KeyboardInterrupt`` without waiting for the
    queries to stop.

    >>> epochal.watch(query)  # doctest: +SKIP
    1,000 rows in 10 epochs into strings, 3.2 s

    Args:
        queries: a query or several; a session stands for its active queries, None for those of the active session.
        every: time between two updates: seconds, ``"1 second"``, or a ``timedelta``. Unset, one second for updates in
            place and ten seconds for plain lines.
        file: where to write, instead of the notebook or standard output.
        stop_others: whether a failure stops the other queries, so that the watch ends. Otherwise they continue.

    Raises:
        OptionError: ``queries`` or ``every`` has an invalid type or value.
        EpochalError: the error of the first failed query, after all have ended. If it is not one of Epochal's errors,
            Spark's exception is raised instead.
        KeyboardInterrupt: the second Ctrl-C.
    """
    pace = None if every is None else seconds(every, "every")
    targets = queries_of(queries, "epochal.watch")
    view = view_of(file)
    run(targets, view, view.pace if pace is None else pace, stop_others=stop_others)


def run(queries: Sequence[Query], view: View, pace: float, *, stop_others: bool = False) -> None:
    """Watches until all queries have ended, or one could not be stopped.

    Args:
        pace: seconds between two updates.
        stop_others: whether a failure stops the other queries.

    Raises:
        Exception: the error of the first failed query, or of the first one that could not be stopped.
        KeyboardInterrupt: the second Ctrl-C.
    """
    polled_queries = [WatchedQuery(query) for query in queries]
    stopping: Stopping | None = None
    with Interrupts() as interrupts:
        try:
            while True:
                view.show([_state_of(one, interrupts, stopping is not None) for one in polled_queries])
                if all(one.state.has_ended for one in polled_queries) or (stopping is not None and stopping.has_failed):
                    for one in polled_queries:
                        one.count_beyond()
                    break
                if stop_others and stopping is None and any(one.state.phase == "failed" for one in polled_queries):
                    stopping = Stopping(polled_queries)
                _pause(polled_queries, interrupts, pace, 0 if stopping is None else 1)
                if interrupts.count > 1:
                    raise KeyboardInterrupt
                if interrupts.count and stopping is None:
                    stopping = Stopping(polled_queries)
        finally:
            states = [one.state for one in polled_queries]
            failure = next((state for state in states if state.error), None)
            lines = [words.summary(state) if state is failure else words.ending(state) for state in states]
            view.close(states, lines or ["No query is active."])
    raise_first(polled_queries)
    if stopping is not None and stopping.has_failed and stopping.error is not None:
        raise stopping.error


class Stopping:
    """Stops queries on a separate thread, so that the watch continues and a second Ctrl-C takes effect at once.

    Stops from construction on, one query after the other.

    Attributes:
        error: the error of the first query that could not be stopped.
    """

    def __init__(self, queries: Iterable[WatchedQuery]) -> None:
        self.error: Exception | None = None
        self._queries = [one.query for one in queries if not one.state.has_ended]
        threading.Thread(target=self._stop, name="epochal-stop", daemon=True).start()

    @property
    def has_failed(self) -> bool:
        """Whether a query could not be stopped, for another reason than that the JVM has ended."""
        return self.error is not None and not _is_lost(self.error)

    def _stop(self) -> None:
        for query in self._queries:
            try:
                query.stop()
            except Exception as error:
                self.error = self.error or error


def raise_first(queries: Iterable[WatchedQuery]) -> None:
    """Raises the error of the first failed query."""
    for one in queries:
        if one.state.phase == "failed":
            with named():
                one.query.awaitTermination()
                if (error := one.query.exception()) is not None:
                    raise error


def queries_of(queries: Given, caller: str) -> list[Query]:
    """The queries that an argument stands for; none if it is None and there is no active session.

    Args:
        caller: name of the public function, for the error.

    Raises:
        OptionError: the argument is not a query, an iterable of queries, or a session.
    """
    _hooks.install()
    if queries is None and (queries := active_session()) is None:
        return []
    if (streams := getattr(queries, "streams", None)) is not None:
        return list(streams.active)
    items: list[Any] = list(queries) if isinstance(queries, Iterable) else [queries]
    if strange := [one for one in items if not hasattr(type(one), "lastProgress")]:
        raise OptionError(
            "OPTION_INVALID",
            f"{caller} was given a {type(strange[0]).__name__}, which is not a streaming query.",
            "Pass what epochal.write.jdbc or DataStreamWriter.start() returned, a list of queries, or a session.",
        )
    return items


def active_session() -> SparkSession | None:
    """Spark's active session, classic or Connect; None if there is none."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def seconds(duration: str | float | timedelta, argument: str) -> float:
    """The duration of an argument, in seconds.

    Args:
        duration: a number of seconds, a number with a unit as in ``"1 second"``, or a ``timedelta``.
        argument: name of the argument, for the error.

    Raises:
        OptionError: the argument is not a positive duration.
    """
    total = 0.0
    if isinstance(duration, timedelta):
        total = duration.total_seconds()
    elif isinstance(duration, str) and (match := _LENGTH.fullmatch(duration.strip())):
        unit = match[2].lower()
        total = float(match[1]) * _UNITS.get(unit if unit in _UNITS else unit.removesuffix("s"), 0.0)
    elif isinstance(duration, int | float) and not isinstance(duration, bool):
        total = float(duration)
    if total > 0:
        return total
    raise OptionError(
        "OPTION_INVALID",
        f"The argument '{argument}' is {duration!r}, which is not a positive duration.",
        f'Set it like this: {argument}="1 second" or {argument}=0.5.',
    )


def _state_of(one: WatchedQuery, interrupts: Interrupts, is_stopping: bool) -> QueryState:
    """Polls a query. If Ctrl-C has also ended the JVM, as under ``spark-submit``, the query counts as stopped."""
    try:
        return one.poll(is_stopping=is_stopping)
    except Exception as error:
        if not (interrupts.count and _is_lost(error)):
            raise
        return one.lost()


def _is_lost(error: Exception) -> bool:
    """Whether the error shows that the connection to the JVM is lost."""
    return isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j.")


def _pause(queries: Sequence[WatchedQuery], interrupts: Interrupts, pace: float, interrupt_count: int) -> None:
    """Waits until the next update is due, a query has ended, or Ctrl-C was pressed again."""
    deadline = time.monotonic() + pace
    while interrupts.count <= interrupt_count and (left := deadline - time.monotonic()) > 0:
        interrupts.sleep(min(_MAX_NOTICE, left))
        if interrupts.count <= interrupt_count and any(one.has_just_ended() for one in queries):
            return
