"""Calls a Python reader as Spark does, without a query."""

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
    """A reader that is created again for each restart, and its origin.

    Args:
        new: creates a reader, as a new driver would.
        add: adds a number of rows to the origin; None if nothing can be added.
    """

    def __init__(self, new: Callable[[], Any], add: Callable[[int], object] | None) -> None:
        self.add = add
        self._new = new
        self._readers: list[Any] = []

    def make(self) -> Any:
        """Creates a reader."""
        self._readers.append(self._new())
        return self._readers[-1]

    def close(self) -> None:
        """Stops all readers; errors of readers that were already stopped are ignored."""
        for reader in self._readers:
            with suppress(Exception):
                stop(reader)

    def more(self, count: int) -> int:
        """Adds rows; returns how many."""
        if self.add is None:
            raise NotCheckedError("no `add` was given: rows cannot be added to the origin")
        self.add(count)
        return count


def is_simple(reader: Any) -> bool:
    """Whether Spark calls the reader only on the driver, through ``read(start)`` and ``readBetweenOffsets``."""
    return hasattr(reader, "readBetweenOffsets")


def latest(reader: Any, start: Offset, max_rows: int | None = None) -> Offset:
    """The end of the next batch; ``start`` if there is none."""
    if is_simple(reader):
        _, end = reader.read(start)
        return dict(end)
    if not takes_limit(reader):
        return dict(reader.latestOffset())
    from pyspark.sql.streaming import datasource as limits

    limit = limits.ReadAllAvailable() if max_rows is None else limits.ReadMaxRows(max_rows)
    return dict(reader.latestOffset(start, limit))


def takes_limit(reader: Any) -> bool:
    """Whether ``latestOffset`` takes a start and a limit (Spark 4.2 and newer)."""
    return not is_simple(reader) and len(inspect.signature(reader.latestOffset).parameters) == 2


def between(reader: Any, start: Offset, end: Offset) -> list[str]:
    """The rows between two offsets; each partition is pickled, as for an executor."""
    if is_simple(reader):
        return rows.texts(reader.readBetweenOffsets(start, end))
    texts: list[str] = []
    for partition in reader.partitions(start, end):
        texts += rows.texts(reader.read(pickle.loads(pickle.dumps(partition))))
    return texts


def checked(offset: Any) -> Offset:
    """Checks that Spark can log an offset."""
    if not isinstance(offset, dict):
        raise BrokenError(f"an offset must be a dict, and this is {offset!r}")
    try:
        again = json.loads(json.dumps(offset))
    except (TypeError, ValueError) as error:
        raise BrokenError(f"an offset that is not JSON: {offset!r} ({error})") from error
    if again != offset:
        raise BrokenError(f"the offset {offset!r} comes back from JSON as {again!r}")
    return offset


def stop(reader: Any) -> None:
    """Stops a reader, if it has a ``stop`` method."""
    if hasattr(reader, "stop"):
        reader.stop()


def deliver_all(source: Restartable, start: Offset, sizes: Sequence[int], limit: int) -> tuple[Offset, list[str]]:
    """The last offset, and all rows after an offset; each batch is read by a new reader."""
    at = start
    rows: list[str] = []
    for batch in range(limit):
        reader = source.make()
        end = checked(latest(reader, at, sizes[batch % len(sizes)]))
        if end == at:
            stop(reader)
            return at, rows
        rows += between(reader, at, end)
        reader.commit(at)
        at = end
        stop(reader)
    raise BrokenError(f"after {limit} batches there is still another one: the end went from {start} to {at}")
