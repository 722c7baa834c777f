"""A display on a terminal: a table that updates in place, or plain lines without a terminal or rich."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from collections.abc import Iterator
from typing import Any, Literal

from epochal.tools.display import waiting
from epochal.tools.display.handle import Display
from epochal.tools.display.snapshot import Snapshot
from epochal.tools.display.text import kept_rows, rest, text, visible

#: Seconds between two tables of plain text.
_PAUSE = 2.0


def show(display: Display, wait: bool) -> None:
    """Shows a static display once; with ``wait`` a live one until its query ends or Ctrl-C stops it.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed twice.
        EpochalError, StreamingQueryException: the error of the query.
    """
    if display.query is None:
        print(text(display._snapshot))
    if display.query is None or not wait:
        return
    with waiting.snapshots(display, is_raising=True) as snapshots:
        if sys.stdout.isatty() and importlib.util.find_spec("rich") is not None:
            _in_place(snapshots)
        previous: Snapshot | None = None
        due = 0.0
        for snapshot in snapshots:
            is_new = bool(snapshot.rows) and (previous is None or snapshot.rows is not previous.rows)
            if snapshot.status.is_over or (is_new and time.monotonic() >= due):
                print(text(snapshot), flush=True)
                previous, due = snapshot, time.monotonic() + _PAUSE


def _in_place(snapshots: Iterator[Snapshot]) -> None:
    from rich.live import Live as InPlace

    with InPlace(auto_refresh=False, vertical_overflow="crop") as screen:
        for snapshot in snapshots:
            screen.update(_table(snapshot, max(shutil.get_terminal_size().lines - 6, 3)), refresh=True)


def _table(snapshot: Snapshot, lines: int) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(row_styles=["", "dim"])
    for column in snapshot.columns:
        side: Literal["right", "left"] = "right" if column.is_number else "left"
        table.add_column(Text(visible(column.name)), justify=side, no_wrap=True, overflow="ellipsis")
    for row in kept_rows(snapshot, lines):
        table.add_row(*(Text("null", style="italic dim") if value is None else Text(visible(value)) for value in row))
    says = "" if snapshot.status.is_over else "Ctrl-C stops"
    foot = " · ".join(part for part in (rest(snapshot, lines), says) if part)
    return Group(Text(visible(snapshot.head()), style="bold"), table, Text(foot, style="dim"))
