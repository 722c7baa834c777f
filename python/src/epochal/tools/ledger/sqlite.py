"""The ledger in an SQLite file, read with Python's ``sqlite3``."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from epochal.errors import DatabaseError
from epochal.tools.ledger.model import (
    DatabaseLedger,
    LedgerEpoch,
    LedgerRow,
    epoch_of,
    ledger_not_found,
    row_of,
    sink_not_found,
)
from epochal.tools.ledger.repair import Change, check_unchanged

PREFIX = "jdbc:sqlite:"
_HISTORY = 10
#: The current time, in the sink's format.
_NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"


def read(url: str) -> DatabaseLedger:
    """Reads the ledger.

    Raises:
        DatabaseError: the file does not exist or is not a database.
        SinkIdentityError: the database has no ledger.
    """
    with _connected(url) as connection:
        connection.execute("BEGIN")
        ids = [name for (name,) in connection.execute("SELECT sink_id FROM epochal_ledger ORDER BY sink_id")]
        return DatabaseLedger(place=url.partition("?")[0], rows=tuple(_row(connection, sink_id) for sink_id in ids))


def change(url: str, wanted: Change) -> None:
    """Forgets a sink, or sets its last epoch, in one transaction.

    Raises:
        RepairError: a run has written or claimed since the row was read. Nothing is changed.
    """
    with _connected(url) as connection:
        connection.execute("BEGIN IMMEDIATE")
        check_unchanged(wanted.row, _found(connection, wanted.row.sink_id, url))
        if wanted.applied is None:
            for table in ("epochal_ledger", "epochal_ledger_retired"):
                connection.execute(f"DELETE FROM {table} WHERE sink_id = ?", (wanted.row.sink_id,))
        else:
            connection.execute(
                "UPDATE epochal_ledger SET last_epoch = ?, trigger_mode = 'micro-batch', offsets_hash = ?, "
                "digest = '0000000000000000', rows = 0, generation = generation + 1, run_id = ?, "
                f"updated_at = {_NOW} WHERE sink_id = ?",
                (wanted.applied.epoch, wanted.applied.offsets_hash, str(uuid.uuid4()), wanted.row.sink_id),
            )
        connection.execute("COMMIT")


def _found(connection: sqlite3.Connection, sink_id: str, url: str) -> LedgerRow:
    there = [name for (name,) in connection.execute("SELECT sink_id FROM epochal_ledger ORDER BY sink_id")]
    if sink_id not in there:
        raise sink_not_found(url, sink_id, there)
    return _row(connection, sink_id)


def _row(connection: sqlite3.Connection, sink_id: str) -> LedgerRow:
    (values,) = _named(connection, "SELECT * FROM epochal_ledger WHERE sink_id = ?", sink_id)
    retired = _named(connection, "SELECT * FROM epochal_ledger_retired WHERE sink_id = ? ORDER BY updated_at", sink_id)
    lines = _named(
        connection,
        f"SELECT * FROM epochal_ledger_history WHERE sink_id = ? ORDER BY number DESC LIMIT {_HISTORY}",
        sink_id,
    )
    history: tuple[LedgerEpoch, ...] = tuple(epoch_of(line) for line in lines)
    return row_of(values, tuple(row_of(old, (), ()) for old in retired), history)


def _named(connection: sqlite3.Connection, sql: str, *parameters: Any) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


@contextmanager
def _connected(url: str) -> Iterator[sqlite3.Connection]:
    """A connection without automatic transactions; an open transaction is rolled back at the end."""
    place = url.partition("?")[0]
    file = Path(place.removeprefix(PREFIX).removeprefix("file:"))
    if not file.is_file():
        raise DatabaseError("DATABASE_UNREACHABLE", f"There is no file {file}.", "Check the url of the database.")
    try:
        connection = sqlite3.connect(file, timeout=30, isolation_level=None)
        try:
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            if ("epochal_ledger",) not in tables:
                raise ledger_not_found(place)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DatabaseError(
            "DATABASE_ERROR", f"{place} failed: {error}.", "Nothing was changed. Correct the cause and try again."
        ) from error
