"""Lines over TCP into a table, from eight writers that retry until they are acknowledged; the driver is killed with
SIGKILL at random moments: a hundred times with ``EPOCHAL_CRASH=full``, else three times.
``EPOCHAL_INGEST_KILLS`` overrides the number, ``EPOCHAL_KILL_SEED`` sets the seed.

With plain TCP an unacknowledged line is sent again and may be there twice; every other line is there once.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from crash.ingesting import assert_stored, drivers, kill_at_random, wait_for_all_lines
from support.databases import Sqlite
from support.seeds import FULL, kill_seed
from support.writers import Writer, free_port

KILLS = int(os.environ.get("EPOCHAL_INGEST_KILLS") or (100 if FULL else 3))
WRITERS = 8
SEED = kill_seed()
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


@pytest.mark.slow
def test_every_acknowledged_line_is_stored_after_any_number_of_kills(sqlite: Sqlite, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    port = free_port()
    sqlite.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT)")
    writers = [Writer(name, port) for name in range(WRITERS)]
    for writer in writers:
        writer.start()
    settings = {"port": port, "url": sqlite.url, "checkpoint": str(tmp_path / "checkpoint")}
    with drivers("crash.ingest_job", settings) as following:
        job = kill_at_random(following, writers, KILLS, draw, longest=1.0)
        for writer in writers:
            writer.finish()
        wait_for_all_lines(job, sqlite, writers)
    resent = assert_stored(sqlite, writers, SEED)
    acknowledged = sum(writer.acknowledged for writer in writers)
    print(
        f"\nseed {SEED}: {KILLS} kills, {acknowledged} lines acknowledged; of those sent again {resent} are there twice"
    )
