"""Replicas in SQLite, MariaDB and MySQL of a PostgreSQL table that changes all the time; the driver is killed with
SIGKILL at steps of the sink and at random moments. Afterwards the rows are equal.

``EPOCHAL_CRASH=full`` kills it 20 times for each database, otherwise twice; ``EPOCHAL_CDC_KILLS`` sets the number.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from crash import replica
from crash.replica import Writer, job, runs
from support import mysql
from support.databases import Sqlite, new_postgres
from support.places import ROOT
from support.postgres import server
from support.programs import Program
from support.seeds import FULL, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_CDC_KILLS") or (20 if FULL else 2))
ACCOUNTS = 500
#: Written when the writer has stopped.
LAST = 1_000_000
SEED = kill_seed()
STEPS = ("task.after-commit", "rows.loaded", "ledger.written", "commit.before", "commit.after", "journal.removed")
COLUMNS = "id, balance, document"

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900 + 60 * KILLS)]


@dataclass
class Place:
    """A database for the replica.

    Args:
        rows: those of a query, each as its values in a line, with tabs between them.
    """

    url: str
    rows: Callable[[str], list[str]]


@contextmanager
def place_of(kind: str, directory: Path) -> Iterator[Place]:
    if kind == "sqlite":
        database = Sqlite(directory / "replica.db")
        yield Place(database.url, lambda sql: ["\t".join(map(str, row)) for row in database.query(sql)])
        return
    if reason := mysql.missing(kind):
        pytest.skip(reason)
    with mysql.server(kind, "--local-infile=ON") as running:
        running.client("-e", "CREATE DATABASE replicas CHARACTER SET utf8mb4")
        url = f"jdbc:{kind}://127.0.0.1:{running.port}/replicas?user=root"
        yield Place(url, lambda sql: running.client("-N", "-B", "replicas", sql=sql).splitlines())


@pytest.mark.parametrize("kind", ["sqlite", "mariadb", "mysql"])
def test_a_replica_in_another_database_is_equal_after_kills(kind: str, tmp_path: Path) -> None:
    print(f"\nEPOCHAL_KILL_SEED={SEED}")
    draw = random.Random(SEED)
    drivers = ":".join(str(jar) for jar in sorted((ROOT / "build" / "drivers").glob("m*-*.jar")))
    with server() as running, place_of(kind, tmp_path) as place:
        database = new_postgres(running.dsn, "shop")
        replica.create(database, ACCOUNTS)
        writer = Writer(database, draw, ACCOUNTS, pause=0.02)

        def has_arrived(key: int) -> bool:
            try:
                return place.rows(f"SELECT count(*) FROM accounts_replica WHERE id = {key}") == ["1"]
            except Exception as error:
                assert "accounts_replica" in str(error), error  # noqa: PT017 - the table is yet to be created
                return False

        def copy(jvm: str, until_done: Callable[[Program], object]) -> None:
            program = job(database, tmp_path, jvm, tables=["accounts"], target=place.url, drivers=drivers)
            try:
                until_done(program)
            finally:
                program.kill()

        def ends_at(step: str) -> Callable[[Program], object]:
            return lambda program: until(program.ended, f"the end at {step}", 180)

        def at_random(program: Program) -> None:
            until(lambda: runs(program) and "started" in program.output(), "the query", 180)
            time.sleep(draw.uniform(0, 8))
            runs(program)

        def arrive(*marks: int) -> Callable[[Program], object]:
            def all_arrive(program: Program) -> None:
                for key in marks:
                    replica.mark(database, key)
                    until(lambda key=key: runs(program) and has_arrived(key), "the last changes", 300)  # type: ignore[misc]

            return all_arrive

        try:
            # The first may be a row of the snapshot.
            copy("", arrive(LAST - 2, LAST - 1))
            writer.keeps_documents = True
            for kill in range(KILLS):
                if kill % 3 == 1:
                    copy("", at_random)
                else:
                    step = f"{draw.choice(STEPS)}=halt@{draw.randrange(1, 4)}"
                    copy(f"-Depochal.failpoints={step}", ends_at(step))
        finally:
            writer.stop()

        copy("", arrive(LAST))
        rows = ["\t".join(map(str, row)) for row in database.query(f"SELECT {COLUMNS} FROM accounts ORDER BY id")]
        copied = place.rows(f"SELECT {COLUMNS} FROM accounts_replica ORDER BY id")
        assert len(rows) > 100
        assert [row[:40] for row in copied if row not in set(rows)] == []
        assert copied == rows
        database.drop_slot(f"{database.schema}_accounts")
        print(f"{KILLS} kills, {writer.transactions} transactions, {len(rows)} rows equal")
