"""Values as JSON types and as text, as several tools print them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any


def as_json(value: Any) -> Any:
    """A value as JSON types: a dataclass as an object with its fields, a time in ISO 8601."""
    if is_dataclass(value):
        return {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [as_json(one) for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


def counted(count: int, noun: str) -> str:
    """``1 row``, ``1,000 rows``, ``2 retries``."""
    if count == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {plural}"


def size(count: int) -> str:
    """Bytes: ``512 B``, ``1.5 kB``, ``12 MB``, ``3.4 GB``."""
    power = min((len(str(count)) - 1) // 3, 4)
    value, unit = count / 1000**power, ("B", "kB", "MB", "GB", "TB")[power]
    return f"{value:.1f} {unit}" if power and value < 10 else f"{value:,.0f} {unit}"


def duration(seconds: float | None) -> str:
    """``0.4 s``, ``13 s``, ``2 min 5 s``, ``3 h 2 min``."""
    if seconds is None:
        return ""
    if seconds < 10 and round(seconds, 1) != round(seconds):
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, with columns of equal width."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
