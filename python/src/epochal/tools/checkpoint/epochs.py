"""The epochs of a checkpoint, as Spark has logged them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from epochal.errors import CheckpointError
from epochal.tools.checkpoint import kinds


@dataclass(frozen=True, kw_only=True)
class SourceOffset:
    """The position of a source at the end of an epoch.

    Attributes:
        name: position in the plan (``"0"``), or the name if the log has names.
        offset: as Spark logged it, usually JSON; ``-`` if the source had none yet.
        event_time: highest event time of the rows before the offset, in UTC, for an Epochal source with an
            ``event_time_column``; None for others, and before the first row. It does not cover the rows of its own
            micro-batch, since Spark logs offsets before the rows are read; only the last offset of a finished run
            covers all rows.
        stored_until: of the last epoch of ``epochal-cdc``: all changes that were committed in the source before this
            time, in UTC, are stored. A running query writes it down every ``heartbeat``. None if it never has.
    """

    name: str
    offset: str
    event_time: datetime | None = None
    stored_until: datetime | None = None

    @property
    def kind(self) -> str:
        """The source's format, recognised by its offset: ``epochal-rest``, ``Kafka``, ``files``, ``unknown`` …"""
        return kinds.kind_of(self.offset)

    @property
    def source(self) -> str | None:
        """The identity of an Epochal source (its URL, or ``sourceId``); None for other sources."""
        return kinds.identity(self.offset)

    @property
    def position(self) -> int | None:
        """Number of rows or records delivered so far; None if the offset does not count them."""
        return kinds.position(self.offset)

    def __str__(self) -> str:
        return f"{self.kind}: {kinds.words(self.offset)}" if self.offset != "-" else kinds.words(self.offset)


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One epoch (Spark's batch id), from ``offsets/<number>`` and ``commits/<number>``.

    Attributes:
        number: counts from 0.
        logged: whether ``offsets/<number>`` exists.
        committed: whether ``commits/<number>`` exists and can be read.
        sources: position of each source at its end; empty if the file is missing or cannot be read.
        watermark: during this epoch, in milliseconds since 1970; 0 before the first event, None if not logged.
        timestamp: when Spark planned it, in milliseconds since 1970.
        next_watermark: after this epoch, in milliseconds since 1970; None before the commit.
        offsets_hash: as in the ledger; None if the offsets cannot be read.
        control: whether it is of Spark itself (4.2: a repartitioning of state) and has no rows: no sink receives it.
        logged_at: modification time of the offsets file, in UTC.
        committed_at: modification time of the commit file, in UTC.
        problem: which file cannot be read, and why; None if there is none.
    """

    number: int
    logged: bool
    committed: bool
    sources: tuple[SourceOffset, ...] = ()
    watermark: int | None = None
    timestamp: int | None = None
    next_watermark: int | None = None
    offsets_hash: str | None = None
    control: bool = False
    logged_at: datetime | None = None
    committed_at: datetime | None = None
    problem: str | None = None

    def problem_of(self, log: str) -> str | None:
        """The problem of its file in ``offsets`` or ``commits``."""
        return next((part for part in (self.problem or "").split("; ") if part.startswith(log)), None)


@dataclass(frozen=True, kw_only=True, repr=False)
class Epochs:
    """The logs of a query's checkpoint. ``Checkpoint`` describes the attributes."""

    path: str
    query_id: str | None
    epochs: tuple[Epoch, ...]
    has_state: bool = False
    problems: tuple[str, ...] = field(default=())

    @property
    def last_logged(self) -> int | None:
        """The last epoch with logged offsets."""
        return max((epoch.number for epoch in self.epochs if epoch.logged), default=None)

    @property
    def last_committed(self) -> int | None:
        """The last epoch that Spark has committed."""
        return max((epoch.number for epoch in self.epochs if epoch.committed), default=None)

    @property
    def last_whole(self) -> int | None:
        """The last epoch after which Spark can plan the next one: committed, with readable files."""
        whole = {epoch.number for epoch in self.epochs if epoch.logged and not epoch.problem}
        commits = {epoch.number for epoch in self.epochs if epoch.committed}
        return max((number for number in whole & commits if number == 0 or number - 1 in whole), default=None)

    def epoch(self, number: int) -> Epoch:
        """One epoch.

        Raises:
            CheckpointError: it is not in the logs (``EPOCH_NOT_FOUND``).
        """
        for epoch in self.epochs:
            if epoch.number == number:
                return epoch
        there = f"epochs {self.epochs[0].number} to {self.epochs[-1].number}" if self.epochs else "no epochs"
        raise CheckpointError(
            "EPOCH_NOT_FOUND",
            f"The checkpoint {self.path} has no epoch {number}: it has {there}.",
            "Name one of these. Spark removes older ones.",
        )
