"""A Python reader, asked as Spark asks it, without a query."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from epochal.tools.testing import rows
from epochal.tools.testing.report import BrokenError, NotCheckedError

Offset = dict[str, Any]


class Restartable:
    """A reader that is made anew for each restart, and the origin behind it.

    Args:
        new: gives a new reader, as a new driver would make it.
        add: adds so many rows to the origin; None if nothing can be added.
    """

    def __init__(self, new: Callable[[], Any], add: Callable[[int], object] | None) -> None:
        self.add = add
        self._new = new
        self._made: list[Any] = []

    def make(self) -> Any:
        """A new reader."""
        self._made.append(self._new())
        return self._made[-1]

    def close(self) -> None:
        """Ends all readers; those that were ended before may say so."""
        for reader in self._made:
            with suppress(Exception):
                stop(reader)

    def more(self, count: int) -> int:
        """Adds rows; gives how many."""
        if self.add is None:
            raise NotCheckedError("no `add` was given: rows cannot be added to the origin")
        self.add(count)
        return count


def is_simple(reader: Any) -> bool:
    """Whether Spark reads it on the driver alone, by ``read(start)`` and ``readBetweenOffsets``."""
    return hasattr(reader, "readBetweenOffsets")


def latest(reader: Any, start: Offset, most: int | None = None) -> Offset:
    """The end of the next batch; ``start`` where there is none."""
    if is_simple(reader):
        _, end = reader.read(start)
        return dict(end)
    if not takes_limit(reader):
        return dict(reader.latestOffset())
    from pyspark.sql.streaming import datasource as limits

    limit = limits.ReadAllAvailable() if most is None else limits.ReadMaxRows(most)
    return dict(reader.latestOffset(start, limit))


def takes_limit(reader: Any) -> bool:
    """Whether ``latestOffset`` has a start and a limit (Spark 4.2 and newer)."""
    return not is_simple(reader) and len(inspect.signature(reader.latestOffset).parameters) == 2


def between(reader: Any, start: Offset, end: Offset) -> list[str]:
    """The rows between two offsets, each partition as an executor would receive it."""
    if is_simple(reader):
        return rows.texts(reader.readBetweenOffsets(start, end))
    found: list[str] = []
    for partition in reader.partitions(start, end):
        found += rows.texts(reader.read(pickle.loads(pickle.dumps(partition))))
    return found


def checked(offset: Any) -> Offset:
    """An offset that Spark can log."""
    if not isinstance(offset, dict):
        raise BrokenError(f"an offset must be a dict, and this is {offset!r}")
    try:
        again = json.loads(json.dumps(offset))
    except (TypeError, ValueError) as error:
        raise BrokenError(f"an offset that is no JSON: {offset!r} ({error})") from error
    if again != offset:
        raise BrokenError(f"the offset {offset!r} comes back from JSON as {again!r}")
    return offset


def stop(reader: Any) -> None:
    """Ends a reader, if it has an end."""
    if hasattr(reader, "stop"):
        reader.stop()


def deliver_all(source: Restartable, start: Offset, sizes: Sequence[int], limit: int) -> tuple[Offset, list[str]]:
    """All rows after an offset, in batches that each have a reader of their own; the last offset too."""
    at = start
    found: list[str] = []
    for batch in range(limit):
        reader = source.make()
        end = checked(latest(reader, at, sizes[batch % len(sizes)]))
        if end == at:
            stop(reader)
            return at, found
        found += between(reader, at, end)
        reader.commit(at)
        at = end
        stop(reader)
    raise BrokenError(f"after {limit} batches there is still another: the end went from {start} to {at}")
