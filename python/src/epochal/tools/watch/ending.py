"""The error that a query ended with."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

#: Maximum seconds from the moment a query is no longer active until Spark knows its error.
_MAX_WAIT = 10


class Ended(Protocol):
    """A ``StreamingQuery``, classic or Connect, that is no longer active."""

    def exception(self) -> Exception | None: ...
    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802


def failure(query: Ended) -> Exception | None:
    """The error of a query that is no longer active; None if it did not fail.

    When a continuous sink stops its query, Spark reports the query as inactive before it knows the error. This waits
    for the error.
    """
    with suppress(Exception):
        query.awaitTermination(_MAX_WAIT)
    return query.exception()
