"""The replication slot of a captured table: a value of ``epochal.cdc``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Size
from epochal._values.kind import BOOLEAN, DURATION, NAMES, SIZE, TEXT
from epochal._values.value import Value, of, option

OnTruncate = Literal["fail", "emit", "ignore"]
OnSchemaChange = Literal["fail", "adopt"]


class Slot(Value):
    """The replication slot and the publication that a query reads.

    >>> Slot("orders", max_lag="10g")
    cdc.Slot(name='orders', max_lag='10g')

    Args:
        name: Replication slot, used by this query alone. Unset: a name made of the table's and the checkpoint's.
        create: Whether a missing slot is created. Default: ``True``.
        publication: Publication with the table. Unset: the slot's name.
        create_publication: Whether a missing publication is created, which needs the table's owner. Default: ``True``.
        heartbeat: How often the slot moves on while the table does not change. Default: ``"30s"``.
        operations: Operations that the publication must publish. Without update and delete the stream has inserts only,
            so the target is not a replica. Default: ``"insert,update,delete,truncate"``.
        accept_change: Accepts one change that the log does not show: the value in the hint of CAPTURE_CHANGED.
        max_lag: Bytes of log that the server may keep for the slot; beyond them the query fails. Unset: no limit.
    """

    name: str | None = field(default=None, kw_only=False, metadata=of("slot", TEXT))
    create: bool | None = option("createSlot", BOOLEAN)
    publication: str | None = option("publication", TEXT)
    create_publication: bool | None = option("createPublication", BOOLEAN)
    heartbeat: Duration | None = option("heartbeatInterval", DURATION)
    operations: Sequence[str] | None = option("operations", NAMES)
    accept_change: str | None = option("acceptChange", TEXT)
    max_lag: Size | None = option("maxSlotLag", SIZE)
