"""Replicas in other databases of a PostgreSQL table, or of several by one query, that change all the time; the driver
is killed with SIGKILL at steps of the sink and at random moments, and the source's server now and then. Afterwards the
rows are equal. Several are reloaded and compared again and again meanwhile, and their columns are altered, or rows of
the replicas are damaged and repaired: a reader sees only states that the source had, and no comparison finds another
difference.

``EPOCHAL_CRASH=full`` kills it 20 times for each database, otherwise twice; ``EPOCHAL_CDC_KILLS`` sets the number.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from crash import replica
from crash.replica import Writer, job, runs
from support import mysql
from support.databases import Postgres, Sqlite, new_postgres
from support.places import ROOT
from support.postgres import server
from support.programs import Program
from support.seeds import FULL, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_CDC_KILLS") or (20 if FULL else 2))
#: One kill in so many also ends the server.
SERVER_EVERY = 5
ACCOUNTS = 500
#: Written when the writer has stopped.
LAST = 1_000_000
SEED = kill_seed()
#: Of reloads and comparisons, which are requested all the time.
RELOADS = ("reload.requested", "reload.copied", "reload.complete", "capture.changes", "reload.stored")
STEPS = ("task.after-commit", "rows.loaded", "ledger.written", "commit.before", "commit.after", "journal.removed")
COLUMNS = {"accounts": "id, balance, document", "history": "id, account, delta"}
#: Two tables between which amounts are moved, so that their sum stays.
MOVED = {"here": "id INT PRIMARY KEY, amount INT NOT NULL", "there": "id INT PRIMARY KEY, amount INT NOT NULL"}
FOUND = "SELECT found FROM epochal_ledger_verification"
SUM = "SELECT (SELECT sum(amount) FROM here_replica) + (SELECT sum(amount) FROM there_replica)"

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900 + 60 * KILLS)]


@dataclass
class Place:
    """A database for the replica.

    Args:
        rows: those of a query, each as its values in a line, with tabs between them.
        execute: runs a statement.
    """

    url: str
    rows: Callable[[str], list[str]]
    execute: Callable[[str], object]


class Thread(threading.Thread):
    """Repeats a function until it is stopped, also while the server is away.

    Attributes:
        failure: the error that has ended it.
    """

    def __init__(self, step: Callable[[], object], pause: float) -> None:
        super().__init__(daemon=True)
        self._step, self._pause, self._stopped = step, pause, threading.Event()
        self.failure: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            while not self._stopped.wait(self._pause):
                with suppress(psycopg.OperationalError):
                    self._step()
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        self._stopped.set()
        self.join(60)
        if self.failure is not None:
            raise self.failure


def move(database: Postgres, draw: random.Random) -> None:
    """Moves amounts of some rows, in one transaction."""
    first, amount = draw.randrange(200), draw.randrange(1, 9)
    keys = f"WHERE id BETWEEN {first} AND {first + draw.choice([1, 100])}"
    database.execute(
        f"UPDATE here SET amount = amount - {amount} {keys}", f"UPDATE there SET amount = amount + {amount} {keys}"
    )


class Columns:
    """Adds, retypes and drops columns of tables, which have values in all rows."""

    def __init__(self, database: Postgres, draw: random.Random, tables: list[str]) -> None:
        self._database, self._draw = database, draw
        self.of: dict[str, list[str]] = {table: [] for table in tables}
        self.count = 0

    def alter(self) -> None:
        table = self._draw.choice(list(self.of))
        columns = self.of[table]
        self.count += 1
        kind = self._draw.randrange(4) if columns else 0
        # Until it is reloaded, a table with another type is of an earlier moment than the others.
        if kind == 1 and table not in MOVED:
            change = f"ALTER COLUMN {self._draw.choice(columns)} TYPE BIGINT"
        elif kind == 2:
            change = f"DROP COLUMN {columns.pop(self._draw.randrange(len(columns)))}"
        else:
            columns.append(f"c{self.count}")
            change = f"ADD COLUMN c{self.count} INT NOT NULL DEFAULT {self.count}"
        self._database.execute(f"ALTER TABLE {table} {change}")


def request(database: Postgres, draw: random.Random, tables: list[str], kinds: list[str]) -> None:
    """Requests a reload or a comparison of a table."""
    table = f"{database.schema}.{draw.choice(tables)}"
    database.execute(f"SELECT pg_logical_emit_message(true, 'epochal', '{draw.choice(kinds)} {table}')")


def damage(place: Place, draw: random.Random) -> None:
    """Changes rows of a replica, and adds one."""
    key = draw.randrange(ACCOUNTS)
    with suppress(sqlite3.OperationalError):
        place.execute(f"UPDATE accounts_replica SET balance = balance + 1 WHERE id BETWEEN {key} AND {key + 50}")
        place.execute(
            f"INSERT INTO accounts_replica (id, balance, document) VALUES ({LAST + draw.randrange(LAST)}, 0, '')"
        )


@contextmanager
def place_of(kind: str, directory: Path, source: Postgres) -> Iterator[Place]:
    if kind == "postgres":
        yield Place(source.url, lambda sql: ["\t".join(map(str, row)) for row in source.query(sql)], source.execute)
        return
    if kind == "sqlite":
        database = Sqlite(directory / "replica.db")
        rows = lambda sql: ["\t".join(map(str, row)) for row in database.query(sql)]  # noqa: E731
        yield Place(database.url, rows, database.execute)
        return
    if reason := mysql.missing(kind):
        pytest.skip(reason)
    with mysql.server(kind, "--local-infile=ON") as running:
        running.client("-e", "CREATE DATABASE replicas CHARACTER SET utf8mb4")
        url = f"jdbc:{kind}://127.0.0.1:{running.port}/replicas?user=root"
        client = lambda sql: running.client("-N", "-B", "replicas", sql=sql).splitlines()  # noqa: E731
        yield Place(url, client, client)


@pytest.mark.parametrize("kind", ["sqlite", "mariadb", "mysql"])
def test_a_replica_in_another_database_is_equal_after_kills(kind: str, tmp_path: Path) -> None:
    copy_with_kills(kind, ["accounts"], tmp_path)


@pytest.mark.parametrize("kind", ["postgres", "sqlite", "mariadb", "mysql"])
def test_replicas_by_one_query_are_equal_after_kills(kind: str, tmp_path: Path) -> None:
    copy_with_kills(kind, ["accounts", "history", "here", "there"], tmp_path)


@pytest.mark.parametrize("kind", ["postgres", "sqlite", "mariadb", "mysql"])
def test_replicas_that_follow_their_tables_are_equal_after_kills(kind: str, tmp_path: Path) -> None:
    copy_with_kills(kind, ["accounts", "history", "here", "there"], tmp_path, alters=True)


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_replicas_that_are_loaded_in_chunks_are_equal_after_kills(kind: str, tmp_path: Path) -> None:
    copy_with_kills(kind, ["accounts", "history", "here", "there"], tmp_path, snapshot="chunks")


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_replicas_that_are_damaged_and_repaired_are_equal_after_kills(kind: str, tmp_path: Path) -> None:
    copy_with_kills(kind, ["accounts", "history", "here", "there"], tmp_path, repairs=True)


def copy_with_kills(
    kind: str,
    tables: list[str],
    directory: Path,
    *,
    alters: bool = False,
    repairs: bool = False,
    snapshot: str = "whole",
) -> None:
    print(f"\nEPOCHAL_KILL_SEED={SEED}")
    draw = random.Random(SEED)
    drivers = ":".join(str(jar) for jar in sorted((ROOT / "build" / "drivers").glob("m*-*.jar")))
    together = len(tables) > 1
    with ExitStack() as stack:
        running = stack.enter_context(server())
        database = new_postgres(running.dsn, "shop")
        place = stack.enter_context(place_of(kind, directory, database))
        replica.create(database, ACCOUNTS)
        for table, columns in MOVED.items():
            database.execute(
                f"CREATE TABLE {table} ({columns})", f"INSERT INTO {table} SELECT i, 100 FROM generate_series(1, 300) i"
            )
        mover = Thread(lambda: move(database, draw), 0.03)
        # Reloads would correct the rows, too.
        kinds = ["verify"] if repairs else ["reload", "verify"]
        requests = Thread(lambda: request(database, draw, tables, kinds) if together else None, 2)
        damages: Thread | None = None
        columns_of = Columns(database, draw, tables)
        ddl: Thread | None = None
        seen: set[str] = set()
        found: set[str] = set()
        writer = Writer(database, draw, ACCOUNTS, pause=0.02)

        def has_arrived(key: int) -> bool:
            try:
                return place.rows(f"SELECT count(*) FROM accounts_replica WHERE id = {key}") == ["1"]
            except Exception as error:
                assert "accounts_replica" in str(error), error  # noqa: PT017 - the table is yet to be created
                return False

        def results(sql: str) -> list[str]:
            try:
                return place.rows(sql)
            except Exception as error:
                assert "epochal_ledger_verification" in str(error), error  # noqa: PT017 - it is yet to be created
                return []

        def read() -> None:
            seen.update(place.rows(SUM))
            found.update(results(FOUND))

        def copy(jvm: str, until_done: Callable[[Program], object]) -> None:
            how: dict[str, Any] = {
                "target": place.url,
                "drivers": drivers,
                "together": together,
                "snapshot": snapshot,
                "chunk_rows": 40 if snapshot == "chunks" else 400,
                "repairs": repairs,
            }
            program = job(database, directory, jvm, tables=tables, **how)
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

        def with_server(program: Program) -> None:
            until(lambda: runs(program) and "started" in program.output(), "the query", 180)
            time.sleep(draw.uniform(0, 4))
            draw.choice([running.kill, running.stop])()
            running.start()
            # The query may end, since its target was away, too.
            time.sleep(draw.uniform(0, 8))

        def arrive(*marks: int) -> Callable[[Program], object]:
            def all_arrive(program: Program) -> None:
                for key in marks:
                    replica.mark(database, key)
                    until(lambda key=key: runs(program) and has_arrived(key), "the last changes", 300)  # type: ignore[misc]

            return all_arrive

        try:
            # The first may be a row of the snapshot. Chunks are loaded while the driver is killed.
            if snapshot == "whole":
                copy("", arrive(LAST - 2, LAST - 1))
            writer.keeps_documents = True
            reader = Thread(lambda: read() if together and snapshot == "whole" else None, 0.05)
            ddl = Thread(columns_of.alter, 3) if alters else None
            damages = Thread(lambda: damage(place, draw), 1) if repairs else None
            for kill in range(KILLS):
                if kill % SERVER_EVERY == SERVER_EVERY - 1 and not alters:
                    copy("", with_server)
                elif kill % 3 == 1:
                    copy("", at_random)
                else:
                    steps = STEPS + RELOADS if together else STEPS
                    step = draw.choice(steps)
                    # A run removes the segments of earlier runs at once, and its own after 64 MB each.
                    step += f"=halt@{1 if step == 'journal.removed' else draw.randrange(1, 4)}"
                    copy(f"-Depochal.failpoints={step}", ends_at(step))
        finally:
            writer.stop()
            mover.stop()
            requests.stop()
            for thread in filter(None, (ddl, damages)):
                thread.stop()

        def arrive_and_compare(program: Program) -> None:
            arrive(LAST)(program)
            if together:
                verify = f"SELECT pg_logical_emit_message(true, 'epochal', 'verify slot {database.schema}')"
                equal = f"{FOUND} WHERE found LIKE '%equal, 0 different, 0 missing, 0 extra' AND until_key IS NULL"

                def are_equal() -> bool:
                    # What a comparison has corrected is equal at the next one.
                    database.execute(verify)
                    time.sleep(3)
                    return runs(program) and len(results(equal)) == len(tables)

                until(are_equal, "the comparisons", 180)

        copy("", arrive_and_compare)
        reader.stop()
        for table in tables:
            columns = ", ".join([COLUMNS.get(table, "id, amount"), *columns_of.of[table]])
            rows = ["\t".join(map(str, row)) for row in database.query(f"SELECT {columns} FROM {table} ORDER BY id")]
            copied = place.rows(f"SELECT {columns} FROM {table}_replica ORDER BY id")
            assert len(rows) > 100
            assert [row[:40] for row in copied if row not in set(rows)] == []
            assert copied == rows
            print(f"{KILLS} kills, {writer.transactions} transactions, {len(rows)} rows of {table} equal")
        assert seen == ({"60000"} if together and snapshot == "whole" else set())
        compared = {text for text in found if not text.startswith("not compared: ")}
        differing = [text for text in compared if ", 0 different, 0 missing, 0 extra" not in text]
        assert [text for text in differing if not (repairs and ", corrected" in text)] == []
        assert bool(differing) == repairs
        print(f"{len(compared)} results of comparisons: equal; {columns_of.count} changes of columns")
        database.drop_slot(database.schema if together else f"{database.schema}_accounts")
