"""What a query has ended with."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

#: Seconds until what a query fails with is known, after Spark has said that it is not active.
_LATER = 10


class Ended(Protocol):
    """A ``StreamingQuery``, classic or Connect, that is not active any more."""

    def exception(self) -> Exception | None: ...
    def awaitTermination(self, timeout: int | None = None) -> bool | None: ...  # noqa: N802


def failure(query: Ended) -> Exception | None:
    """What a query that is not active has failed with, if it did.

    A query that a continuous sink has ended is not active from the moment at which it is told to stop; what it failed
    with is known when it has.
    """
    with suppress(Exception):
        query.awaitTermination(_LATER)
    return query.exception()
