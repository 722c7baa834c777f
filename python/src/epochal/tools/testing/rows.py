"""Rows as texts, and comparisons of rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from epochal.tools.testing.report import BrokenError

_SHOWN = 8


def text(row: Any) -> str:
    """A text that is the same for equal rows, of tuples, Spark rows or dicts."""
    values = list(row.values()) if isinstance(row, dict) else list(row)
    return json.dumps(values, default=str, ensure_ascii=False)


def texts(values: Iterable[Any]) -> list[str]:
    """The texts of a reader's rows, which are tuples or Arrow record batches."""
    rows: list[str] = []
    for each in values:
        if hasattr(each, "to_pylist"):
            rows += [text(row) for row in each.to_pylist()]
        else:
            rows.append(text(each))
    return rows


def same(what: str, rows: Sequence[str], expected: Sequence[str]) -> None:
    """Asserts equal rows, with the same multiplicity, in any order."""
    missing = Counter(expected) - Counter(rows)
    surplus = Counter(rows) - Counter(expected)
    if missing or surplus:
        raise BrokenError(
            f"{what}: {len(rows)} rows for {len(expected)}; missing {shown(missing.elements())};"
            f" surplus {shown(surplus.elements())}"
        )


def once_each(what: str, rows: Sequence[str], count: int | None) -> None:
    """Asserts that no row is repeated, and that all ``count`` rows are there if the count is known."""
    twice = [f"{row} ({times} times)" for row, times in Counter(rows).items() if times > 1]
    if twice or (count is not None and len(rows) != count):
        clause = "" if count is None else f" for {count}"
        more = f"; more than once: {shown(twice)}" if twice else ""
        raise BrokenError(f"{what}: {len(set(rows))} rows{clause}{more}")


def shown(rows: Iterable[str]) -> str:
    """A sample of the rows, as text."""
    texts = list(rows)
    return f"[{', '.join(texts[:_SHOWN])}{', …' if len(texts) > _SHOWN else ''}]"
