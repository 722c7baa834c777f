"""A driver that receives records over HTTP, killed with SIGKILL under the load of eight writers, and restarted.

``EPOCHAL_KILL_SEED`` sets the seed, ``EPOCHAL_INGEST_KILLS`` the number of kills.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from crash.ingesting import SEED, drivers, kill_count
from support.databases import Sqlite
from support.http_writers import Writer, await_listener, free_port
from support.waiting import until

KILLS = kill_count(3)
WRITERS = 8

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


@pytest.mark.slow
def test_acknowledged_records_are_stored_once_in_order_after_any_number_of_kills(
    tmp_path: Path,
) -> None:
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {KILLS} kills")
    database = Sqlite(tmp_path / "t.db")
    port = free_port()
    settings: dict[str, object] = {"port": port, "url": database.url, "checkpoint": str(tmp_path / "checkpoint")}
    begun = time.monotonic()
    with drivers("crash.ingest_http_job", settings) as following:
        writers = [Writer(n, port, size=draw.randrange(1, 9)) for n in range(WRITERS)]

        def acknowledged() -> int:
            return sum(writer.acknowledged for writer in writers)

        def delivered() -> int:
            return database.query("SELECT count(*) FROM t")[0][0] if "t" in database.tables() else 0

        for kill in range(1, KILLS + 1):
            before = acknowledged()
            job = next(following)
            goal = before + draw.randrange(1, 400)
            until(lambda goal=goal, job=job: acknowledged() >= goal or job.ended(), f"{goal} records")  # type: ignore[misc]
            job.assert_runs()
            if draw.random() < 0.6:
                rows = delivered() + draw.randrange(1, 400)
                until(lambda rows=rows, job=job: delivered() >= rows or job.ended(), f"{rows} rows")  # type: ignore[misc]
                job.assert_runs()
            time.sleep(draw.uniform(0, 0.5))
            job.kill()
            print(
                f"kill {kill} after {time.monotonic() - begun:.0f} s: {acknowledged() - before} records more were "
                f"acknowledged, {delivered()} rows",
                flush=True,
            )
        last = next(following)
        await_listener(port)
        for writer in writers:
            writer.stop()
        total = acknowledged()
        until(lambda: delivered() >= total or last.ended(), f"{total} rows")
        last.assert_runs()
        found = database.query("SELECT writer, seq FROM t ORDER BY rowid")
        repeated, duplicates = (sum(getattr(w, name) for w in writers) for name in ("repeated", "duplicates"))
        print(f"{total} records, {repeated} requests repeated, {duplicates} of them stored before")
    assert repeated > 0
    for n, writer in enumerate(writers):
        assert [seq for name, seq in found if name == n] == list(range(writer.acknowledged)), (
            f"writer {n} (seed {SEED})"
        )
