"""Positions of ``epochal-random`` in a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.streams import numbers


class Position:
    """End of the last epoch that Spark logged as committed, in one form for all triggers: ``docs/PROTOCOL.md``."""

    def __init__(self, checkpoint: Path) -> None:
        self._fields: dict[str, Any] = {"rows": 0}
        if commits := numbers(checkpoint, "commits"):
            logged = (checkpoint / "offsets" / str(commits[-1])).read_text().splitlines()[-1]
            # A real-time batch that timed out before it was planned has no end.
            self._fields = self._fields if logged == "-" else json.loads(logged)

    def has(self, row: int) -> bool:
        """Whether the row is before the position."""
        rows, counts = self._fields["rows"], self._fields.get("partitions", [])
        return row < rows or (bool(counts) and (row - rows) // len(counts) < counts[(row - rows) % len(counts)])

    def delivered(self) -> int:
        counts: list[int] = self._fields.get("partitions", [])
        return int(self._fields["rows"]) + sum(counts)
