"""Totals over the progress reports of a run: rows, rate, lag, and the estimated time to catch up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from epochal.tools.watch.progress import Batch

#: The rate covers this many seconds; at least two progress reports, and at most ``_MAX_REPORTS``.
_SECONDS = 15.0
_MAX_REPORTS = 200


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Totals over the progress reports of one run, in their order. Memory does not grow with their number.

    Attributes:
        rows_read: rows that the sources delivered.
        rows_written: rows that the sink applied, without replayed epochs and bad rows.
        batches: number of batches; for a sink with epochs, of epochs.
        first: number of the first batch; None before it.
        repeated: number of replayed epochs.
        bad_rows: rows that the sink put aside.
        is_complete: whether no report was missed; otherwise the totals are lower bounds.
        recent: the last reports.
        started: time of the first report, in seconds by the driver's clock.
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
        """Adds the reports that are newer than the last one."""
        tally = self
        for batch in batches:
            if tally.last is None or _key(batch) > _key(tally.last):
                tally = tally._adding(batch)
        return tally

    def follows(self, batch: Batch) -> bool:
        """Whether this report directly follows the last one."""
        if self.last is None:
            return False
        is_next = batch.number == self.last.number + 1 and not (batch.is_idle or self.last.is_idle)
        return is_next or batch.number == self.last.number

    @property
    def rate(self) -> float | None:
        """Rows read per second, over the last reports; None before the first.

        A batch counts from the end of the previous one, so that the pause between two triggers is included.
        """
        if not self.recent:
            return None
        first, *others = self.recent
        seconds = (others[-1].ended - first.ended).total_seconds() if others else first.seconds
        return sum(batch.rows for batch in others or [first]) / seconds if seconds > 0 else None

    @property
    def eta(self) -> float | None:
        """Estimated seconds to catch up; None if the end is unknown or the lag grows."""
        last = self.last
        if last is None or not last.behind or not last.is_exact:
            return None
        first = next(batch for batch in self.recent if batch.behind is not None and batch.is_exact)
        shrunk, seconds = (first.behind or 0) - last.behind, (last.ended - first.ended).total_seconds()
        speed = shrunk / seconds if seconds > 0 else self.rate
        return last.behind / speed if speed and speed > 0 else None

    @property
    def fraction(self) -> float | None:
        """The fraction of rows that is read; None if the end is unknown or reached."""
        last = self.last
        if last is None or not last.behind or not last.is_exact:
            return None
        return self.rows_read / (self.rows_read + last.behind)

    @property
    def span(self) -> float:
        """Seconds from the first report to the end of the last one, by the driver's clock."""
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
    recent = [batch for batch in batches[:-2] if batch.ended.timestamp() >= since]
    return (*recent, *batches[-2:])[-_MAX_REPORTS:]


def _key(batch: Batch) -> tuple[int, float]:
    return batch.number, batch.started.timestamp()
