"""Differences between two epochs, and the comparison of a checkpoint with a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, Literal

from epochal.tools.checkpoint.epochs import Epoch, Epochs, SourceOffset
from epochal.tools.checkpoint.start import (
    BACKUP,
    BESIDE,
    last_commit,
    metadata_remedy,
    next_start,
    offsets_remedy,
    rewind_command,
    set_command,
)
from epochal.tools.ledger.model import DatabaseLedger, LedgerRow
from epochal.tools.output import as_json, counted

#: Results of the comparison of a checkpoint with a ledger. The first two need no action.
State = Literal["in step", "sink ahead", "gap", "rewound", "changed", "foreign", "not in the ledger", "broken"]

#: States in which the query can be started without a repair.
HEALTHY: frozenset[State] = frozenset({"in step", "sink ahead"})


@dataclass(frozen=True, kw_only=True, repr=False)
class Difference:
    """The rows delivered between the ends of two epochs. Prints as a summary.

    Attributes:
        first, second: numbers of the epochs.
        sources: by source, its offsets at the two ends; None if the source was not part of the epoch.
        watermark: advance of the watermark from the first to the second, in milliseconds; None if one has none.
    """

    first: int
    second: int
    sources: tuple[tuple[SourceOffset | None, SourceOffset | None], ...]
    watermark: int | None

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        return {
            "first": self.first,
            "second": self.second,
            "watermark": self.watermark,
            "sources": [
                {
                    "name": (second or first).name,  # type: ignore[union-attr]
                    "first": first.offset if first else None,
                    "second": second.offset if second else None,
                    "delivered": delivered(first, second),
                }
                for first, second in self.sources
            ],
        }

    def __str__(self) -> str:
        lines = [f"From the end of epoch {self.first} to the end of epoch {self.second}"]
        for first, second in self.sources:
            name = (second or first).name  # type: ignore[union-attr]
            lines.append(f"  source {name:<4} {first or 'none'}")
            if second is not None and first is not None and second.offset == first.offset:
                lines.append("           → the same")
                continue
            count = delivered(first, second)
            lines.append(f"           → {second or 'none'}" + (f"  ({count:+,})" if count is not None else ""))
        if self.watermark:
            lines.append(f"  watermark  {self.watermark / 1000:+,.3f} s")
        return "\n".join(lines)

    __repr__ = __str__


def difference(first: Epoch, second: Epoch) -> Difference:
    """Compares the ends of two epochs, source by source."""
    before = {source.name: source for source in first.sources}
    after = {source.name: source for source in second.sources}
    return Difference(
        first=first.number,
        second=second.number,
        sources=tuple((before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after])),
        watermark=None if first.watermark is None or second.watermark is None else second.watermark - first.watermark,
    )


def delivered(first: SourceOffset | None, second: SourceOffset | None) -> int | None:
    """Number of rows or records between two offsets; None if the offsets do not count them."""
    if first is None or second is None or first.position is None or second.position is None:
        return None
    return second.position - first.position


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """Whether a checkpoint and the sink's row in the ledger fit each other. Prints as a summary.

    Attributes:
        state: the result; ``in step`` and ``sink ahead`` need no action.
        explanation: the state in a sentence, with the epochs.
        next_start: effect of the next start of the query.
        remedy: the repair; empty if none is needed.
        row: the row that was compared; None if the ledger has none.
    """

    state: State
    explanation: str
    next_start: str
    remedy: str = ""
    row: LedgerRow | None = None

    @property
    def healthy(self) -> bool:
        """Whether the query can be started without a repair, with each row once."""
        return self.state in HEALTHY

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        return {
            "state": self.state,
            "healthy": self.healthy,
            "explanation": self.explanation,
            "next_start": self.next_start,
            "remedy": self.remedy,
            "sink_id": self.row.sink_id if self.row else None,
            "rows_beyond": self.row.rows_beyond if self.row else None,
            "replicas": as_json(self.row.replicas) if self.row else [],
        }

    def __str__(self) -> str:
        lines = [f"Sink {self.row.sink_id} → {self.row.target}"] if self.row else ["Sink"]
        lines += [f"  state       {self.state}: {self.explanation}", f"  next start  {self.next_start}"]
        lines += [f"  what to do  {self.remedy}"] if self.remedy else []
        lines += [f"  replica     {replica}" for replica in self.row.replicas] if self.row else []
        return "\n".join(lines)

    __repr__ = __str__


def comparison(checkpoint: Epochs, ledger: DatabaseLedger | LedgerRow | None) -> Comparison:
    """Predicts the sink's decision about the next epoch, by the commit rules in ``docs/PROTOCOL.md``."""
    row, others = _row(checkpoint, ledger)
    start = next_start(checkpoint)
    if start.epoch is None:
        return Comparison(
            state="broken",
            explanation="the checkpoint has a file from which the query cannot resume.",
            next_start=start.explanation,
            remedy=_damage_remedy(checkpoint, row, others),
            row=row,
        )
    epoch = start.epoch
    if row is None:
        return _missing_row(epoch, others)
    if checkpoint.query_id is not None and row.query_id != checkpoint.query_id:
        return Comparison(
            state="foreign",
            explanation=f"the ledger's row is of query {row.query_id}, the checkpoint of {checkpoint.query_id}.",
            next_start="The sink refuses it: QUERY_CHANGED.",
            remedy=f"If this query is meant to take over: onNewQuery=append:{row.query_id}. "
            f"If the table was emptied to load it again: epochal ledger forget {quote(row.sink_id)} --url …",
            row=row,
        )
    last = row.last_epoch
    if last is None:
        return _missing_row(epoch, ()) if epoch else _fits(row, "no epoch is committed yet.", start.explanation)
    control = {one.number for one in checkpoint.epochs if one.control and one.offsets_hash == row.offsets_hash}
    while epoch > last + 1 and last + 1 in control:
        last += 1
    if epoch == last + 1:
        return _in_step(checkpoint, row, epoch, last)
    if epoch > last + 1:
        return Comparison(
            state="gap",
            explanation=f"the ledger ends with epoch {last}, but the next one is {epoch}: it lacks "
            f"{counted(epoch - last - 1, 'epoch')}.",
            next_start="The sink refuses it: EPOCH_GAP.",
            remedy=f"Have Spark read those rows again: {rewind_command(checkpoint.path, last)}."
            + (
                ""
                if _endless(row)
                else f" Or load them with a batch, then: {set_command(row, epoch - 1, checkpoint.path)}"
            ),
            row=row,
        )
    return _ahead(checkpoint, row, epoch, last, replay=start.replay)


