"""A checkpoint as a value: Spark's logs, and the effect of the next start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from epochal.tools.checkpoint.comparison import Comparison, Difference, comparison, difference
from epochal.tools.checkpoint.epochs import Epoch, Epochs
from epochal.tools.checkpoint.start import NextStart, next_start
from epochal.tools.ledger.model import DatabaseLedger, LedgerRow
from epochal.tools.output import as_json


@dataclass(frozen=True, kw_only=True, repr=False)
class Checkpoint(Epochs):
    """The logs of a query's checkpoint at the time of reading. Prints as a summary.

    Attributes:
        path: directory of the checkpoint.
        query_id: the same across restarts; None if ``metadata`` is missing or cannot be read.
        epochs: the epochs that Spark keeps (about the last hundred), ascending.
        has_state: whether it holds state stores (of aggregations, joins, deduplication).
        problems: problems that do not belong to an epoch.
    """

    @property
    def next_start(self) -> NextStart:
        """The first epoch that Spark runs when the query is restarted, independent of the sink."""
        return next_start(self)

    def diff(self, first: int, second: int) -> Difference:
        """The rows delivered between the ends of two epochs.

        Raises:
            CheckpointError: one of them is not in the logs (``EPOCH_NOT_FOUND``).
        """
        return difference(self.epoch(first), self.epoch(second))

    def compare(self, ledger: DatabaseLedger | LedgerRow | None) -> Comparison:
        """Compares the checkpoint with a ledger, or with a sink's row in it; pass None if there is none."""
        return comparison(self, ledger)

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types; times are ISO 8601."""
        return {
            "path": self.path,
            "query_id": self.query_id,
            "last_logged": self.last_logged,
            "last_committed": self.last_committed,
            "has_state": self.has_state,
            "problems": list(self.problems),
            "next_start": as_json(self.next_start),
            "epochs": [_epoch(epoch) for epoch in self.epochs],
        }

    def __str__(self) -> str:
        lines = [
            f"Checkpoint {self.path}",
            f"  query       {self.query_id or 'unknown'}",
            f"  epochs      {self._numbers()}",
        ]
        newest = next((epoch for epoch in reversed(self.epochs) if epoch.sources), None)
        for source in newest.sources if newest else ():
            lines.append(f"  source {source.name:<4} {source}")
            identity = (source.source or "").replace("%7B", "{").replace("%7D", "}")  # placeholders, as in the URL
            lines += [f"              {identity}"] if identity else []
            lines += (
                [f"              event time {when:%Y-%m-%d %H:%M:%S.%f} UTC"] if (when := source.event_time) else []
            )
            if when := source.stored_until:
                lines.append(f"              all changes before {when:%Y-%m-%d %H:%M:%S} UTC are stored")
        if newest and (watermark := newest.next_watermark or newest.watermark):
            lines.append(f"  watermark   {moment(watermark)}")
        if self.has_state:
            lines.append("  state       has state stores")
        lines += [f"  problem     {text}" for text in (*self.problems, *self._epochs_problems())]
        start = self.next_start
        lines.append(f"  next start  {start.explanation}")
        return "\n".join([*lines, f"  what to do  {start.remedy}"] if start.remedy else lines)

    __repr__ = __str__

    def _numbers(self) -> str:
        if not self.epochs:
            return "none"
        return (
            f"{self.epochs[0].number} to {self.epochs[-1].number} are kept; "
            f"the last one logged is {_or_none(self.last_logged)}, committed {_or_none(self.last_committed)}"
        )

    def _epochs_problems(self) -> list[str]:
        return [epoch.problem for epoch in self.epochs if epoch.problem]


def moment(milliseconds: int) -> str:
    """``2026-11-23 18:00:00.000 UTC``."""
    when = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return f"{when:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03d} UTC"


def _or_none(number: int | None) -> str:
    return "none" if number is None else str(number)


def _epoch(epoch: Epoch) -> dict[str, Any]:
    values: dict[str, Any] = as_json(epoch)
    values["sources"] = [
        {
            "name": source.name,
            "kind": source.kind,
            "source": source.source,
            "position": source.position,
            "event_time": as_json(source.event_time),
            "stored_until": as_json(source.stored_until),
            "described": str(source),
            "offset": source.offset,
        }
        for source in epoch.sources
    ]
    return values
