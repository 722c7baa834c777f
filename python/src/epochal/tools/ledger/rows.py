"""Reads the ledger's tables over a connection of a Python driver."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from epochal.tools.ledger.model import DatabaseLedger, LedgerRow, epoch_of, replica_of, row_of

_HISTORY = 10

#: Tables of continuous and real-time queries, which only their sinks create.
PROGRESS = ("epochal_ledger_progress", "epochal_ledger_boundary")
#: The table of sinks that compare replicas with their source.
VERIFICATION = "epochal_ledger_verification"
_BEYOND = """SELECT sum(p.applied - b.delivered) FROM {0}_progress p
JOIN {0}_boundary b USING (sink_id, query_id, task_partition) WHERE sink_id = %s AND query_id = %s
AND b.epoch = (SELECT max(m.epoch) FROM {0}_boundary m WHERE m.sink_id = b.sink_id AND m.query_id = b.query_id)"""

#: Executes a statement, whose parameters are ``%s``, and returns its cursor.
Execute = Callable[..., Any]


def read(place: str, execute: Execute, schema: str = "", *, optional: Collection[str]) -> DatabaseLedger:
    """Reads the ledger in the caller's transaction.

    Args:
        schema: precedes the names of the tables: quoted, with a dot, and ``%%`` for ``%``.
        optional: those of ``PROGRESS`` and ``VERIFICATION`` that exist and can be read.
    """
    ledger = f"{schema}epochal_ledger"
    ids = [name for (name,) in execute(f"SELECT sink_id FROM {ledger} ORDER BY sink_id")]
    return DatabaseLedger(place=place, rows=tuple(_row(execute, ledger, name, optional) for name in ids))


def _row(execute: Execute, ledger: str, sink_id: str, optional: Collection[str]) -> LedgerRow:
    of_sink = "WHERE sink_id = %s ORDER BY"
    (values,) = _as_dicts(execute(f"SELECT * FROM {ledger} WHERE sink_id = %s", sink_id))
    if {*PROGRESS} <= {*optional}:
        ((beyond,),) = execute(_BEYOND.format(ledger), sink_id, values["query_id"])
        values["rows_beyond"] = None if beyond is None else int(beyond)
    replaced = _as_dicts(execute(f"SELECT * FROM {ledger}_retired {of_sink} updated_at", sink_id))
    history = f"SELECT * FROM {ledger}_history {of_sink} number DESC LIMIT {_HISTORY}"
    lines = _as_dicts(execute(history, sink_id))
    verification = f"SELECT * FROM {ledger}_verification {of_sink} target"
    replicas = _as_dicts(execute(verification, sink_id)) if VERIFICATION in optional else []
    return row_of(values, tuple(map(row_of, replaced)), tuple(map(epoch_of, lines)), tuple(map(replica_of, replicas)))


def _as_dicts(cursor: Any) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