def _row(checkpoint: Epochs, ledger: DatabaseLedger | LedgerRow | None) -> tuple[LedgerRow | None, Sequence[LedgerRow]]:
    """The row of the query's sink, and the rows among which it may be.

    A query that another has replaced is in that one's row. A query without an id is recognised only if one row ends as
    its checkpoint does: queries over one source have the same offsets.
    """
    if not isinstance(ledger, DatabaseLedger):
        return ledger, ()
    query = checkpoint.query_id
    if query is None:
        same = [row for row in ledger if _is_last(checkpoint, row)]
        return (same[0] if len(same) == 1 else None), ledger.rows
    later = [row for row in ledger if any(old.query_id == query for old in row.retired)]
    return ledger.find(query) or max(later, key=lambda row: row.updated_at, default=None), ledger.rows


def _is_last(checkpoint: Epochs, row: LedgerRow) -> bool:
    """Whether the row ends with the checkpoint's last epoch, or with the last one that is whole."""
    last = (checkpoint.last_logged, checkpoint.last_whole)
    return any(_is_at(row, epoch) for epoch in checkpoint.epochs if epoch.number in last)


def _is_at(row: LedgerRow, epoch: Epoch) -> bool:
    return epoch.offsets_hash is not None and (row.last_epoch, row.offsets_hash) == (epoch.number, epoch.offsets_hash)


def _in_step(checkpoint: Epochs, row: LedgerRow, epoch: int, last: int) -> Comparison:
    ours = next((one.offsets_hash for one in checkpoint.epochs if one.number == last), None)
    if ours and row.offsets_hash and ours != row.offsets_hash:
        return _offset_mismatch(
            row, f"The sink accepts epoch {epoch}, but rows may be missing or duplicated before it."
        )
    explanation = f"epoch {last} is the last one in both."
    if not _endless(row) and checkpoint.last_logged == epoch:
        explanation = f"epoch {epoch} is running, or was interrupted; not committed yet."
    return _fits(row, explanation, next_start(checkpoint).explanation)


