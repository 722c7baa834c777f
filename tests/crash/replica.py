"""Accounts and their history, changed by transactions like pgbench's, and replicas of both by ``crash.cdc_job``."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg

from support.databases import Postgres
from support.programs import Program

#: Columns of the tables, by name.
TABLES = {
    "accounts": "id INT PRIMARY KEY, balance BIGINT NOT NULL, document TEXT NOT NULL",
    "history": "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account INT NOT NULL, delta INT NOT NULL,"
    " at TIMESTAMPTZ NOT NULL",
}
#: A text that is stored out of line.
DOCUMENT = "(SELECT string_agg(md5(j::text || random()::text), '') FROM generate_series(1, 100) j)"


def create(database: Postgres, accounts: int) -> None:
    """Creates the tables, with so many accounts, and empty replicas."""
    for table, columns in TABLES.items():
        database.execute(
            f"CREATE TABLE {table} ({columns})", f"CREATE TABLE {table}_replica (LIKE {table} INCLUDING INDEXES)"
        )
    database.execute(f"INSERT INTO accounts SELECT i, 0, {DOCUMENT} FROM generate_series(1, {accounts}) i")


class Writer:
    """Changes the tables in a thread, over a connection of its own; some transactions are rolled back.

    Args:
        accounts: number of accounts at first.
        pause: seconds between transactions.
    """

    def __init__(self, database: Postgres, draw: random.Random, accounts: int, pause: float = 0.005) -> None:
        self._database, self._draw, self._accounts, self._pause = database, draw, accounts, pause
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.transactions = 0
        self.is_paused = False
        #: Whether rows may keep their documents under a new key: not while a snapshot may be interrupted.
        self.keeps_documents = False
        self._thread.start()

    def _transfer(self, connection: psycopg.Connection[Any]) -> None:
        key, delta = self._draw.randrange(2 * self._accounts), self._draw.randrange(-5000, 5000)
        connection.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (delta, key))
        connection.execute("INSERT INTO history (account, delta, at) VALUES (%s, %s, now())", (key, delta))

    def _other(self, connection: psycopg.Connection[Any]) -> None:
        key = self._draw.randrange(2 * self._accounts)
        match self._draw.randrange(6):
            case 0:
                connection.execute(f"INSERT INTO accounts VALUES (%s, 0, {DOCUMENT}) ON CONFLICT DO NOTHING", (key,))
            case 1:
                connection.execute("DELETE FROM accounts WHERE id = %s", (key,))
                connection.execute("DELETE FROM history WHERE account = %s", (key,))
            case 2:
                connection.execute(f"UPDATE accounts SET document = {DOCUMENT} WHERE id = %s", (key,))
            case 3:
                # Without a new one, the server does not send the document under the new key.
                keeps = self.keeps_documents and self._draw.random() < 0.5
                document = "" if keeps else f", document = {DOCUMENT}"
                connection.execute(
                    f"UPDATE accounts SET id = -id{document} WHERE abs(id) = %s"
                    " AND NOT EXISTS (SELECT FROM accounts AS other WHERE other.id = -accounts.id)",
                    (key,),
                )
            case 4:
                connection.execute("UPDATE accounts SET balance = 0 WHERE id BETWEEN %s AND %s", (key, key + 20))
            case _:
                connection.execute("SAVEPOINT here")
                connection.execute("DELETE FROM accounts WHERE id BETWEEN %s AND %s", (key, key + 20))
                connection.execute("ROLLBACK TO SAVEPOINT here")

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._database.connect() as connection:
                    while not self._stopped.is_set():
                        if self.is_paused:
                            time.sleep(0.05)
                            continue
                        with connection.transaction(force_rollback=self._draw.random() < 0.1):
                            self._transfer(connection)
                            if self._draw.random() < 0.5:
                                self._other(connection)
                        self.transactions += 1
                        time.sleep(self._pause)
            except (psycopg.OperationalError, psycopg.errors.UniqueViolation):
                time.sleep(0.2)  # another writer was first, or the server is being restarted

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(60)


def mark(database: Postgres, account: int) -> None:
    """Writes a row into both tables that no writer changes: beyond the keys of the writers."""
    database.execute(
        f"INSERT INTO accounts VALUES ({account}, 0, '')",
        f"INSERT INTO history (account, delta, at) VALUES ({account}, 0, now())",
    )


def has_arrived(database: Postgres, account: int) -> bool:
    """Whether the replicas have the rows of ``mark``; once the snapshot has ended, also all changes before."""
    return have(database, {"accounts": f"id = {account}", "history": f"account = {account}"})


def have(database: Postgres, rows: dict[str, str]) -> bool:
    """Whether the replica of each table has a row that meets a condition."""
    each = [f"EXISTS (SELECT FROM {table}_replica WHERE {condition})" for table, condition in rows.items()]
    (found,) = database.query(f"SELECT {' AND '.join(each)}")
    return bool(found[0])


def compared(database: Postgres, tables: Iterable[str] = TABLES) -> dict[str, tuple[int, int, int]]:
    """Of each table the number of its rows, of those of its replica, and of rows that only one of them has."""
    return {table: _compared(database, table) for table in tables}


def _compared(database: Postgres, table: str) -> tuple[int, int, int]:
    one, other = f"TABLE {table}", f"TABLE {table}_replica"
    (found,) = database.query(
        f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*) FROM {table}_replica), count(*)"
        f" FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})) AS differing"
    )
    rows, copied, differing = found
    return rows, copied, differing


def job(database: Postgres, directory: Path, jvm: str = "", rows: int = 500, **more: Any) -> Program:
    """Starts a driver with a query for each table; its checkpoints are in ``directory``."""
    made = Program("crash.cdc_job")
    made.send(
        json.dumps(
            {
                "url": database.url,
                "user": database.user,
                "schema": database.schema,
                "tables": list(TABLES),
                "checkpoints": str(directory),
                "jvm": jvm,
                "rows": rows,
            }
            | more
        )
    )
    return made


def runs(program: Program) -> bool:
    program.assert_runs()
    return True
