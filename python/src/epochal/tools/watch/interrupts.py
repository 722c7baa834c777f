"""Ctrl-C as a count instead of an exception, which would end a call to the JVM half way."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

_SLICE = 0.05


class Interrupts:
    """While it is entered, Ctrl-C and a notebook's interrupt button are counted, and raise nothing.

    In a thread other than the main one, where Python delivers no signals, nothing is counted. A process that ignores
    Ctrl-C goes on to do so.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        before = signal.getsignal(signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and before not in (None, signal.SIG_IGN):
            self._before = signal.signal(signal.SIGINT, self._counted)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def sleep(self, seconds: float) -> None:
        """Returns earlier when one is counted."""
        before, deadline = self.count, time.monotonic() + seconds
        while self.count == before and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_SLICE, left))

    def _counted(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