def _ahead(checkpoint: Epochs, row: LedgerRow, epoch: int, last: int, *, replay: bool) -> Comparison:
    ours = next((one.offsets_hash for one in checkpoint.epochs if one.number == epoch), None)
    if replay and epoch == last and (ours is None or row.offsets_hash is None or ours == row.offsets_hash):
        return Comparison(
            state="sink ahead",
            explanation=f"epoch {last} is in the table, and Spark has not marked it as done. Normal after a crash."
            + _beyond(row),
            next_start=f"Spark replays epoch {last}, and the sink skips it.",
            row=row,
        )
    if replay and epoch == last:
        return _offset_mismatch(row, "The sink refuses it: EPOCH_OFFSETS_CHANGED.")
    set_back = set_command(row, epoch - 1, checkpoint.path)
    return Comparison(
        state="rewound",
        explanation=f"the ledger ends with epoch {last}, but the next one is {epoch}.",
        next_start="The sink refuses it: EPOCH_REGRESSED."
        if epoch < last
        else "The sink refuses it: EPOCH_OFFSETS_CHANGED, unless Spark plans the same offsets again.",
        remedy="Restore the newest checkpoint."
        + ("" if _endless(row) else f" If the epochs from {epoch} on were removed from the table: {set_back}"),
        row=row,
    )


def _endless(row: LedgerRow) -> bool:
    """Whether the sink's tasks store rows before their epoch ends; then ``epochal ledger set`` is refused."""
    return row.trigger_mode in ("continuous", "real-time")


def _fits(row: LedgerRow, explanation: str, next_start: str) -> Comparison:
    return Comparison(state="in step", explanation=explanation + _beyond(row), next_start=next_start, row=row)


def _beyond(row: LedgerRow) -> str:
    """The rows in the table beyond the last epoch, in a sentence."""
    if row.rows_beyond is None and _endless(row):
        return " Rows of the next one may be in the table already: the ledger knows them."
    count = counted(row.rows_beyond or 0, "row")
    return f" The table has {count} of the next one already, which the sink skips." if row.rows_beyond else ""


def _offset_mismatch(row: LedgerRow, next_start: str) -> Comparison:
    return Comparison(
        state="changed",
        explanation=f"the ledger has epoch {row.last_epoch} with other offsets than the checkpoint.",
        next_start=next_start,
        remedy="Find out whether the checkpoint was edited, or two queries share a sinkId.",
        row=row,
    )


def _missing_row(epoch: int, others: Sequence[LedgerRow]) -> Comparison:
    """The comparison of a query that the ledger does not know.

    Args:
        others: its sinks: one of them is the query's if the query has that ``sinkId``, which no checkpoint contains.
    """
    clause = ", unless its sinkId or table is that of a known sink (epochal ledger list): then QUERY_CHANGED or "
    unless = f"{clause}TARGET_SHARED." if others else "."
    if epoch == 0:
        return Comparison(
            state="in step",
            explanation="the ledger has no row of this query, which has committed nothing yet.",
            next_start=f"The first epoch adds the query to the ledger{unless}",
        )
    empty = (
        f"Check the table for rows of epoch {epoch}: those after the offsets of the epoch before (epochal "
        f"checkpoint show). If all are there: onLedgerEmpty=skip:{epoch}. If none are: onLedgerEmpty=write:{epoch}. If "
        "some are, as after a continuous or real-time run: start the query and follow the error."
    )
    return Comparison(
        state="not in the ledger",
        explanation=f"the ledger has no epoch of this query, whose next epoch is {epoch}.",
        next_start=f"The sink refuses it: LEDGER_EMPTY{unless}",
        remedy=f"Pass --sink NAME to compare with one sink. If none of them is this query's: {empty}"
        if others
        else empty,
    )


def _damage_remedy(checkpoint: Epochs, row: LedgerRow | None, others: Sequence[LedgerRow]) -> str:
    """The remedy for a damaged file, by the sink's last epoch."""
    if any(problem.startswith(BESIDE) for problem in checkpoint.problems):
        return next_start(checkpoint).remedy
    if checkpoint.query_id is None:
        if row and _is_last(checkpoint, row):
            return metadata_remedy(checkpoint.path, (row,), exact=True)
        rows = [one for one in others if any(_is_at(one, epoch) for epoch in checkpoint.epochs)]
        return metadata_remedy(checkpoint.path, (row,) if row else rows)
    if row is None:
        return next_start(checkpoint).remedy
    epochs = checkpoint.epochs
    last = last_commit(checkpoint)
    without = tuple(replace(one, problem=one.problem_of("offsets")) if one.number == last else one for one in epochs)
    if without != epochs and comparison(replace(checkpoint, epochs=without), row).healthy:
        return next_start(checkpoint).remedy
    return offsets_remedy(checkpoint, known=True) if row.last_epoch == checkpoint.last_whole else BACKUP
