"""Replicas of tables that change all the time: the driver killed with SIGKILL at every step of a snapshot and of the
stream, and at random moments; the server killed, and stopped without a checkpoint. Afterwards the tables are equal.

``EPOCHAL_CRASH=full`` kills the driver 100 times and the server 20 times, ``make test`` the driver once, else both
twice. The tables are in turn those of ``crash.replica`` and those of pgbench.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Protocol

import pytest

from crash import pgbench, replica
from crash.pgbench import Pgbench
from crash.replica import Writer, job, runs
from support.databases import Postgres, new_postgres
from support.postgres import Server, server
from support.programs import Program
from support.seeds import FULL, SMALL_SUITE, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_CDC_KILLS") or (100 if FULL else 1 if SMALL_SUITE else 4))
#: Kills of one set of tables, from an empty replica on.
ROUND = 10 if FULL else 2
#: One kill in so many also ends the server.
SERVER_EVERY = 5 if FULL else 2
ACCOUNTS = 2000
#: Written when the writers have stopped.
LAST = 1_000_000
SEED = kill_seed()
#: Reached while the tables do not change.
IDLE = "capture.witness"
#: In the order in which a new query reaches them.
SNAPSHOT = (
    "capture.publication",
    "capture.slot",
    "offset.first",
    "capture.rows",
    "capture.range",
    "capture.snapshot",
)
STREAM = (
    "journal.written",
    "journal.synced",
    "capture.changes",
    IDLE,
    "capture.confirmed",
    "task.before-commit",
    "task.after-commit",
    "ledger.written",
    "commit.before",
    "commit.after",
    "journal.removed",
)

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600 + 60 * KILLS)]


class Tables(Protocol):
    """Tables with their replicas, which are changed until ``stop``."""

    keys: dict[str, str]
    is_paused: bool

    @property
    def transactions(self) -> int: ...

    def stop(self) -> None: ...

    def mark(self, key: int) -> None:
        """Writes rows into all tables that nothing else changes."""

    def has_arrived(self, key: int) -> bool:
        """Whether the replicas have these rows."""
        ...


class Accounts(Writer):
    """Those of ``crash.replica``."""

    def __init__(self, database: Postgres, seed: int) -> None:
        replica.create(database, ACCOUNTS)
        self.keys = dict.fromkeys(replica.TABLES, "id")
        super().__init__(database, random.Random(seed), ACCOUNTS, pause=0.02)

    def mark(self, key: int) -> None:
        replica.mark(self._database, key)

    def has_arrived(self, key: int) -> bool:
        return replica.has_arrived(self._database, key)


class Bench(Pgbench):
    """Those of pgbench."""

    keys = pgbench.KEYS

    def mark(self, key: int) -> None:
        self.write(key)

    def has_arrived(self, key: int) -> bool:
        return replica.have(self._database, dict.fromkeys(self.keys, f"aid = {key}"))


def test_replicas_are_equal_after_any_number_of_kills(tmp_path: Path) -> None:
    print(f"\nEPOCHAL_KILL_SEED={SEED}")
    draw = random.Random(SEED)
    moments: Counter[str] = Counter()
    rows = transactions = 0
    began = time.monotonic()
    with server() as running:
        for first in range(0, KILLS, ROUND):
            database = new_postgres(running.dsn, f"shop{first}")
            tables = Accounts(database, SEED + first) if first % (2 * ROUND) == 0 else Bench(running, database)
            steps: list[str] = list(STREAM)
            draw.shuffle(steps)
            for kill in range(first, min(first + ROUND, KILLS)):
                step = next_step(draw, kill - first, steps)
                with_server = kill % SERVER_EVERY == SERVER_EVERY - 1
                moments.update(kill_once(running, database, tables, tmp_path, draw, step, with_server=with_server))
            rows += settle(database, tables, tmp_path)
            transactions += tables.transactions
            print(f"{first + ROUND:4} {time.monotonic() - began:5.0f} s  {dict(moments)}", flush=True)
    seconds = time.monotonic() - began
    print(f"{KILLS} kills of the driver in {seconds:.0f} s, {transactions} transactions, {rows} rows equal")
    for moment, times in sorted(moments.items()):
        print(f"{times:4} {moment}")
    assert transactions > 100 * (KILLS / ROUND)


@pytest.mark.slow
def test_a_replica_is_equal_after_a_kill_at_each_step_of_snapshot_and_stream(tmp_path: Path) -> None:
    with server() as running:
        database = new_postgres(running.dsn, "shop")
        tables = Accounts(database, 1)
        for step in (*SNAPSHOT, *STREAM):
            tables.is_paused = step == IDLE
            program = start(database, tables, tmp_path, f"-Depochal.failpoints={step}=halt")
            try:
                until(program.ended, f"the end at {step}", 120)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{program.output()}") from None
            finally:
                program.kill()
            assert "ended" not in program.output(), program.output()
        settle(database, tables, tmp_path)


def next_step(draw: random.Random, kill: int, steps: list[str]) -> str:
    """A step for the kill of a round; empty for a random moment."""
    if kill == 0:
        return draw.choice(SNAPSHOT[:4])
    if kill == 1:
        return draw.choice(("capture.rows=halt@2", "capture.rows=halt@5", "capture.range=halt@3", SNAPSHOT[-1], ""))
    return f"{steps.pop()}=halt@{draw.randrange(1, 6)}" if steps and draw.random() < 0.6 else ""


def kill_once(
    running: Server,
    database: Postgres,
    tables: Tables,
    directory: Path,
    draw: random.Random,
    step: str,
    *,
    with_server: bool,
) -> list[str]:
    """One start of the job, and its death: by a failpoint, or at a random moment. Returns what was killed, and when."""
    spec = step if "=" in step or not step else f"{step}=halt"
    started = time.monotonic()
    program = start(database, tables, directory, f"-Depochal.failpoints={spec}" if spec else "")
    moments = []
    try:
        if with_server:
            until(lambda: program.ended() or "started" in program.output(), "the query", 180)
            time.sleep(draw.uniform(0, 2))
            if draw.random() < 0.5:
                running.kill()
                moments.append("server, SIGKILL")
            else:
                running.stop()
                moments.append("server, stopped at once")
            running.start()
        tables.is_paused = step.startswith(IDLE)
        if step:
            # A run may be too short for the fifth time.
            until(lambda: program.ended() or time.monotonic() - started > 45, f"the end at {step}", 180)
            name = spec.partition("=")[0]
            failed = "\nended" in program.output()
            assert with_server or not failed, program.output()
            reached = program.ended() and not failed
            return [*moments, f"driver, {name}" if reached else f"driver, random moment: {name} was not reached"]
        if not with_server:
            # From the start of the JVM on.
            while time.monotonic() - started < 4 and not program.ended():
                time.sleep(0.05)
            runs(program)
        time.sleep(draw.uniform(0, 8))
        return [*moments, f"driver, random moment {phase(database, tables)}"]
    finally:
        program.kill()
        tables.is_paused = False


def phase(database: Postgres, tables: Tables) -> str:
    """Of the queries: by the rows of the larger table."""
    table = next(iter(tables.keys))
    rows, copied = database.query(f"SELECT count(*) FROM {table} UNION ALL SELECT count(*) FROM {table}_replica")
    if copied[0] == 0:
        return "before the first row"
    return "in the snapshot" if copied[0] < 0.9 * rows[0] else "in the stream"


def start(database: Postgres, tables: Tables, directory: Path, jvm: str = "") -> Program:
    is_bench = isinstance(tables, Pgbench)
    place = directory / database.schema
    return job(database, place, jvm, rows=20_000 if is_bench else 2000, tables=[*tables.keys], keys=tables.keys)


def settle(database: Postgres, tables: Tables, directory: Path) -> int:
    """Stops the writers, waits for the last change, and compares; returns the number of rows."""
    tables.stop()
    program = start(database, tables, directory)
    try:
        # The first may be a row of the snapshot, and come before changes of the rows that it read earlier.
        for key in (LAST, LAST + 1):
            tables.mark(key)
            until(lambda key=key: runs(program) and tables.has_arrived(key), "the last changes", 600)  # type: ignore[misc]
    finally:
        program.kill()
    found = replica.compared(database, tables.keys)
    assert {table: differing for table, (_, _, differing) in found.items()} == dict.fromkeys(tables.keys, 0)
    assert all(copied for _, copied, _ in found.values())
    for table in tables.keys:
        database.drop_slot(f"{database.schema}_{table}")
    return sum(copied for _, copied, _ in found.values())
