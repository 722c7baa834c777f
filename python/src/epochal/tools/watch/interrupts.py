"""Counts Ctrl-C instead of raising an exception, which could interrupt a call to the JVM."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_SLICE = 0.05


class Interrupts:
    """A context manager that counts Ctrl-C and a notebook's interrupt button instead of raising.

    Outside of the main thread, where Python delivers no signals, nothing is counted. A process that ignores Ctrl-C
    continues to ignore it.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        before = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and before not in (None, signal.SIG_IGN):
            self._before = signal.signal(signal.SIGINT, self._count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def sleep(self, seconds: float) -> None:
        """Sleeps, but returns early at an interrupt."""
        before, deadline = self.count, time.monotonic() + seconds
        while self.count == before and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_SLICE, left))

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
