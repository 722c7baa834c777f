"""The ledger in an SQLite file, read with Python's ``sqlite3``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from epochal import _locks
from epochal.errors import DatabaseError
from epochal.tools.ledger import rows
from epochal.tools.ledger.model import DatabaseLedger, ledger_not_found

PREFIX = "jdbc:sqlite:"


def read(url: str) -> DatabaseLedger:
    """Reads the ledger.

    Raises:
        DatabaseError: the file does not exist or is not a database.
        SinkIdentityError: the database has no ledger.
    """
    with _connection(url) as connection:
        connection.execute("BEGIN")

        def execute(sql: str, *parameters: str) -> sqlite3.Cursor:
            return connection.execute(sql.replace("%s", "?"), parameters)

        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = %s"
        optional = [name for (name,) in execute(tables, rows.VERIFICATION)]
        return rows.read(url.partition("?")[0], execute, optional=optional)


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
