"""A replica of a table that changes all the time: the driver killed with SIGKILL at random moments and at the steps of
a commit, and the server restarted as after a power failure. Afterwards both tables are equal.

``EPOCHAL_CRASH=full`` kills a hundred times, ``make test`` once, else twice.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.databases import Postgres, new_postgres
from support.postgres import Server, server
from support.programs import Program
from support.seeds import FULL, SMALL_SUITE, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_CDC_KILLS") or (100 if FULL else 1 if SMALL_SUITE else 2))
#: One kill in so many also ends the server.
SERVER_EVERY = 5
ROWS = 2000
SEED = kill_seed()
STEPS = ("ledger.written", "commit.before", "commit.after", "task.after-commit")
LARGE = "(SELECT string_agg(md5(j::text || random()::text), '') FROM generate_series(1, 200) j)"

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


class Writer:
    """Changes ``orders`` in a thread: transactions of several statements, some rolled back."""

    def __init__(self, database: Postgres, draw: random.Random) -> None:
        self._database, self._draw = database, draw
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.transactions = 0
        self._thread.start()

    def _statement(self, connection: psycopg.Connection[Any]) -> None:
        key = self._draw.randrange(2 * ROWS)
        match self._draw.randrange(6):
            case 0:
                connection.execute(f"INSERT INTO orders VALUES (%s, 'new', {LARGE}) ON CONFLICT DO NOTHING", (key,))
            case 1:
                connection.execute("DELETE FROM orders WHERE id = %s", (key,))
            case 2:
                connection.execute(f"UPDATE orders SET document = {LARGE} WHERE id = %s", (key,))
            case 3:
                connection.execute("UPDATE orders SET note = note || '.' WHERE id BETWEEN %s AND %s", (key, key + 20))
            case _:
                connection.execute("UPDATE orders SET note = %s WHERE id = %s", (str(self._draw.random()), key))

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._database.connect() as connection:
                    while not self._stopped.is_set():
                        with connection.transaction(force_rollback=self._draw.random() < 0.1):
                            for _ in range(self._draw.randrange(1, 5)):
                                self._statement(connection)
                        self.transactions += 1
                        time.sleep(0.005)
            except psycopg.OperationalError:
                time.sleep(0.2)  # the server is being restarted

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(60)


def job(database: Postgres, directory: Path, jvm: str = "") -> Program:
    made = Program("crash.cdc_job")
    made.send(
        json.dumps(
            {
                "url": database.url,
                "user": database.user,
                "table": f"{database.schema}.orders",
                "slot": database.schema,
                "replica": "replica",
                "checkpoint": str(directory / "checkpoint"),
                "jvm": jvm,
            }
        )
    )
    return made


def runs(program: Program) -> bool:
    program.assert_runs()
    return True


def differences(database: Postgres) -> list[Any]:
    """Rows of one of the two tables only, by their first column."""
    both = "SELECT id, note, document FROM {}"
    one, other = both.format("orders"), both.format("replica")
    return database.query(
        f"SELECT id FROM (({one} EXCEPT {other}) UNION ALL ({other} EXCEPT {one})) d ORDER BY id LIMIT 10"
    )


def test_a_replica_is_equal_after_any_number_of_kills(tmp_path: Path) -> None:
    with server() as running:
        database = new_postgres(running.dsn, "shop")
        columns = "id INT PRIMARY KEY, note TEXT, document TEXT NOT NULL"
        database.execute(
            f"CREATE TABLE orders ({columns})",
            f"CREATE TABLE replica ({columns})",
            f"INSERT INTO orders SELECT i, 'note ' || i, {LARGE} FROM generate_series(1, {ROWS}) i",
        )
        draw = random.Random(SEED)
        writer = Writer(database, random.Random(SEED + 1))
        print(f"\nEPOCHAL_KILL_SEED={SEED}")
        for kill in range(KILLS):
            kill_once(running, database, tmp_path, draw, with_server=kill % SERVER_EVERY == SERVER_EVERY - 1)
        writer.stop()
        assert writer.transactions > 100
        program = job(database, tmp_path)
        try:
            until(lambda: runs(program) and not differences(database), "equal tables", 180)
        finally:
            program.kill()
        assert database.query("SELECT count(*) FROM replica")[0][0] > ROWS / 2


def kill_once(running: Server, database: Postgres, directory: Path, draw: random.Random, *, with_server: bool) -> None:
    """One start of the job, and its death: by a failpoint, or at a random moment."""
    step = draw.choice(STEPS) if draw.random() < 0.4 else ""
    program = job(database, directory, f"-Depochal.failpoints={step}=halt@{draw.randrange(1, 6)}" if step else "")
    try:
        if step:
            try:
                until(program.ended, f"the end at {step}", 180)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{program.output()}") from None
        else:
            until(lambda: runs(program) and "started" in program.output(), "the query", 180)
            time.sleep(draw.uniform(0, 4))
            runs(program)
            if with_server:
                running.stop()
                running.start()
                time.sleep(draw.uniform(0, 3))
    finally:
        program.kill()
