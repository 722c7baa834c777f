"""Spark drivers in separate processes that start queries on command and can be killed."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from support.programs import Program
from support.running import Running
from support.waiting import until


class Gate:
    """Gates at steps of the sink. Threads wait at a closed gate in any process that was started with ``property``."""

    def __init__(self, directory: Path, steps: Sequence[str]) -> None:
        self._directory = directory
        self._steps = steps
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def property(self) -> str:
        """The JVM's argument."""
        return "-Depochal.failpoints=" + ";".join(f"{step}=hold:{self._directory / step}" for step in self._steps)

    def close(self, step: str) -> None:
        (self._directory / step).touch()

    def open(self, step: str) -> None:
        (self._directory / step).unlink(missing_ok=True)

    def waiting(self, step: str) -> list[str]:
        """Names of the threads that reached the closed gate. A query's thread is named after the query."""
        file = self._directory / step
        return file.read_text("utf-8").splitlines() if file.exists() else []


class Driver(Program, Running):
    """``crash/driver.py``: a session with queries that ``ask`` starts.

    Args:
        master: Spark's master.
        gate: gates for its threads.
        conf: additional configuration of Spark.
        jvm: additional arguments of the driver's JVM.
    """

    def __init__(
        self,
        master: str = "local[2]",
        gate: Gate | None = None,
        conf: dict[str, Any] | None = None,
        jvm: str = "",
    ) -> None:
        read, write = os.pipe()
        super().__init__("crash.driver", {"EPOCHAL_TEST_ANSWERS": str(write)}, (write,))
        os.close(write)
        self._answers: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self._listen, args=(read,), daemon=True).start()
        arguments = [jvm, gate.property] if gate else [jvm]
        self.send(json.dumps({"master": master, "conf": conf or {}, "jvm": " ".join(filter(None, arguments))}))

    def _listen(self, pipe: int) -> None:
        with os.fdopen(pipe, "r", encoding="utf-8") as answers:
            for line in answers:
                self._answers.put(json.loads(line))

    def ask(self, do: str, timeout: float = 600, **arguments: Any) -> Any:
        """Sends a command, the first one as soon as the session is ready, and waits for the response."""
        self.send(json.dumps({"do": do, **arguments}))

        def answer() -> dict[str, Any] | None:
            try:
                return self._answers.get(timeout=0.2)
            except Empty:
                self.assert_runs()
                return None

        found = until(answer, f"the answer to {do!r}", timeout)
        assert "failure" not in found, found["failure"]
        return found["found"]

    def try_start(self, queries: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Starts queries; returns the errors of those that did not start, by name."""
        failed: dict[str, str] = self.ask("start", queries=list(queries))
        return failed

    def status(self) -> dict[str, dict[str, Any]]:
        """``active``, ``error`` and the sink's ``metrics`` of every query, by name."""
        found: dict[str, dict[str, Any]] = self.ask("status")
        return found

    def stop_queries(self) -> None:
        self.ask("stop")
