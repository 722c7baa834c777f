"""Lists, stops and awaits the queries of a session."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, overload

from epochal._arguments import suggesting
from epochal._start import failed_queries
from epochal.tools.output import aligned
from epochal.tools.watch import words
from epochal.tools.watch.interrupts import Interrupts
from epochal.tools.watch.state import QueryState, WatchedQuery
from epochal.tools.watch.watching import active_session, queries_of, raise_first, seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from epochal.tools.watch.watching import Given

#: Maximum characters of an id, and of a description, in the table.
_SHORT = 8
_LONG = 40
_POLL = 0.2


@dataclass(frozen=True, kw_only=True)
class QueryRow:
    """The state of a query at the time of the call.

    Attributes:
        name: name of the query, else the target of its sink, else the start of its id.
        state: ``starting`` (no epoch yet), ``running``, ``waiting`` (for data, or for its trigger), ``failed``.
        rate: rows read per second, over the last batches.
        behind: rows up to the last one that the sources had seen when the last epoch ended; a lower bound unless
            ``is_exact``, and while the next one runs.
        seconds_behind: maximum age of the lag.
        unreported: seconds since the end of the last epoch, while the next one runs; else None.
        source: Spark's description of the sources; None before the first epoch.
        sink: Spark's description of the sink; None before the first epoch.
        error: the error of a failed query.
    """

    name: str
    state: str
    rate: float | None
    behind: int | None
    is_exact: bool
    seconds_behind: float | None
    unreported: float | None = None
    source: str | None
    sink: str | None
    id: str
    run_id: str
    error: str | None


@dataclass(frozen=True, repr=False)
class Queries(Sequence[QueryRow]):
    """The queries of a session. Prints as a table with shortened ids, also in a notebook."""

    rows: tuple[QueryRow, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[QueryRow]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> QueryRow: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[QueryRow, ...]: ...
    def __getitem__(self, index: int | slice) -> QueryRow | tuple[QueryRow, ...]:
        return self.rows[index]

    def __repr__(self) -> str:
        if not self.rows:
            return "No query is active."
        return "\n".join(aligned([_HEAD, *map(_cells, self.rows)]))

    def _repr_html_(self) -> str:
        if not self.rows:
            return "<div>No query is active.</div>"
        head = "".join(f"<th>{name}</th>" for name in _HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_HEAD = ("name", "state", "rows/s", "behind", "source", "sink", "id", "run id", "last error")


def queries(spark: SparkSession | None = None) -> Queries:
    """The active queries of a session, and the failed ones that Epochal's helpers started.

    A failed query is listed until it is restarted.

    >>> epochal.queries(spark)  # doctest: +SKIP
    name     state    rows/s  behind       source          sink                     id        run id    last error
    strings  running  231     500 (2.2 s)  epochal-random  epochal-jdbc strings in… 6f1e2ab0  0c9d51e7

    Args:
        spark: the session; unset, the active one.

    Returns:
        A frozen sequence of rows that prints as a table.
    """
    session = spark if spark is not None else active_session()
    active = queries_of(session, "epochal.queries")
    ids = {query.id for query in active}
    failures = [query for query in failed_queries(session) if query.id not in ids]
    return Queries(tuple(_row(WatchedQuery(query).poll()) for query in [*active, *failures]))


def stop_all(spark: SparkSession | None = None) -> None:
    """Stops the active queries of a session, and waits until they have stopped.

    Args:
        spark: the session; unset, the active one.

    Raises:
        Exception: Spark's error for the first query that could not be stopped; raised after trying all queries.
    """
    first: Exception | None = None
    for query in queries_of(spark, "epochal.stop_all"):
        try:
            query.stop()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


@suggesting
def await_all(
    queries: Given = None, *, timeout: str | float | timedelta | None = None, stop_others: bool = False
) -> bool:
    """Waits until queries have ended, or one has failed.

    Args:
        queries: a query or several; a session stands for its active queries, None for those of the active session.
        timeout: maximum wait: seconds, ``"10 minutes"``, or a ``timedelta``; unset, no limit.
        stop_others: whether a failure stops the other queries. Otherwise they continue.

    Returns:
        Whether all queries have ended.

    Raises:
        OptionError: ``queries`` or ``timeout`` has an invalid type or value.
        EpochalError: the error of the first failed query; Spark's own exception if it is not one of Epochal's errors.
        KeyboardInterrupt: Ctrl-C; the queries continue.
    """
    left = [WatchedQuery(query) for query in queries_of(queries, "epochal.await_all")]
    deadline = None if timeout is None else time.monotonic() + seconds(timeout, "timeout")
    with Interrupts() as interrupts:
        while True:
            for one in [one for one in left if one.has_just_ended()]:
                left.remove(one)
                if one.poll().phase == "failed":
                    for other in left if stop_others else ():
                        other.query.stop()
                    raise_first([one])
            if not left:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            interrupts.sleep(_POLL)
            if interrupts.count:
                raise KeyboardInterrupt


def _row(state: QueryState) -> QueryRow:
    tally, last = state.tally, state.last
    return QueryRow(
        name=state.name,
        state=state.phase,
        rate=tally.rate,
        behind=last.behind if last else None,
        is_exact=last is not None and last.is_exact and state.unreported is None,
        seconds_behind=last.seconds_behind if last else None,
        unreported=state.unreported,
        source="; ".join(source.name for source in last.sources) if last else None,
        sink=last.sink.name if last else None,
        id=state.id,
        run_id=state.run_id,
        error=state.error,
    )


def _cells(row: QueryRow) -> list[str]:
    return [
        row.name,
        row.state,
        words.number(row.rate),
        words.lag(row.behind, row.is_exact, row.seconds_behind, row.unreported),
        *(_cut(text or "", _LONG) for text in (row.source, row.sink)),
        row.id[:_SHORT],
        row.run_id[:_SHORT],
        _cut(row.error or "", 2 * _LONG),
    ]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
