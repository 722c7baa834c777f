"""Controls ``crash/endless_job.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from support.programs import Program
from support.waiting import until


class EndlessJob(Program):
    """``crash/endless_job.py``."""

    def __init__(self, queries: list[dict[str, Any]], jvm: str = "", conf: Mapping[str, Any] | None = None) -> None:
        super().__init__("crash.endless_job")
        self.send(json.dumps({"jvm": jvm, "queries": queries, "conf": dict(conf or {})}))

    def says(self, word: str) -> bool:
        return f"\n{word}\n" in "\n" + self.all_output().decode("utf-8", "replace")

    def runs(self) -> bool:
        """True; raises an AssertionError with the reason if the job does not run."""
        assert not self.ended(), self.failure()
        return True

    def failure(self) -> str:
        """The message of a query that has ended, else the end of the output."""
        _, ended, reason = self.all_output().decode("utf-8", "replace").rpartition("\nended ")
        return reason if ended else self.output()

    def go(self) -> None:
        until(lambda: self.runs() and self.says("ready"), "the session", 300)
        self.send("go")
