"""The replication slot of captured tables, and their comparison with replicas: values of ``epochal.cdc``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Size
from epochal._values.kind import LOG_POSITION, whole
from epochal._values.value import Value, of, option

OnTruncate = Literal["fail", "emit", "ignore"]
RowShape = Literal["json", "typed"]
OnSchemaChange = Literal["fail", "adopt", "follow"]
Snapshot = Literal["whole", "chunks"]


class Slot(Value):
    """The replication slot and the publication that a query reads."""

    name: str | None = field(default=None, kw_only=False, metadata=of("slot"))
    create: bool | None = option("createSlot")
    starting_offset: str | None = option("startingOffset", LOG_POSITION)
    snapshot: Snapshot | None = option("snapshot")
    chunk_rows: int | None = option("chunkRows", whole(1, "long"))
    publication: str | None = option("publication")
    create_publication: bool | None = option("createPublication")
    heartbeat: Duration | None = option("heartbeatInterval")
    operations: Sequence[str] | None = option("operations")
    accept_change: str | None = option("acceptChange")
    max_lag: Size | None = option("maxSlotLag")
    max_standby_lag: Size | None = option("maxStandbyLag")
    max_journal_bytes: Size | None = option("maxJournalBytes")


class Verify(Value, verify="compare"):
    """Compares tables with their replicas while the query runs.

    >>> Verify(every="1 day")
    cdc.Verify(every='1 day')
    """

    every: Duration | None = option("verifyInterval")
    rows_per_second: int | None = option("verifyRowsPerSecond", whole(1, "long"))


class Repair(Verify, verify="repair"):
    """Compares tables with their replicas, and corrects these; needs ``write.jdbc`` or ``replicate``."""


#: Values of ``verify`` of ``epochal.read.cdc``.
AnyVerify = Verify | Repair
