"""The queries that helpers have started: Spark forgets those that have failed."""

from __future__ import annotations

import weakref
from typing import Any

from epochal._watch.state import Query

#: Failed queries that are remembered. Each keeps what the driver has of it.
_MOST = 16
_known: list[tuple[weakref.ref[Any], Query]] = []


def remember(session: Any, query: Query) -> None:
    """Remembers a query until it has ended well, or is started again."""
    _known[:] = [(where, other) for where, other in _known if other.id != query.id and _is_of_interest(other)]
    _known.append((weakref.ref(session), query))
    del _known[:-_MOST]


def failed(session: Any) -> list[Query]:
    """Queries of a session that have failed, and were not started again."""
    if session is None:
        return []
    return [query for where, query in _known if where() is session and not query.isActive and query.exception()]


def _is_of_interest(query: Query) -> bool:
    try:
        return query.isActive or query.exception() is not None
    except Exception:  # its session, or its server, is gone
        return False
