"""Repairs of a sink's row in the ledger, independent of the database."""

from __future__ import annotations

from dataclasses import dataclass

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
