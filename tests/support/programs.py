"""Test programs in separate processes that can be killed, as if the machine had failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


def _workers(python: Path | None) -> dict[str, str]:
    """Makes Spark's Python workers use this environment."""
    return {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)} if python else {}


class Program:
    """A test module with the JVM that it starts, in its own process group.

    Args:
        module: module for ``python -m``.
        environment: environment variables, in addition to this process's.
        files: inherited file descriptors.
        python: the interpreter; by default this process's.
        arguments: of the module.
    """

    def __init__(
        self,
        module: str,
        environment: dict[str, str] | None = None,
        files: tuple[int, ...] = (),
        python: Path | None = None,
        arguments: tuple[str, ...] = (),
    ) -> None:
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [str(python or sys.executable), "-m", module, *arguments],
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
        """Raises an AssertionError with the program's output if it has ended."""
        if self.ended():
            self._reader.join()
            code = self._process.returncode
            raise AssertionError(f"the program ended with exit code {code}\n{self.output()}")

    def wait(self, timeout: float = 300) -> None:
        """Waits for the end, which must be without errors."""
        code = self._process.wait(timeout)
        assert code == 0, f"the program ended with exit code {code}\n{self.output()}"

    def output(self, size: int = 6000) -> str:
        """The end of its output, including the JVM's."""
        return self._output[-size:].decode("utf-8", "replace")

    def all_output(self) -> bytes:
        """Its output so far, including the JVM's."""
        return bytes(self._output)

    def freeze(self) -> None:
        """Sends SIGSTOP to all its processes, until ``thaw``."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Sends SIGKILL to Python and the JVM; returns when both have ended."""
        if not self.ended():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()  # The JVM holds the other end of the pipe until it ends.
        if self._process.stdin:
            self._process.stdin.close()
