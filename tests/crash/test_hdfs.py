"""The checkpoint on HDFS, which creates no files conditionally: lines over TCP, and kills.

A hundred kills with ``EPOCHAL_CRASH=full``, else two; ``EPOCHAL_INGEST_KILLS`` overrides the number.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from crash.ingesting import assert_stored, drivers, kill_at_random, wait_for_all_lines
from support.databases import Sqlite
from support.hdfs import hdfs
from support.seeds import FULL, kill_seed
from support.writers import Writer, free_port

KILLS = int(os.environ.get("EPOCHAL_INGEST_KILLS") or (100 if FULL else 2))
WRITERS = 4
SEED = kill_seed()
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 90 * KILLS)]


@pytest.mark.slow
def test_every_acknowledged_line_is_stored_after_kills_with_the_checkpoint_on_hdfs(
    sqlite: Sqlite, tmp_path: Path
) -> None:
    draw = random.Random(SEED)
    port = free_port()
    sqlite.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT)")
    with hdfs(tmp_path / "hdfs") as address:
        settings = {"port": port, "url": sqlite.url, "checkpoint": f"{address}/checkpoint", "run": True}
        with drivers("crash.ingest_job", settings) as following:
            writers = [Writer(name, port) for name in range(WRITERS)]
            for writer in writers:
                writer.start()
            job = kill_at_random(following, writers, KILLS, draw, longest=4.0)
            for writer in writers:
                writer.finish()
            wait_for_all_lines(job, sqlite, writers)
    again = assert_stored(sqlite, writers, SEED)
    acknowledged = sum(writer.acknowledged for writer in writers)
    print(f"\nseed {SEED}: {KILLS} kills, {acknowledged} lines acknowledged; {again} are there twice")
