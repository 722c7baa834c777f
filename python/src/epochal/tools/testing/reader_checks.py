"""The checks of Python readers."""

from __future__ import annotations

import time
from collections.abc import Callable

from epochal.tools.testing import promises, rows
from epochal.tools.testing.reader import (
    Offset,
    Restartable,
    between,
    checked,
    deliver_all,
    is_simple,
    latest,
    stop,
    takes_limit,
)
from epochal.tools.testing.report import BrokenError, NotCheckedError, Promise

_SIZES = (1, 7, 3, 20)
_BATCHES = 500
_CLOCK_SECONDS = 1.1


def _offset_round_trip(source: Restartable) -> None:
    reader = source.make()
    start = checked(reader.initialOffset())
    checked(latest(reader, start))
    stop(reader)


def _first_offset(source: Restartable) -> None:
    first = source.make().initialOffset()
    if source.add is not None:
        source.more(5)
    again = source.make().initialOffset()
    if again != first:
        raise BrokenError(
            f"the first offset was {first}, and is {again} after a restart: Spark does not log it, and asks again when"
            " it replays the first batch"
        )


def _caught_up(source: Restartable) -> Offset:
    start: Offset = source.make().initialOffset()
    return deliver_all(source, start, [_BATCHES], _BATCHES)[0]


def _end_from_origin(source: Restartable) -> None:
    end = _caught_up(source)
    # A clock may count whole seconds.
    for _ in range(4):
        more = latest(source.make(), end)
        if more != end:
            raise BrokenError(f"nothing was added, and the end went from {end} to {more}")
        time.sleep(_CLOCK_SECONDS / 3)
    texts = between(source.make(), end, end)
    rows.same("rows between two equal offsets", texts, [])


def _idempotent_plan(source: Restartable) -> None:
    start = _caught_up(source)
    count = source.more(23)
    reader = source.make()
    first: list[str] | None = None
    if is_simple(reader):
        batch, end = reader.read(start)
        first = rows.texts(batch)
    else:
        end = latest(reader, start)
    planned_rows = between(reader, start, end)
    rows.once_each("the batch", planned_rows, count)
    if first is not None:
        rows.same("readBetweenOffsets, beside the rows of read", planned_rows, first)
    source.more(9)
    rows.same("planned again by the same reader", between(reader, start, end), planned_rows)
    rows.same("planned again after a restart", between(source.make(), start, end), planned_rows)


def _once_each(source: Restartable) -> None:
    start = _caught_up(source)
    count = source.more(50)
    _, delivered_rows = deliver_all(source, start, _SIZES, _BATCHES)
    rows.once_each("all batches together", delivered_rows, count)


def _max_rows(source: Restartable) -> None:
    reader = source.make()
    if not takes_limit(reader):
        raise NotCheckedError("the reader takes no limits: latestOffset has no `start` and `limit`")
    start = _caught_up(source)
    source.more(30)
    for maximum in (1, 2, 10, 29, 30, 31, 1000):
        size = len(between(reader, start, latest(reader, start, maximum)))
        if size != min(maximum, 30):
            raise BrokenError(f"a batch of at most {maximum} rows, of 30, has {size}")


def _commit(source: Restartable) -> None:
    start = _caught_up(source)
    source.more(10)
    reader = source.make()
    middle = latest(reader, start)
    source.more(10)
    end = latest(reader, middle)
    reader.commit(middle)
    reader.commit(middle)
    texts = between(reader, middle, end)
    rows.once_each("the second batch", texts, 10)
    again = source.make()
    again.commit(middle)
    rows.same("the second batch, replayed", between(again, middle, end), texts)


def _available_now_target(source: Restartable) -> None:
    start = _caught_up(source)
    reader = source.make()
    if not hasattr(reader, "prepareForTriggerAvailableNow"):
        raise NotCheckedError("the reader has no AvailableNow of its own: Spark then reads one batch")
    source.more(25)
    reader.prepareForTriggerAvailableNow()
    sizes: list[int] = []
    at = start
    while (end := latest(reader, at, 10)) != at:
        source.more(5)
        sizes.append(len(between(reader, at, end)))
        at = end
        if len(sizes) > _BATCHES:
            raise BrokenError(f"after {_BATCHES} batches there is still another one")
    if sum(sizes) != 25:
        raise BrokenError(f"25 rows were there at the start, and 5 were added during each batch; delivered: {sizes}")


#: By promise, in the order in which they are made.
CHECKS: dict[Promise, Callable[[Restartable], None]] = {
    promises.OFFSET_ROUND_TRIP: _offset_round_trip,
    promises.FIRST_OFFSET: _first_offset,
    promises.END_FROM_ORIGIN: _end_from_origin,
    promises.IDEMPOTENT_PLAN: _idempotent_plan,
    promises.ONCE_EACH: _once_each,
    promises.MAX_ROWS: _max_rows,
    promises.COMMIT: _commit,
    promises.AVAILABLE_NOW_TARGET: _available_now_target,
}
