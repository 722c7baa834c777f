"""Replicas of tables that change all the time: the driver killed with SIGKILL at random moments and at the steps of a
commit, and the server restarted as after a power failure. Afterwards the tables are equal.

``EPOCHAL_CRASH=full`` kills a hundred times, ``make test`` once, else twice.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from crash import replica
from crash.replica import Writer, job, runs
from support.databases import Postgres, new_postgres
from support.postgres import Server, server
from support.seeds import FULL, SMALL_SUITE, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_CDC_KILLS") or (100 if FULL else 1 if SMALL_SUITE else 2))
#: One kill in so many also ends the server.
SERVER_EVERY = 5
ACCOUNTS = 2000
#: Written when the writers have stopped.
LAST = 1_000_000
SEED = kill_seed()
STEPS = ("ledger.written", "commit.before", "commit.after", "task.after-commit")

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


def test_a_replica_is_equal_after_any_number_of_kills(tmp_path: Path) -> None:
    with server() as running:
        database = new_postgres(running.dsn, "shop")
        replica.create(database, ACCOUNTS)
        draw = random.Random(SEED)
        writer = Writer(database, random.Random(SEED + 1), ACCOUNTS)
        print(f"\nEPOCHAL_KILL_SEED={SEED}")
        for kill in range(KILLS):
            kill_once(running, database, tmp_path, draw, with_server=kill % SERVER_EVERY == SERVER_EVERY - 1)
        writer.stop()
        assert writer.transactions > 100
        replica.mark(database, LAST)
        program = job(database, tmp_path)
        try:
            until(lambda: runs(program) and replica.has_arrived(database, LAST), "the last changes", 180)
        finally:
            program.kill()
        found = replica.compared(database)
        assert {table: differing for table, (_, _, differing) in found.items()} == dict.fromkeys(replica.TABLES, 0)
        assert found["accounts"][1] > ACCOUNTS / 2


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
