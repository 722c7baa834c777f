"""The cell of a notebook that runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epochal.tools.watch.views import running_shell


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A run of a cell.

    Attributes:
        id: id of the cell; None if the front end does not report it.
        run: number of the execution; None outside of IPython.
    """

    id: str | None
    run: int | None


def running_cell() -> Cell:
    """The current run of a cell."""
    shell = running_shell()
    parent: Any = shell.get_parent() if hasattr(shell, "get_parent") else {}
    metadata = (parent or {}).get("metadata") or {}
    return Cell(id=metadata.get("cellId"), run=getattr(shell, "execution_count", None))
