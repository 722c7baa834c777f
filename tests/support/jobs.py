"""Jobs in processes of their own, that can be killed as if the machine had failed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from support.waiting import until

TESTS = Path(__file__).resolve().parent.parent


class Job:
    """``crash/job.py`` with its JVM, in a process group of its own. It waits for ``go``.

    Args:
        settings: ``api``, ``rows_per_batch``, ``available_now`` and ``targets`` (arguments of ``epochal.write.jdbc``).
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "crash.job"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,
        )
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._send(json.dumps(settings))

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as output:
            while chunk := os.read(output.fileno(), 65536):
                self._output += chunk

    def _send(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def go(self) -> None:
        """Starts the queries, as soon as the session is there."""
        until(lambda: b"ready\n" in self._output or self.ended(), "the job's session")
        if not self.ended():
            self._send("go")

    def ended(self) -> bool:
        return self._process.poll() is not None

    def assert_runs(self) -> None:
        """An AssertionError with the job's output when it has ended."""
        if self.ended():
            self._reader.join()
            raise AssertionError(f"the job ended with exit code {self._process.returncode}\n{self.output()}")

    def wait(self, timeout: float = 120) -> None:
        """Waits for an end without errors."""
        code = self._process.wait(timeout)
        assert code == 0, f"the job ended with exit code {code}\n{self.output()}"

    def output(self, size: int = 6000) -> str:
        return self._output[-size:].decode("utf-8", "replace")

    def kill(self) -> None:
        """SIGKILL to Python and the JVM; returns when both are gone."""
        if not self.ended():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()  # the JVM holds the pipe's other end as long as it lives
        if self._process.stdin:
            self._process.stdin.close()
