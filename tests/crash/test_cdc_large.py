"""Transactions that are far larger than a batch, and a driver with little memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash import replica
from crash.replica import job, runs
from support.databases import Postgres, new_postgres
from support.postgres import server
from support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(1800)]

CHANGES = 1_000_000
SAVEPOINTS = 100_000


@pytest.fixture
def database() -> Iterator[Postgres]:
    """With ``large`` and an empty replica of it."""
    with server(max_wal_size="4GB") as running:
        made = new_postgres(running.dsn, "shop")
        for table in ("large", "large_replica"):
            made.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, amount BIGINT, note TEXT)")
        made.execute("INSERT INTO large VALUES (0, 0, 'first')")
        yield made


def follow(database: Postgres, directory: Path, *statements: str) -> None:
    """Runs a transaction under a query with 1 GB, and compares."""
    program = job(database, directory, rows=50_000, tables=["large"], memory="1g")
    try:
        until(lambda: runs(program) and replica.have(database, {"large": "id = 0"}), "the snapshot", 180)
        database.execute(*statements)
        began = time.monotonic()
        database.execute("INSERT INTO large VALUES (-1, 0, 'last')")
        until(lambda: runs(program) and replica.have(database, {"large": "id = -1"}), "the last change", 1200)
        print(f"\nin the replica {time.monotonic() - began:.0f} s after the commit")
    finally:
        program.kill()


def test_a_transaction_of_a_million_changes_needs_little_memory(database: Postgres, tmp_path: Path) -> None:
    note = "repeat(md5(i::text), 6)"
    follow(
        database,
        tmp_path,
        f"INSERT INTO large SELECT i, i, {note} FROM generate_series(1, {CHANGES * 6 // 10}) i",
        f"UPDATE large SET amount = -amount WHERE id BETWEEN 1 AND {CHANGES * 3 // 10}",
        f"DELETE FROM large WHERE id BETWEEN 1 AND {CHANGES // 10}",
    )
    rows = CHANGES // 2 + 2
    assert replica.compared(database, ["large"]) == {"large": (rows, rows, 0)}


def test_of_a_hundred_thousand_savepoints_only_those_that_were_kept_have_changes(
    database: Postgres, tmp_path: Path
) -> None:
    follow(
        database,
        tmp_path,
        f"""DO $$ BEGIN
              FOR i IN 1..{SAVEPOINTS} LOOP
                BEGIN
                  INSERT INTO large VALUES (i, i, 'of a savepoint');
                  UPDATE large SET amount = amount + 1 WHERE id = i - 1;
                  IF i % 5 = 0 THEN RAISE EXCEPTION 'undone'; END IF;
                EXCEPTION WHEN raise_exception THEN NULL;
                END;
              END LOOP;
            END $$""",
    )
    rows = SAVEPOINTS * 4 // 5 + 2
    assert replica.compared(database, ["large"]) == {"large": (rows, rows, 0)}
