"""The processes of the job: Python and its JVM, started and killed together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from epochal.tools.demo.job import Settings


class JobProcess:
    """A run of the job in its own process group, which ends with this process. Its output goes to ``log``.

    It starts its session and waits for ``go``.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process = subprocess.Popen(
            [sys.executable, "-m", "epochal.tools.demo.job"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._pump = threading.Thread(target=self._copy_output, daemon=True)
        self._pump.start()

    def go(self, settings: Settings) -> None:
        """Starts the query, unless the process has ended."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{settings.to_json()}\n".encode())
            self._process.stdin.flush()

    def _copy_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output, self.log.open("wb") as log:
            while chunk := output.read1(65536):  # type: ignore[attr-defined]
                log.write(chunk)
                log.flush()

    @property
    def pid(self) -> int:
        """The id of the process and of its group."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """The exit code; None while the job runs, negative after a signal."""
        return self._process.poll()

    def kill(self) -> None:
        """Sends SIGKILL to Python and the JVM, and waits until both have ended."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._pump.join()  # the JVM keeps the pipe open until it ends
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def last_words(self, lines: int = 15) -> str:
        """The end of the log."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])
