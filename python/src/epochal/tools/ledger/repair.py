"""Repairs of a sink's row in the ledger, independent of the database."""

from __future__ import annotations

from dataclasses import dataclass

from epochal.errors import RepairError
from epochal.tools.ledger.model import LedgerRow


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


def check_unchanged(shown: LedgerRow, found: LedgerRow) -> None:
    """Checks that no run has claimed or written the row since it was read.

    Raises:
        RepairError: generation, run or last epoch differ.
    """
    before, now = (
        (row.query_id, row.generation, row.run_id, row.last_epoch, row.offsets_hash) for row in (shown, found)
    )
    if before != now:
        raise RepairError(
            "REPAIR_REFUSED",
            f"The ledger's row of sink '{shown.sink_id}' has changed since it was read: from generation "
            f"{shown.generation} and last epoch {shown.last_epoch} to generation {found.generation} and last epoch "
            f"{found.last_epoch}. A run of the query is active.",
            "Nothing was changed. Stop the query, read the row again, and repeat the repair.",
        )
