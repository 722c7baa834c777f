"""A snapshot as plain text."""

from __future__ import annotations

import re

from epochal.tools.display.snapshot import Snapshot

#: Number of rows; a terminal shows as many as fit.
_LINES = 20
_WIDEST = 40

#: Characters that could move the cursor, change colours or change the text direction.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(value: str) -> str:
    """The text with control characters as escapes, such as ``\\x1b``."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), value)


def text(snapshot: Snapshot, lines: int = _LINES) -> str:
    """The snapshot as plain text."""
    rows = [[_short(value) for value in row] for row in kept_rows(snapshot, lines)]
    heads = [_short(column.name) for column in snapshot.columns]
    widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    rights = [column.is_number for column in snapshot.columns]

    def line(cells: list[str]) -> str:
        layout = zip(cells, widths, rights, strict=True)
        return " | ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in layout).rstrip()

    rule = "-+-".join("-" * width for width in widths)
    parts = [line(heads), rule, *map(line, rows), rest(snapshot, lines), snapshot.notice]
    return "\n".join(part for part in (visible(snapshot.head()), *parts) if part)


def kept_rows(snapshot: Snapshot, lines: int) -> tuple[tuple[str | None, ...], ...]:
    """The last rows if new ones are added at the end, else the first ones."""
    return snapshot.rows[-lines:] if snapshot.follows else snapshot.rows[:lines]


def rest(snapshot: Snapshot, lines: int) -> str:
    more = len(snapshot.rows) - lines
    return f"({more:,} more)" if more > 0 else ""


def _short(value: str | None) -> str:
    text = "null" if value is None else visible(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
