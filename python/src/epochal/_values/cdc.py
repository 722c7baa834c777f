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
    """

    name: str | None = field(default=None, kw_only=False, metadata=of("slot", TEXT))
    create: bool | None = option("createSlot", BOOLEAN)
    publication: str | None = option("publication", TEXT)
    create_publication: bool | None = option("createPublication", BOOLEAN)
    heartbeat: Duration | None = option("heartbeatInterval", DURATION)
    operations: Sequence[str] | None = option("operations", NAMES)
    accept_change: str | None = option("acceptChange", TEXT)
    max_lag: Size | None = option("maxSlotLag", SIZE)
