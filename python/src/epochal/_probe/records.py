"""What tells records from each other, and the order that they come in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from epochal._probe.body import Record, at, canonical, step

Direction = Literal["ascending", "descending"]

#: Names that keys have, in lower case without separators, the likeliest first.
_KEYS = (
    "id",
    "uuid",
    "guid",
    "uid",
    "gid",
    "key",
    "number",
    "sequence",
    "seq",
    "code",
    "slug",
    "name",
    "url",
    "cursor",
)
_TIMES = re.compile(r"creat|insert|publish|time|date|_at$|[a-z]At$|modif|updat", re.IGNORECASE)
_FEWEST = 3
_FEWEST_TEXTS = 6


@dataclass(frozen=True)
class Key:
    """What tells a record from the others.

    Attributes:
        pointer: JSON Pointer within a record; None where all of it does.
    """

    pointer: str | None

    def of(self, record: Record) -> str:
        return canonical(record if self.pointer is None else at(record, self.pointer))

    def all(self, records: Sequence[Record]) -> list[str]:
        return [self.of(record) for record in records]

    @property
    def shown(self) -> str:
        return "all their fields" if self.pointer is None else f"'{self.pointer}'"


def key_of(records: Sequence[Record]) -> Key:
    """The field that no two records have in common, by the names that keys have; else the whole record."""
    fitting = [pointer for pointer in _scalars(records[0]) if _is_unique([at(record, pointer) for record in records])]
    best = min(fitting, key=_likelihood, default=None)
    return Key(best if best is not None and _likelihood(best)[0] < len(_KEYS) + 1 else None)


def changed_fields(before: Sequence[Record], after: Sequence[Record]) -> list[str]:
    """The fields whose values differ, of the same records asked for twice."""
    names = {
        name for old, new in zip(before, after, strict=False) for name in {*old, *new} if old.get(name) != new.get(name)
    }
    return sorted(names)


def order(records: Sequence[Record], key: Key) -> list[tuple[str, Direction]]:
    """The fields that the records are in the order of: their key, and times."""
    times = [pointer for pointer in _scalars(records[0]) if _TIMES.search(pointer.rpartition("/")[2])]
    found = []
    for pointer in dict.fromkeys([*([key.pointer] if key.pointer else []), *times]):
        if direction := _direction([at(record, pointer) for record in records]):
            found.append((pointer, direction))
    return found


def _direction(values: list[Any]) -> Direction | None:
    if any(isinstance(value, str) and re.fullmatch(r"\d{1,18}", value) for value in values):
        values = [int(v) if isinstance(v, str) and re.fullmatch(r"\d{1,18}", v) else v for v in values]
    numbers = all(isinstance(value, int | Decimal) and not isinstance(value, bool) for value in values)
    texts = all(isinstance(value, str) for value in values)
    if not (numbers or texts) or len(values) < (_FEWEST if numbers else _FEWEST_TEXTS) or values[0] == values[-1]:
        return None
    pairs = list(pairwise(values))
    if all(left <= right for left, right in pairs):
        return "ascending"
    return "descending" if all(left >= right for left, right in pairs) else None


def _scalars(record: Record, pointer: str = "", depth: int = 0) -> Iterator[str]:
    """JSON Pointers to the scalars of a record, and of its members."""
    for name, value in record.items():
        if isinstance(value, dict) and depth < 1:
            yield from _scalars(value, step(pointer, name), depth + 1)
        elif not isinstance(value, dict | list):
            yield step(pointer, name)


def _is_unique(values: list[Any]) -> bool:
    plain = all(isinstance(value, str | int) and not isinstance(value, bool) and value != "" for value in values)
    return plain and len({canonical(value) for value in values}) == len(values)


def _likelihood(pointer: str) -> tuple[int, int]:
    name = re.sub(r"[^a-z]", "", pointer.rpartition("/")[2].lower())
    if name in _KEYS:
        return _KEYS.index(name), pointer.count("/")
    return len(_KEYS) + (0 if name.endswith(("id", "key")) else 1), pointer.count("/")
