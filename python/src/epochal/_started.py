"""Remembers the queries that helpers have started, since Spark forgets failed ones."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

#: Maximum number of remembered queries. Each keeps the driver's objects of its query alive.
_MAX_QUERIES = 16
_known: list[StartedQuery] = []


@dataclass(frozen=True)
class StartedQuery:
    """A query that a helper started.

    Attributes:
        session: weak reference to its session.
        table: target table; None for other sinks.
    """

    session: weakref.ref[Any]
    query: StreamingQuery
    run_id: str
    table: str | None


def remember(session: Any, query: StreamingQuery, table: str | None) -> None:
    """Remembers a query until it ends successfully or is restarted."""
    _known[:] = [one for one in _known if one.query.id != query.id and _is_of_interest(one.query)]
    _known.append(StartedQuery(weakref.ref(session), query, str(query.runId), table))
    del _known[:-_MAX_QUERIES]


def failed(session: Any) -> list[StreamingQuery]:
    """Queries of a session that have failed and were not restarted."""
    if session is None:
        return []
    found = [one.query for one in _known if one.session() is session]
    return [query for query in found if not query.isActive and query.exception() is not None]


def table_of(run_id: str) -> str | None:
    """The target table of a run; None if the run is not remembered or writes to no table."""
    return next((one.table for one in _known if one.run_id == run_id), None)


def _is_of_interest(query: StreamingQuery) -> bool:
    try:
        return query.isActive or query.exception() is not None
    except Exception:  # the session or its server has ended
        return False
