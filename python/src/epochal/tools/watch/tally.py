"""What the progresses of a run add up to: rows, rate, lag, and when it will have caught up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from epochal.tools.watch.progress import Batch

#: Seconds that the rate is computed over; at least two progresses, and no more than so many.
_SECONDS = 15.0
_MOST = 200


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Sums over the progresses of one run, in their order. Memory does not grow with their number.

    Attributes:
        rows_read: rows that the sources delivered.
        rows_written: rows that the sink applied: without those of epochs that were there already, and without bad ones.
        batches: batches that were run; of a sink with epochs, epochs.
        first: number of the first of them; None before it.
        repeated: epochs that were there already.
        bad_rows: rows that the sink put aside.
        is_complete: whether no progress was missed; otherwise there were at least so many rows.
        recent: the last progresses.
        started: when the first of them all was, in seconds by the driver's clock.
    """

    rows_read: int = 0
    rows_written: int = 0
    batches: int = 0
    first: int | None = None
    repeated: int = 0
    bad_rows: int = 0
    is_complete: bool = True
    recent: tuple[Batch, ...] = ()
    started: float | None = None

    @property
    def last(self) -> Batch | None:
        return self.recent[-1] if self.recent else None

    def adding(self, batches: Iterable[Batch]) -> Tally:
        """With those of the progresses that are newer than the last one."""
        tally = self
        for batch in batches:
            if tally.last is None or _key(batch) > _key(tally.last):
                tally = tally._adding(batch)
        return tally

    def follows(self, batch: Batch) -> bool:
        """Whether no other progress can have been between the last one and this one."""
        if self.last is None:
            return False
        is_next = batch.number == self.last.number + 1 and not (batch.is_idle or self.last.is_idle)
        return is_next or batch.number == self.last.number

    @property
    def rate(self) -> float | None:
        """Rows read in a second, over the last progresses; None before the first.

        A batch counts from the end of the one before it: a trigger's pause belongs to the rows that come in it.
        """
        if not self.recent:
            return None
        first, *others = self.recent
        seconds = (others[-1].ended - first.ended).total_seconds() if others else first.seconds
        return sum(batch.rows for batch in others or [first]) / seconds if seconds > 0 else None

    @property
    def eta(self) -> float | None:
        """Seconds until the lag is gone, as it shrinks now; None where the end is not known, or the lag grows."""
        last = self.last
        if last is None or not last.behind or not last.is_exact:
            return None
        first = next(batch for batch in self.recent if batch.behind is not None and batch.is_exact)
        shrunk, seconds = (first.behind or 0) - last.behind, (last.ended - first.ended).total_seconds()
        speed = shrunk / seconds if seconds > 0 else self.rate
        return last.behind / speed if speed and speed > 0 else None

    @property
    def fraction(self) -> float | None:
        """The part of all rows that is read; None where the end is not known, or reached."""
        last = self.last
        if last is None or not last.behind or not last.is_exact:
            return None
        return self.rows_read / (self.rows_read + last.behind)

    @property
    def span(self) -> float:
        """Seconds from the first progress to the end of the last one, by the driver's clock."""
        if self.last is None or self.started is None:
            return 0.0
        return self.last.ended.timestamp() - self.started

    def _adding(self, batch: Batch) -> Tally:
        last, sink = self.last, batch.sink
        missed = last is not None and batch.number > last.number + 1
        if sink.epoch is None:
            is_new = not batch.is_idle
        else:
            is_new = last is None or last.sink.epoch is None or sink.epoch > last.sink.epoch
        applied = is_new and not sink.is_repeated
        bad_rows = self.bad_rows + (sink.bad_rows if is_new else 0)
        return replace(
            self,
            rows_read=self.rows_read + batch.rows,
            rows_written=self.rows_written + ((sink.rows or 0) - sink.bad_rows if applied else 0),
            batches=self.batches + is_new,
            first=batch.number if self.first is None and is_new else self.first,
            repeated=self.repeated + (is_new and sink.is_repeated),
            bad_rows=bad_rows if sink.all_bad_rows is None else sink.all_bad_rows,
            is_complete=self.is_complete and not missed,
            recent=_window((*self.recent, batch)),
            started=batch.started.timestamp() if self.started is None else self.started,
        )


def _window(batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
    since = batches[-1].ended.timestamp() - _SECONDS
    kept = [batch for batch in batches[:-2] if batch.ended.timestamp() >= since]
    return (*kept, *batches[-2:])[-_MOST:]


def _key(batch: Batch) -> tuple[int, float]:
    return batch.number, batch.started.timestamp()
