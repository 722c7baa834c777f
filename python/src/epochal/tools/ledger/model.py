"""The sink's ledger as values. ``docs/PROTOCOL.md`` describes its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

from epochal.errors import EpochalError, SinkIdentityError, _of_condition
from epochal.tools.output import aligned, as_json

#: Version of the rows of ``epochal_ledger`` and ``epochal_ledger_retired`` that this release reads.
VERSION = 1

_TIME = re.compile(r"(?P<seconds>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))?Z?")


@dataclass(frozen=True, kw_only=True)
class LedgerEpoch:
    """An entry of the history. It is informational: no decision depends on it."""

    number: int
    epoch: int
    query_id: str
    run_id: str
    generation: int
    target: str
    trigger_mode: str
    offsets_hash: str | None
    digest: str
    rows: int
    committed_at: datetime


@dataclass(frozen=True, kw_only=True, repr=False)
class ReplicaComparison:
    """The last comparison of a replica with its source. Prints as a line.

    Attributes:
        target: the replica, as the database spells it.
        position: of the source's log. In chunks: of the first one.
        equal_rows, different_rows, missing_rows, extra_rows: of the chunks so far, while the comparison runs; None if
            the replica was not compared.
        other_rows: rows that were not compared.
        result: the counts and some keys, or why the replica was not compared.
        verified_at: time of the result, in UTC.
        until_key: the last key that was compared, while the comparison runs; None once it is complete.
        equal_position, equal_at: of the last comparison that found the whole replica equal; None before the first.
    """

    target: str
    position: str
    equal_rows: int | None
    different_rows: int | None
    missing_rows: int | None
    extra_rows: int | None
    other_rows: int | None
    result: str
    verified_at: datetime
    until_key: str | None = None
    equal_position: str | None
    equal_at: datetime | None

    @property
    def corrected(self) -> bool:
        """Whether the rows that differed were corrected."""
        return self.result.partition(";")[0].endswith(", corrected")

    @property
    def differing(self) -> int:
        """Rows that are different, missing or extra, and were not corrected."""
        return 0 if self.corrected else sum(self._differences)

    @property
    def equal(self) -> bool:
        """Whether the comparison is complete, and all rows were equal."""
        return (
            self.until_key is None and self.equal_rows is not None and not (any(self._differences) or self.other_rows)
        )

    @property
    def _differences(self) -> list[int]:
        return [rows or 0 for rows in (self.different_rows, self.missing_rows, self.extra_rows)]

    def __str__(self) -> str:
        state = "differs" if self.differing else "corrected" if self.corrected else "incomplete"
        state = "equal" if self.equal else state
        line = f"{self.target}: {state} at {self.verified_at:%Y-%m-%d %H:%M:%S} UTC ({self.position})"
        if self.equal:
            return line
        until = f", up to {self.until_key}" if self.until_key else ""
        at = f"{self.equal_at:%Y-%m-%d %H:%M:%S} UTC ({self.equal_position})" if self.equal_at else ""
        return f"{line}{until}: {self.result}. {f'Last equal at {at}' if at else 'Never equal'}"

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True, repr=False)
class LedgerRow:
    """A sink's row in the ledger. Prints as a summary.

    Attributes:
        sink_id: option ``sinkId``, else the query's id.
        v: version of the row.
        query_id: id of the query that writes.
        target: the table, as the database spells it.
        target_oid: the database's id of the table; None if the database has none.
        last_epoch: the last epoch in the table; None before the first.
        trigger_mode, offsets_hash, digest, rows: of the last epoch.
        epochs, total_rows: totals of this sink id.
        rows_beyond: rows in the table beyond the last epoch, which a restart skips: tasks of continuous and real-time
            queries store rows before their epoch ends. None for other queries.
        generation: incremented by every run; only the newest run may write.
        run_id: the last run that claimed the sink.
        server_id, timeline: of the server at that claim.
        created_at, updated_at: in UTC.
        retired: rows of earlier queries of this sink that another query has replaced.
        history: the latest epochs, newest first, at most ten.
        replicas: the last comparison of each replica with its source; empty if this login may not read them.
    """

    sink_id: str
    v: int
    query_id: str
    target: str
    target_oid: int | None
    last_epoch: int | None
    trigger_mode: str | None
    offsets_hash: str | None
    digest: str | None
    rows: int | None
    epochs: int
    total_rows: int
    rows_beyond: int | None = None
    generation: int
    run_id: str
    server_id: str
    timeline: int | None
    created_at: datetime
    updated_at: datetime
    retired: tuple[LedgerRow, ...] = ()
    history: tuple[LedgerEpoch, ...] = ()
    replicas: tuple[ReplicaComparison, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types; times are ISO 8601."""
        values: dict[str, Any] = as_json(self)
        return values

    def __str__(self) -> str:
        last = "no epoch yet" if self.last_epoch is None else f"epoch {self.last_epoch} ({self.rows:,} rows)"
        beyond = f", and {self.rows_beyond:,} rows of the next one" if self.rows_beyond else ""
        lines = [
            f"Sink {self.sink_id} → {self.target}",
            f"  last epoch  {last}{beyond}",
            f"  in all      {self.total_rows:,} rows in {self.epochs:,} epochs",
            f"  query       {self.query_id}",
            f"  generation  {self.generation}, run {self.run_id}",
            f"  updated     {self.updated_at:%Y-%m-%d %H:%M:%S} UTC",
        ]
        lines += [f"  replaced    query {old.query_id}, last epoch {old.last_epoch}" for old in self.retired]
        lines += [f"  replica     {replica}" for replica in self.replicas]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True, repr=False)
