"""Lines over TCP into a table, from eight writers that retry until they are acknowledged; the driver is killed with
SIGKILL at random moments: a hundred times with ``EPOCHAL_CRASH=full``, else three times.
``EPOCHAL_INGEST_KILLS`` overrides the number, ``EPOCHAL_KILL_SEED`` sets the seed.

With plain TCP an unacknowledged line is sent again and may be there twice; every other line is there once.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from crash.ingesting import Driver, drivers
from support.databases import Sqlite
from support.seeds import FULL, kill_seed
from support.waiting import until
from support.writers import Writer, free_port

KILLS = int(os.environ.get("EPOCHAL_INGEST_KILLS") or (100 if FULL else 3))
WRITERS = 8
SEED = kill_seed()
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


def lines(database: Sqlite) -> list[tuple[int, int]]:
    """Writer and number, in the order in which they were inserted."""
    found = database.query("SELECT value FROM lines ORDER BY id")
    return [(int(writer), int(number)) for writer, number in (value.split(",") for (value,) in found)]


@pytest.mark.slow
def test_every_acknowledged_line_is_stored_after_any_number_of_kills(sqlite: Sqlite, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    port = free_port()
    sqlite.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT)")
    writers = [Writer(name, port) for name in range(WRITERS)]
    for writer in writers:
        writer.start()
    settings = {"port": port, "url": sqlite.url, "checkpoint": str(tmp_path / "checkpoint")}
    begun = time.monotonic()
    with drivers("crash.ingest_job", settings) as following:
        for kill in range(1, KILLS + 1):
            before = [writer.acknowledged for writer in writers]
            job = next(following)

            def all_went_on(job: Driver = job, before: list[int] = before) -> bool:
                job.assert_runs()
                return all(writer.acknowledged > was for writer, was in zip(writers, before, strict=True))

            until(all_went_on, "an acknowledgement for each writer")
            time.sleep(draw.uniform(0, 1.0))
            job.assert_runs()
            job.kill()
            acknowledged = sum(writer.acknowledged for writer in writers)
            print(f"kill {kill} after {time.monotonic() - begun:.0f} s: {acknowledged} lines acknowledged", flush=True)
        job = next(following)
        for writer in writers:
            writer.finish()

        def all_there() -> bool:
            job.assert_runs()
            return len(set(lines(sqlite))) == sum(writer.sent for writer in writers)

        until(all_there, "all acknowledged lines in the table")
    arrived = lines(sqlite)
    times = Counter(arrived)
    resent = 0
    for writer in writers:
        assert all(times[writer.name, n] >= 1 for n in range(writer.acknowledged)), f"lost (seed {SEED})"
        again = [n for n in range(writer.sent) if times[writer.name, n] > 1]
        assert set(again) <= writer.resent, f"doubled (seed {SEED})"
        resent += len(again)
        first = list(dict.fromkeys(n for name, n in arrived if name == writer.name))
        assert first == sorted(first), f"the order of writer {writer.name} is lost (seed {SEED})"
    acknowledged = sum(writer.acknowledged for writer in writers)
    print(
        f"\nseed {SEED}: {KILLS} kills, {acknowledged} lines acknowledged; of those sent again {resent} are there twice"
    )
