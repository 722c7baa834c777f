"""Records in other shapes than an array of objects: rows with named columns, and objects under names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]

#: The column for the name of a record in a map.
KEY = "_key"


def rows(arrays: list[tuple[str, list[Any]]]) -> tuple[str, str, list[Record]] | None:
    """The first array of rows beside an array of as many names: both pointers, and the records."""
    for pointer, array in arrays:
        beside = pointer.rpartition("/")[0]
        for columns, labels in arrays if pointer else ():
            names = _names(labels)
            if columns != pointer and columns.rpartition("/")[0] == beside and (records := named(array, names)):
                return pointer, columns, records
    return None


def named(array: Any, names: list[str]) -> list[Record] | None:
    """The rows of an array as records; None if it has something else."""
    fit = isinstance(array, list) and all(isinstance(row, list) and len(row) <= len(names) for row in array)
    return [dict(zip(names, row, strict=False)) for row in array] if fit and names else None


def columns(labels: Any) -> list[str]:
    """The names in an array of columns; empty if it is none."""
    return _names(labels) if isinstance(labels, list) else []


def maps(value: Any, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, Record]]:
    """Objects of at least two objects that have a field in common, with their pointers."""
    if isinstance(value, dict) and depth < 4:
        members = list(value.values())
        if len(members) > 1 and all(isinstance(one, dict) for one in members) and set.intersection(*map(set, members)):
            yield pointer, value
        for name, member in value.items():
            yield from maps(member, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}", depth + 1)


def keyed(value: Any) -> list[Record] | None:
    """The records of an object of objects, with their names; None if it is something else."""
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        return None
    return [{**one, KEY: name} for name, one in value.items()]


def _names(entries: list[Any]) -> list[str]:
    labels = [one.get("name") if isinstance(one, dict) else one for one in entries]
    names = [one for one in labels if isinstance(one, str)]
    return names if len(names) == len(labels) else []
