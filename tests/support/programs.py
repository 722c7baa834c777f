"""Programs of the tests in processes of their own, that can be killed as if the machine had failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def _workers(python: Path | None) -> dict[str, str]:
    """Spark's Python workers are of the same environment."""
    return {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)} if python else {}


class Program:
    """A module of the tests with the JVM that it starts, in a process group of its own.

    Args:
        module: what ``python -m`` runs.
        environment: variables besides this process's own.
        files: descriptors that it inherits.
        python: the interpreter; this process's own where there is none.
    """

    def __init__(
        self,
        module: str,
        environment: dict[str, str] | None = None,
        files: tuple[int, ...] = (),
        python: Path | None = None,
    ) -> None:
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [str(python or sys.executable), "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": path, **_workers(python)} | (environment or {}),
            pass_fds=files,
            start_new_session=True,
        )
        self._output = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as output:
            while chunk := os.read(output.fileno(), 65536):
                self._output += chunk

    def send(self, line: str) -> None:
        """Writes a line to its input."""
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def ended(self) -> bool:
        return self._process.poll() is not None

    def assert_runs(self) -> None:
        """An AssertionError with the program's output when it has ended."""
        if self.ended():
            self._reader.join()
            code = self._process.returncode
            raise AssertionError(f"the program ended with exit code {code}\n{self.output()}")

    def wait(self, timeout: float = 300) -> None:
        """Waits for an end without errors."""
        code = self._process.wait(timeout)
        assert code == 0, f"the program ended with exit code {code}\n{self.output()}"

    def output(self, size: int = 6000) -> str:
        """The end of what it printed, its JVM included."""
        return self._output[-size:].decode("utf-8", "replace")

    def all_output(self) -> bytes:
        """All that it printed so far, its JVM included."""
        return bytes(self._output)

    def freeze(self) -> None:
        """SIGSTOP to all of it, until ``thaw``."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to Python and the JVM; returns when both are gone."""
        if not self.ended():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()  # the JVM holds the pipe's other end as long as it lives
        if self._process.stdin:
            self._process.stdin.close()
