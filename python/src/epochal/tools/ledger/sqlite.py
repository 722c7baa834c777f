"""The ledger in an SQLite file, read with Python's ``sqlite3``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from epochal import _locks
from epochal.errors import DatabaseError
from epochal.tools.ledger.model import DatabaseLedger, LedgerRow, epoch_of, ledger_not_found, row_of

PREFIX = "jdbc:sqlite:"
_HISTORY = 10


def read(url: str) -> DatabaseLedger:
    """Reads the ledger.

    Raises:
        DatabaseError: the file does not exist or is not a database.
        SinkIdentityError: the database has no ledger.
    """
    with _connection(url) as connection:
        connection.execute("BEGIN")
        ids = [name for (name,) in connection.execute("SELECT sink_id FROM epochal_ledger ORDER BY sink_id")]
        return DatabaseLedger(place=url.partition("?")[0], rows=tuple(_row(connection, sink_id) for sink_id in ids))


def _row(connection: sqlite3.Connection, sink_id: str) -> LedgerRow:
    (values,) = _as_dicts(connection, "SELECT * FROM epochal_ledger WHERE sink_id = ?", sink_id)
    of_sink = "WHERE sink_id = ? ORDER BY"
    retired = _as_dicts(connection, f"SELECT * FROM epochal_ledger_retired {of_sink} updated_at", sink_id)
    history = f"SELECT * FROM epochal_ledger_history {of_sink} number DESC LIMIT {_HISTORY}"
    lines = _as_dicts(connection, history, sink_id)
    return row_of(values, tuple(row_of(old, (), ()) for old in retired), tuple(map(epoch_of, lines)))


def _as_dicts(connection: sqlite3.Connection, sql: str, *parameters: Any) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


@contextmanager
def _connection(url: str) -> Iterator[sqlite3.Connection]:
    """A connection without automatic transactions; an open transaction is rolled back at the end."""
    place = url.partition("?")[0]
    file = Path(place.removeprefix(PREFIX).removeprefix("file:"))
    if not file.is_file():
        raise DatabaseError("DATABASE_UNREACHABLE", f"There is no file {file}.", "Check the url of the database.")
    try:
        connection = sqlite3.connect(file, timeout=_locks.TIMEOUT_SECONDS, isolation_level=None)
        try:
            tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            if ("epochal_ledger",) not in tables:
                raise ledger_not_found(place)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        if _locks.is_locked(str(error)):
            raise _locks.locked(place, file, str(error)) from error
        raise DatabaseError(
            "DATABASE_ERROR", f"{place} failed: {error}.", "Nothing was changed. Correct the cause and try again."
        ) from error