class DatabaseLedger:
    """The ledger of a database at the time of reading. Prints as a table.

    Attributes:
        place: the database, without secrets.
        rows: one for each sink, ordered by sink id.
    """

    place: str
    rows: tuple[LedgerRow, ...]

    def __iter__(self) -> Iterator[LedgerRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def sink(self, sink_id: str) -> LedgerRow:
        """The row of a sink.

        Raises:
            SinkIdentityError: there is none (``SINK_NOT_FOUND``).
        """
        for row in self.rows:
            if row.sink_id == sink_id:
                return row
        raise sink_not_found(self.place, sink_id, [row.sink_id for row in self.rows])

    def find(self, query_id: str | None) -> LedgerRow | None:
        """The row of a query; None if there is none. Of several rows, which only manual edits create, the latest.

        The rows that a sink of several tables has for each of them do not count.
        """
        matches = [row for row in self.rows if row.query_id == query_id]
        matches = [row for row in matches if not any(row.sink_id.startswith(f"{one.sink_id}/") for one in matches)]
        return max(matches, key=lambda row: row.updated_at, default=None)

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        return {"place": self.place, "sinks": as_json(self.rows)}

    def __str__(self) -> str:
        head = ("sink", "target", "last epoch", "rows", "generation", "updated (UTC)")
        lines = [
            (
                row.sink_id,
                row.target,
                "none" if row.last_epoch is None else str(row.last_epoch),
                f"{row.total_rows:,}",
                str(row.generation),
                f"{row.updated_at:%Y-%m-%d %H:%M:%S}",
            )
            for row in self.rows
        ]
        return "\n".join([f"Ledger in {self.place}", *aligned([head, *lines])])

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The epoch to record as the last one in the table.

    Attributes:
        offsets_hash: hash of its offsets in the checkpoint, so that its replay is recognised.
    """

    epoch: int
    offsets_hash: str | None


@dataclass(frozen=True, kw_only=True)
class Change:
    """A repair of one row.

    Attributes:
        row: the row that the operator saw; a row that has changed since is not repaired.
        applied: the new last epoch; None removes the sink.
    """

    row: LedgerRow
    applied: Applied | None


def sink_not_found(place: str, sink_id: str, there: list[str]) -> EpochalError:
    sinks = f"It has {', '.join(there)}." if there else "It has no sinks."
    return _of_condition("SINK_NOT_FOUND", url=place, sinkId=sink_id, known=sinks)


def ledger_not_found(place: str) -> EpochalError:
    return _of_condition("LEDGER_NOT_FOUND", url=place)


def row_of(
    values: Mapping[str, Any],
    retired: tuple[LedgerRow, ...] = (),
    history: tuple[LedgerEpoch, ...] = (),
    replicas: tuple[ReplicaComparison, ...] = (),
) -> LedgerRow:
    """A row from the columns of ``epochal_ledger``.

    Raises:
        SinkIdentityError: the row has a newer version (``LEDGER_VERSION_UNSUPPORTED``).
    """
    if values["v"] > VERSION:
        raise SinkIdentityError(
            "LEDGER_VERSION_UNSUPPORTED",
            f"The ledger holds sink '{values['sink_id']}' in version {values['v']}, "
            f"but this release reads up to version {VERSION}.",
            "Use the release of Epochal that wrote it, or a newer one.",
        )
    names = {one.name for one in fields(LedgerRow)} - {"retired", "history", "replicas"}
    return LedgerRow(**_with_moments(values, names), retired=retired, history=history, replicas=replicas)


def epoch_of(values: Mapping[str, Any]) -> LedgerEpoch:
    """A history entry from the columns of ``epochal_ledger_history``."""
    return LedgerEpoch(**_with_moments(values, {one.name for one in fields(LedgerEpoch)}))


def replica_of(values: Mapping[str, Any]) -> ReplicaComparison:
    """A comparison from the columns of ``epochal_ledger_verification``."""
    names = {one.name for one in fields(ReplicaComparison)}
    return ReplicaComparison(**_with_moments({**values, "result": values["found"]}, names))


def _with_moments(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """The known columns, with times in UTC."""
    return {
        name: _moment(value) if name.endswith("_at") and value else value
        for name, value in values.items()
        if name in names
    }


def _moment(text: str | datetime) -> datetime:
    """Parses a timestamp; Python 3.10 supports neither ``Z`` nor nanoseconds."""
    if isinstance(text, datetime):
        return text.astimezone(timezone.utc)
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise ValueError(f"not a time: {text}")
    fraction = (parts["fraction"] or "0")[:6].ljust(6, "0")
    return datetime.fromisoformat(f"{parts['seconds']}.{fraction}+00:00")
