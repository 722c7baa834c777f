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


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, with columns of equal width."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
