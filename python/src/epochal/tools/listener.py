"""``epochal.ingest.address``: where a running query listens."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING, Any

from epochal import _hooks
from epochal._arguments import suggesting
from epochal.errors import ModeError, named

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_FORMAT = "epochal-ingest"
_PAUSE = 0.05


@suggesting
def address(query: StreamingQuery, *, timeout: float = 60.0) -> tuple[str, int]:
    """Host and port on which a query's ``epochal-ingest`` source listens, from the query's progress.

    Waits for the first progress. Works on classic and on Connect sessions.

    Args:
        query: a started query.
        timeout: maximum wait, in seconds.

    Returns:
        Host and port of the first such source, for ``socket.create_connection`` and URLs on the driver's machine:
        the host is ``"127.0.0.1"`` if it listens on all addresses.

    Raises:
        ModeError: the query has no such source, or reported no address within the timeout (``MODE_UNSUPPORTED``).
        EpochalError: the query failed, for example with ``PORT_UNAVAILABLE``.
    """
    _hooks.install()
    end = time.monotonic() + timeout
    while True:
        progress: Any = query.lastProgress
        if progress is not None:
            sources = [one for one in progress["sources"] if one["description"].startswith(_FORMAT)]
            if not sources:
                raise ModeError(
                    "MODE_UNSUPPORTED", "The query has no source epochal-ingest.", "Pass a query that reads from one."
                )
            for source in sources:
                metrics = source["metrics"] or {}
                # Missing while Spark replays a batch of other sources.
                if "port" in metrics:
                    return _reachable(metrics["address"]), int(metrics["port"])
        if not query.isActive:
            with named():
                query.awaitTermination()
            raise ModeError(
                "MODE_UNSUPPORTED", "The query has ended.", "Start the query, and call address while it is running."
            )
        if time.monotonic() > end:
            raise ModeError(
                "MODE_UNSUPPORTED",
                f"The query has made no progress within {timeout} s.",
                "Check query.status, or raise timeout.",
            )
        time.sleep(_PAUSE)


def _reachable(host: str) -> str:
    """A host to connect to, given the host that a listener is bound to."""
    try:
        return "127.0.0.1" if ipaddress.ip_address(host).is_unspecified else host
    except ValueError:
        return host
