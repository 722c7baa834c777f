"""A query that starts again by itself when its tables have changed."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epochal.errors import DatabaseError, EpochalError, named

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_log = logging.getLogger("epochal")

#: A run that ends sooner, in seconds, is followed by a pause, which doubles up to the maximum.
_SHORT = 10.0
_MAX_PAUSE = 60.0
#: Attempts to start again while a database cannot be reached.
_ATTEMPTS = 10


class Replication:
    """The query of ``epochal.replicate``, from start to end, with the members of Spark's ``StreamingQuery``.

    With ``on_schema_change="follow"`` the query ends when its tables have changed, and starts again with the new
    columns, under the same ``id`` and another ``runId``. Pass this object to ``epochal.watch`` or ``await_all``: for a
    session, and for ``spark.streams.awaitAnyTermination``, the query ends with ``QUERY_OUTDATED``.
    """

    def __init__(self, start: Callable[[], StreamingQuery]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self._has_ended = threading.Event()
        #: Whether it was stopped between two runs.
        self._is_between = False
        self._failure: Exception | None = None
        self._query = start()
        context = contextvars.copy_context()
        _thread(lambda: context.run(self._follow)).start()

    def _follow(self) -> None:
        pause = 0.0
        try:
            while True:
                began = time.monotonic()
                try:
                    with named():
                        self._query.awaitTermination()
                    return
                except EpochalError as error:
                    if error.condition != "QUERY_OUTDATED":
                        return
                    _log.warning("The query starts again: %s", error.problem)
                pause = 0.0 if time.monotonic() - began > _SHORT else min(_MAX_PAUSE, 2 * pause or 1.0)
                self._is_stopped.wait(pause if pause > 1 else 0)
                if not self._restart():
                    return
        except Exception as error:  # of the start, or Spark's own, which the query has, too
            self._failure = error
        finally:
            self._has_ended.set()

    def _restart(self) -> bool:
        """Whether it has started again; else it was stopped meanwhile."""
        for attempt in range(1, _ATTEMPTS + 1):
            with self._lock:
                if self._is_stopped.is_set():
                    self._is_between = True
                    return False
                try:
                    with named():
                        self._query = self._start()
                    return True
                except DatabaseError as error:
                    if attempt == _ATTEMPTS:
                        raise
                    _log.warning("The query could not start again: %s", error)
            self._is_stopped.wait(min(_MAX_PAUSE, 2.0**attempt))
        return False

    @property
    def id(self) -> str:
        return str(self._query.id)

    @property
    def runId(self) -> str:  # noqa: N802
        return str(self._query.runId)

    @property
    def name(self) -> str | None:
        return self._query.name

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it has not ended; also between two runs."""
        return not self._has_ended.is_set()

    @property
    def status(self) -> Mapping[str, Any]:
        return self._query.status

    @property
    def lastProgress(self) -> Any:  # noqa: N802
        return self._query.lastProgress

    @property
    def recentProgress(self) -> Sequence[Any]:  # noqa: N802
        return self._query.recentProgress

    def exception(self) -> Exception | None:
        """The error that has ended it; None while it runs, and after ``stop``."""
        if not self._has_ended.is_set() or self._is_between:
            return None
        return self._failure or self._query.exception()

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Waits until it ends, or for some seconds.

        Returns:
            With a timeout, whether it has ended.

        Raises:
            Exception: the error that has ended it.
        """
        has_ended = self._has_ended.wait(timeout)
        if has_ended and not self._is_between:
            if self._failure is not None:
                raise self._failure
            self._query.awaitTermination()
        return None if timeout is None else has_ended

    def processAllAvailable(self) -> None:  # noqa: N802
        """As of ``StreamingQuery``, for the current run."""
        self._query.processAllAvailable()

    def explain(self, extended: bool = False) -> None:
        """Prints the plan of the current run."""
        self._query.explain(extended)

    def stop(self) -> None:
        """Stops it."""
        self._is_stopped.set()
        with self._lock:
            self._query.stop()
        self._has_ended.wait()


def _thread(target: Callable[[], None]) -> threading.Thread:
    """A thread with the local properties of this one, such as the scheduler's pool."""
    try:
        from pyspark import InheritableThread
    except ImportError:  # a client of Spark Connect
        return threading.Thread(target=target, daemon=True)
    return InheritableThread(target=target, daemon=True)
