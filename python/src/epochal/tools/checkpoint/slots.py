"""The replication slots of a checkpoint's ``epochal-cdc`` sources, on the server that a URL names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from epochal._values.secret import Secret
from epochal.tools.checkpoint import kinds
from epochal.tools.checkpoint.model import Checkpoint
from epochal.tools.ledger import postgres
from epochal.tools.output import size

#: Only of the server that the checkpoint knows: another one may have a slot of the same name.
_SLOT = """SELECT s.confirmed_flush_lsn::text, (e.lsn - s.confirmed_flush_lsn)::bigint, (e.lsn - s.restart_lsn)::bigint,
  s.wal_status, s.active
FROM pg_catalog.pg_replication_slots s CROSS JOIN pg_catalog.pg_control_system() c CROSS JOIN (SELECT
  CASE WHEN pg_is_in_recovery() THEN GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
    ELSE pg_current_wal_lsn() END AS lsn) e
WHERE s.slot_name = %s AND c.system_identifier::text = %s"""


#: Bytes of the log that a query may be behind: one segment.
_MAX_BEHIND = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class SlotState:
    """A slot; all but its name is None if the server does not have it.

    Attributes:
        confirmed: position that the query has confirmed.
        behind: bytes of the log after that position.
        retained: bytes of the log that the server keeps for the slot.
        status: ``lost`` if the server has removed what the slot needs.
        active: whether it is being read.
    """

    name: str
    confirmed: str | None = None
    behind: int | None = None
    retained: int | None = None
    status: str | None = None
    active: bool | None = None

    @property
    def has_log(self) -> bool:
        """Whether the server keeps what the slot needs."""
        return self.status not in ("lost", "unreserved")

    @property
    def healthy(self) -> bool:
        """Whether the server keeps what the slot needs, and at most 16 MB of it are unread."""
        return self.has_log and (self.behind or 0) <= _MAX_BEHIND

    def __str__(self) -> str:
        if self.status is None:
            return f"Slot {self.name} is not on this server: epochal cdc check URL --table … --slot {self.name}"
        lag = "" if self.behind is None else f"{size(self.behind)} behind, confirmed up to {self.confirmed}; "
        log = "" if self.retained is None else f", {size(self.retained)} of log kept"
        return f"Slot {self.name}\n  {lag}{self.status}{log}, {'in use' if self.active else 'not in use'}"


def slots(checkpoint: Checkpoint, url: str, user: str | None, password: Secret | None) -> Iterator[SlotState]:
    """The slots of the last epoch's sources.

    Raises:
        DatabaseError: the server cannot be reached, or reports an error.
    """
    server = postgres.server(url)
    newest = next((epoch for epoch in reversed(checkpoint.epochs) if epoch.sources), None)
    for source in newest.sources if newest else ():
        if (slot_of_offset := kinds.slot(source.offset)) is None:
            continue
        row = None
        if server is not None:
            with server.connection(user, password) as connection:
                cursor = connection.cursor()
                cursor.execute(_SLOT, slot_of_offset)
                row = cursor.fetchone()
        fields = ("confirmed", "behind", "retained", "status", "active")
        yield SlotState(name=slot_of_offset[0], **dict(zip(fields, row or (), strict=False)))
