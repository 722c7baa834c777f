"""Drivers of ``epochal-ingest`` to be killed, under writers of lines. The next driver starts its session while the
current one runs."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from support.databases import Sqlite
from support.programs import Program
from support.seeds import FULL, kill_seed
from support.waiting import until
from support.writers import Writer, free_port

SEED = kill_seed()


def kill_count(default: int) -> int:
    return int(os.environ.get("EPOCHAL_INGEST_KILLS") or (100 if FULL else default))


class Driver(Program):
    """A job that prints ``ready`` and waits for ``go``."""

    def __init__(self, module: str, settings: Mapping[str, object]) -> None:
        super().__init__(module)
        self.send(json.dumps(settings))

    def go(self) -> None:
        def ready() -> bool:
            self.assert_runs()
            return b"ready\n" in self.all_output()

        until(ready, "the job's session")
        self.send("go")


@contextmanager
def drivers(module: str, settings: Mapping[str, object]) -> Iterator[Iterator[Driver]]:
    """Yields started drivers. The caller must kill each before it takes the next."""
    with ExitStack() as stack:

        def start() -> Driver:
            driver = Driver(module, settings)
            stack.callback(driver.kill)
            return driver

        def one_by_one() -> Iterator[Driver]:
            following = start()
            while True:
                present, following = following, start()
                present.go()
                yield present

        yield one_by_one()


def kill_at_random(
    following: Iterator[Driver], writers: Sequence[Writer], kills: int, draw: random.Random, longest: float
) -> Driver:
    """Kills drivers, each up to ``longest`` seconds after it has acknowledged lines of every writer.

    Returns the driver after them, which runs.
    """
    begun = time.monotonic()
    for kill in range(1, kills + 1):
        before = [writer.acknowledged for writer in writers]
        job = next(following)

        def all_went_on(job: Driver = job, before: list[int] = before) -> bool:
            job.assert_runs()
            return all(writer.acknowledged > was for writer, was in zip(writers, before, strict=True))

        until(all_went_on, "an acknowledgement for each writer")
        time.sleep(draw.uniform(0, longest))
        job.assert_runs()
        job.kill()
        acknowledged = sum(writer.acknowledged for writer in writers)
        print(f"kill {kill} after {time.monotonic() - begun:.0f} s: {acknowledged} lines acknowledged", flush=True)
    return next(following)


def store_under_kills(
    database: Sqlite, settings: Mapping[str, object], *, writers: int, kills: int, longest: float
) -> set[str]:
    """Writers send lines to drivers that are killed at random; asserts that every acknowledged line is stored.

    Args:
        settings: the checkpoint, and further settings of ``crash.ingest_job``.
        writers: their number.

    Returns:
        The runs that the acknowledgements name.
    """
    port = free_port()
    create_lines(database)
    clients = [Writer(name, port) for name in range(writers)]
    with drivers("crash.ingest_job", {"port": port, "url": database.url, **settings}) as following:
        for client in clients:
            client.start()
        job = kill_at_random(following, clients, kills, random.Random(SEED), longest)
        for client in clients:
            client.finish()
        wait_for_all_lines(job, database, clients)
    doubled = assert_stored(database, clients, SEED)
    acknowledged = sum(client.acknowledged for client in clients)
    print(f"\nseed {SEED}: {kills} kills, {acknowledged} lines acknowledged; {doubled} are there twice")
    return {run for client in clients for run in client.runs}


def create_lines(database: Sqlite) -> None:
    database.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT)")


def lines(database: Sqlite) -> list[tuple[int, int]]:
    """Writer and number, in the order in which they were inserted."""
    rows = database.query("SELECT value FROM lines ORDER BY id")
    return [(int(writer), int(number)) for writer, number in (value.split(",") for (value,) in rows)]


def wait_for_all_lines(job: Driver, database: Sqlite, writers: Sequence[Writer]) -> None:
    def all_there() -> bool:
        job.assert_runs()
        return len(set(lines(database))) == sum(writer.sent for writer in writers)

    until(all_there, "all acknowledged lines in the table")


def assert_stored(database: Sqlite, writers: Sequence[Writer], seed: int) -> int:
    """Every acknowledged line is there, in each writer's order, and only lines that were sent again are there twice.

    Returns the number of lines that are there twice.
    """
    arrived = lines(database)
    times = Counter(arrived)
    doubled = 0
    for writer in writers:
        assert all(times[writer.name, n] >= 1 for n in range(writer.acknowledged)), f"lost (seed {seed})"
        again = [n for n in range(writer.sent) if times[writer.name, n] > 1]
        assert set(again) <= writer.resent, f"doubled (seed {seed})"
        doubled += len(again)
        first = list(dict.fromkeys(n for name, n in arrived if name == writer.name))
        assert first == sorted(first), f"the order of writer {writer.name} is lost (seed {seed})"
    return doubled
