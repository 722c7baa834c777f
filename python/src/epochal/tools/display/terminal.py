"""A display on a terminal: a table that updates in place, or plain lines without a terminal or rich."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from epochal.tools.display import waiting
from epochal.tools.display.snapshot import Snapshot

if TYPE_CHECKING:
    from epochal.tools.display.handle import Display

#: Number of rows in plain text; a terminal shows as many as fit.
_LINES = 20
_WIDEST = 40
#: Seconds between two tables of plain text.
_PAUSE = 2.0

#: Characters that could move the cursor, change colours or change the text direction.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(value: str) -> str:
    """The text with control characters as escapes, such as ``\\x1b``."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), value)


def text(snapshot: Snapshot, lines: int = _LINES) -> str:
    """The snapshot as plain text."""
    rows = [[_short(value) for value in row] for row in _part(snapshot, lines)]
    heads = [_short(column.name) for column in snapshot.columns]
    widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    rights = [column.is_number for column in snapshot.columns]

    def line(cells: list[str]) -> str:
        padded = zip(cells, widths, rights, strict=True)
        return " | ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in padded).rstrip()

    rule = "-+-".join("-" * width for width in widths)
    parts = [visible(snapshot.head()), line(heads), rule, *map(line, rows), _rest(snapshot, lines), snapshot.notice]
    return "\n".join(part for part in parts if part)


def show(display: Display, wait: bool) -> None:
    """Shows a static display once; with ``wait`` a live one until its query ends or Ctrl-C stops it.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed twice.
        EpochalError, StreamingQueryException: the error of the query.
    """
    display._begin(lambda _: None)
    if display.query is None:
        print(text(display._snapshot))
    elif wait:
        is_live = sys.stdout.isatty() and importlib.util.find_spec("rich") is not None
        with waiting.stoppable(display) as step:
            (_in_place if is_live else _lines)(display, step)
        waiting.raise_failure(display.query)


def _lines(display: Display, step: Callable[[], None]) -> None:
    printed: Snapshot | None = None
    due = 0.0
    for seen in waiting.snapshots(display, step):
        is_new = bool(seen.rows) and (printed is None or seen.rows is not printed.rows)
        if seen.status.is_over or (is_new and time.monotonic() >= due):
            print(text(seen), flush=True)
            printed, due = seen, time.monotonic() + _PAUSE


def _in_place(display: Display, step: Callable[[], None]) -> None:
    from rich.live import Live as InPlace

    with InPlace(auto_refresh=False, vertical_overflow="crop") as screen:
        for snapshot in waiting.snapshots(display, step):
            screen.update(_table(snapshot, max(shutil.get_terminal_size().lines - 6, 3)), refresh=True)


def _table(snapshot: Snapshot, lines: int) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(row_styles=["", "dim"])
    for column in snapshot.columns:
        side: Literal["right", "left"] = "right" if column.is_number else "left"
        table.add_column(Text(visible(column.name)), justify=side, no_wrap=True, overflow="ellipsis")
    for row in _part(snapshot, lines):
        table.add_row(*(Text("null", style="italic dim") if value is None else Text(visible(value)) for value in row))
    says = "" if snapshot.status.is_over else "Ctrl-C stops"
    foot = " · ".join(part for part in (_rest(snapshot, lines), says) if part)
    return Group(Text(visible(snapshot.head()), style="bold"), table, Text(foot, style="dim"))


def _part(snapshot: Snapshot, lines: int) -> tuple[tuple[str | None, ...], ...]:
    return snapshot.rows[-lines:] if snapshot.follows else snapshot.rows[:lines]


def _rest(snapshot: Snapshot, lines: int) -> str:
    hidden = len(snapshot.rows) - lines
    return f"({hidden:,} more)" if hidden > 0 else ""


def _short(value: str | None) -> str:
    shown = "null" if value is None else visible(value)
    return shown if len(shown) <= _WIDEST else shown[: _WIDEST - 1] + "…"
