"""The main job: an API into tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.programs import Program
from support.waiting import until


class Job(Program):
    """``crash/job.py``. It waits for ``go``.

    Args:
        settings: ``api``, ``rows_per_batch``, ``available_now`` and ``targets`` (settings of
            ``epochal.write.jdbc``, and in ``read`` unusual settings of ``epochal.read.rest``; in the
            form of ``support/helpers.py``).
        python: the interpreter of another environment, with another Spark.
    """

    def __init__(self, settings: dict[str, Any], python: Path | None = None) -> None:
        super().__init__("crash.job", python=python)
        self.send(json.dumps(settings))

    def go(self) -> None:
        """Starts the queries as soon as the session is ready."""
        until(lambda: b"ready\n" in self._output or self.ended(), "the job's session")
        if not self.ended():
            self.send("go")
