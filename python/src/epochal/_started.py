"""The queries that helpers have started: Spark forgets those that have failed."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

#: Failed queries that are remembered. Each keeps what the driver has of it.
_MOST = 16
_known: list[Started] = []


@dataclass(frozen=True)
class Started:
    """A query of a helper.

    Attributes:
        session: where it runs; weak, so that it can be forgotten.
        table: what it writes into, where it is a table.
    """

    session: weakref.ref[Any]
    query: StreamingQuery
    run_id: str
    table: str | None


def remember(session: Any, query: StreamingQuery, table: str | None) -> None:
    """Remembers a query until it has ended well, or is started again."""
    _known[:] = [one for one in _known if one.query.id != query.id and _is_of_interest(one.query)]
    _known.append(Started(weakref.ref(session), query, str(query.runId), table))
    del _known[:-_MOST]


def failed(session: Any) -> list[StreamingQuery]:
    """Queries of a session that have failed, and were not started again."""
    if session is None:
        return []
    found = [one.query for one in _known if one.session() is session]
    return [query for query in found if not query.isActive and query.exception() is not None]


def table_of(run_id: str) -> str | None:
    """The table that a run writes into, where a helper has started it and it is remembered."""
    return next((one.table for one in _known if one.run_id == run_id), None)


def _is_of_interest(query: StreamingQuery) -> bool:
    try:
        return query.isActive or query.exception() is not None
    except Exception:  # its session, or its server, is gone
        return False
