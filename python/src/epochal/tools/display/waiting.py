"""Waits for the end of a display's query. Ctrl-C, or interrupting the kernel, stops the query."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from epochal.errors import from_spark
from epochal.tools.display.handle import Display
from epochal.tools.display.snapshot import Snapshot
from epochal.tools.watch.state import failure

if TYPE_CHECKING:
    pass

#: Seconds between two checks for Ctrl-C.
_STEP = 0.2


@contextmanager
def snapshots(display: Display, is_raising: bool = False) -> Iterator[Iterator[Snapshot]]:
    """Makes Ctrl-C stop the query; a second Ctrl-C interrupts as usual.

    Spark's own handler would cancel the jobs of the query and so fail it, and an exception during a call to the driver
    would break the connection.

    Args:
        is_raising: whether the error of the query is raised at the end.

    Yields:
        The snapshots until the query has ended: each new one, and the same one again if there is none in time. The
        waiting thread must ask for them all the time.
    """
    presses, stops = [0], list[threading.Thread]()

    def press(number: int, frame: Any) -> None:
        presses[0] += 1
        if presses[0] > 1:
            raise KeyboardInterrupt

    def until_the_end() -> Iterator[Snapshot]:
        snapshot: Snapshot | None = None
        while snapshot is None or not snapshot.status.is_over:
            snapshot = display._next(snapshot, _STEP)
            if presses[0] and not stops:
                stops.append(threading.Thread(target=display.stop, daemon=True))
                stops[0].start()
            yield snapshot

    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield until_the_end()
    else:
        before = signal.signal(signal.SIGINT, press)
        try:
            yield until_the_end()
        finally:
            signal.signal(signal.SIGINT, before)
    if is_raising and display.query is not None and (error := failure(display.query)) is not None:
        raise from_spark(error) or error
