"""Keys and order of records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from epochal.tools.probe.body import Record, at, canonical, step

Direction = Literal["ascending", "descending"]

#: Usual names of keys, in lower case without separators, the likeliest first.
_KEYS = ("id", "uuid", "guid", "uid", "gid", "key")
#: Names of fields that may identify a record.
_WEAK_KEYS = ("number", "sequence", "seq", "code", "slug", "name", "url", "title", "email")
_TIMES = re.compile(r"creat|insert|publish|time|date|_at$|[a-z]At$|modif|updat", re.IGNORECASE)
_FEWEST = 3
_FEWEST_TEXTS = 6


@dataclass(frozen=True)
class Key:
    """The key that identifies a record.

    Attributes:
        pointer: JSON Pointer within a record; None if the whole record is the key.
    """

    pointer: str | None

    def of(self, record: Record) -> str:
        return canonical(record if self.pointer is None else at(record, self.pointer))

    def all(self, records: Sequence[Record]) -> list[str]:
        return [self.of(record) for record in records]

    def overlap(self, before: Collection[str], after: Collection[str]) -> bool:
        """Whether two pages share records. Without a key, up to half of them may be equal by chance."""
        common = {*before} & {*after}
        return bool(common) if self.pointer is not None else 2 * len(common) > min(len({*before}), len({*after}))

    @property
    def shown(self) -> str:
        return "all their fields" if self.pointer is None else f"'{self.pointer}'"


def key_of(records: Sequence[Record], again: Sequence[Record]) -> Key:
    """A unique field with a usual name of keys; else the whole record.

    Args:
        again: the records of the same request, repeated. If fields have changed, the whole record cannot be the key,
            and unchanged unique fields with less usual names are considered too.
    """
    fitting = [pointer for pointer in _scalars(records[0]) if _is_unique([at(record, pointer) for record in records])]
    strong = [pointer for pointer in fitting if _name(pointer) in _KEYS]
    if strong:
        return Key(min(strong, key=lambda pointer: (pointer.count("/"), _KEYS.index(_name(pointer)))))
    if [*again] != [*records]:
        for pointer in fitting:
            is_weak = _name(pointer) in _WEAK_KEYS or _name(pointer).endswith(("id", "key"))
            if is_weak and Key(pointer).all(again) == Key(pointer).all(records):
                return Key(pointer)
    return Key(None)


def changed_fields(before: Sequence[Record], after: Sequence[Record]) -> list[str]:
    """The fields that differ between two responses with the same records."""
    names = {
        name for old, new in zip(before, after, strict=False) for name in {*old, *new} if old.get(name) != new.get(name)
    }
    return sorted(names)


def order(records: Sequence[Record], key: Key) -> list[tuple[str, Direction]]:
    """The fields by which the records are sorted, among the key and times."""
    times = [pointer for pointer in _scalars(records[0]) if _TIMES.search(pointer.rpartition("/")[2])]
    orders = []
    pointers = times if key.pointer is None else [key.pointer, *(one for one in times if one != key.pointer)]
    for pointer in pointers:
        if direction := _direction([at(record, pointer) for record in records]):
            orders.append((pointer, direction))
    return orders


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
    """JSON Pointers to the scalars of a record and its nested objects."""
    for name, value in record.items():
        if isinstance(value, dict) and depth < 1:
            yield from _scalars(value, step(pointer, name), depth + 1)
        elif not isinstance(value, dict | list):
            yield step(pointer, name)


def _is_unique(values: list[Any]) -> bool:
    plain = all(isinstance(value, str | int) and not isinstance(value, bool) and value != "" for value in values)
    return plain and len({canonical(value) for value in values}) == len(values)


def _name(pointer: str) -> str:
    return re.sub(r"[^a-z]", "", pointer.rpartition("/")[2].lower())
