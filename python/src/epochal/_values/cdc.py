"""The replication slot of a captured table: a value of ``epochal.cdc``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Size
from epochal._values.value import Value, of, option

OnTruncate = Literal["fail", "emit", "ignore"]
RowShape = Literal["json", "typed"]
OnSchemaChange = Literal["fail", "adopt"]


class Slot(Value):
    """The replication slot and the publication that a query reads."""

    name: str | None = field(default=None, kw_only=False, metadata=of("slot"))
    create: bool | None = option("createSlot")
    publication: str | None = option("publication")
    create_publication: bool | None = option("createPublication")
    heartbeat: Duration | None = option("heartbeatInterval")
    operations: Sequence[str] | None = option("operations")
    accept_change: str | None = option("acceptChange")
    max_lag: Size | None = option("maxSlotLag")
    max_journal_bytes: Size | None = option("maxJournalBytes")
