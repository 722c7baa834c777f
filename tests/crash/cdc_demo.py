"""``make demo-cdc``: PostgreSQL tables that change all the time, and replicas of them by ``epochal.replicate``.

The driver is killed with SIGKILL in the snapshot and in the stream, the server once. Then the tables are compared.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crash import replica
from crash.replica import Writer, job, runs
from support.databases import Postgres, new_postgres
from support.places import prepare_environment
from support.postgres import Server, server
from support.programs import Program
from support.waiting import until

#: 32 MB. The journal holds one at a time: the snapshot takes as long as its rows need into the replica.
ACCOUNTS = 10_000
JOURNAL = "1m"


@contextmanager
def driver(database: Postgres, directory: Path) -> Iterator[Program]:
    """Kills it with SIGKILL at the end of the block."""
    program = job(
        database, directory, rows=10_000, max_journal_bytes=JOURNAL, target=database.url, together=True, cuts=True
    )
    try:
        yield program
    finally:
        program.kill()


def copied(database: Postgres) -> int:
    """Accounts in the replica."""
    count: int = database.query("SELECT count(*) FROM accounts_replica")[0][0]
    return count


def follow(database: Postgres, program: Program, mark: int) -> None:
    """Waits until a change that is written now has arrived, and all before it."""
    replica.mark(database, mark)
    until(lambda: runs(program) and replica.has_arrived(database, mark), "the newest change")


def play(running: Server, database: Postgres, directory: Path) -> None:
    """Everything up to the comparison."""
    replica.create(database, ACCOUNTS)
    writers = [Writer(database, random.Random(seed), ACCOUNTS, pause=0.02) for seed in (1, 2)]
    say(f"{ACCOUNTS:,} accounts and their history, changed by {len(writers)} writers over the whole demo.")
    with driver(database, directory) as program:
        until(lambda: runs(program) and copied(database), "the first rows")
    first = copied(database)
    assert first < ACCOUNTS / 2
    say(f"Driver 1: killed in the snapshot, with {first:,} accounts in the replica.")
    with driver(database, directory) as program:
        follow(database, program, 1_000_001)  # the rest of the snapshot
        follow(database, program, 1_000_002)
    say(f"Driver 2: killed in the stream, after {written(writers):,} transactions.")
    with driver(database, directory) as program:
        follow(database, program, 1_000_003)
        running.stop()
        say(f"Driver 3: the server was killed after {written(writers):,} transactions, and is started again.")
        running.start()
        replica.mark(database, 1_000_004)
        until(lambda: program.ended() or replica.has_arrived(database, 1_000_004), "the newest change")
        ended = program.ended()
    say("Driver 3: ended by the lost connection." if ended else "Driver 3: has connected again and follows.")
    with driver(database, directory) as program:
        for writer in writers:
            writer.stop()
        follow(database, program, 1_000_005)
    say(f"Driver 4: has all changes of {written(writers):,} transactions.")


def written(writers: list[Writer]) -> int:
    return sum(writer.transactions for writer in writers)


def say(text: str) -> None:
    print(text, flush=True)


def verdict(database: Postgres) -> bool:
    """Compares the tables row for row and prints the result."""
    found = replica.compared(database)
    for table, (rows, copies, differing) in found.items():
        say(f"{table}: {rows:,} rows, {copies:,} in the replica, {differing:,} of them different")
    is_equal = all(differing == 0 for _, _, differing in found.values())
    say("equal" if is_equal else "NOT equal")
    return is_equal


def main() -> int:
    prepare_environment()
    with (
        tempfile.TemporaryDirectory(prefix="epochal-demo-", ignore_cleanup_errors=True) as directory,
        server() as running,
    ):
        os.environ["SPARK_LOCAL_DIRS"] = directory  # killed drivers leave files there
        database = new_postgres(running.dsn, "shop")
        play(running, database, Path(directory))
        return 0 if verdict(database) else 1


if __name__ == "__main__":
    sys.exit(main())
