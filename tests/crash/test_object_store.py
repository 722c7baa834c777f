"""The checkpoint on S3: lines over TCP that are acknowledged in one request, and kills. The server has its own port.
Acknowledgements name the run: another listener on the clients' port would be noticed.

A hundred kills with ``EPOCHAL_CRASH=full``, else two; ``EPOCHAL_INGEST_KILLS`` overrides the number.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter

import pytest

from crash.ingesting import Driver, drivers
from support.databases import Sqlite
from support.s3 import S3, s3
from support.seeds import FULL, kill_seed
from support.waiting import until
from support.writers import Writer, free_port

KILLS = int(os.environ.get("EPOCHAL_INGEST_KILLS") or (100 if FULL else 2))
WRITERS = 4
SEED = kill_seed()
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 90 * KILLS)]


def settings(server: S3, sqlite: Sqlite, port: int) -> dict[str, object]:
    sqlite.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT)")
    conf = server.settings
    return {"port": port, "url": sqlite.url, "checkpoint": "s3a://epochal/checkpoint", "conf": conf, "run": True}


def lines(sqlite: Sqlite) -> list[tuple[int, int]]:
    """Writer and number, in the order in which they were inserted."""
    found = sqlite.query("SELECT value FROM lines ORDER BY id")
    return [(int(writer), int(number)) for writer, number in (value.split(",") for (value,) in found)]


def test_acknowledgements_on_s3_are_one_request_each_and_old_files_are_removed(sqlite: Sqlite) -> None:
    port = free_port()
    with s3(delay_ms=20) as server, drivers("crash.ingest_job", settings(server, sqlite, port)) as following:
        job = next(following)
        writer = Writer(0, port, burst=1)
        writer.start()

        def has(count: int) -> bool:
            job.assert_runs()
            return writer.acknowledged >= count

        until(lambda: has(5), "acknowledgements")
        server.requests()
        before = writer.acknowledged
        until(lambda: has(before + 100), "a hundred acknowledgements")
        requests = server.requests()
        acknowledged = writer.acknowledged - before
        assert acknowledged - 2 <= requests["PUT ours"] <= acknowledged + 3, requests
        assert requests.get("GET ours", 0) <= acknowledged + 10, requests
        assert requests.get("HEAD ours", 0) <= 5, requests
        until(lambda: has(before + 400), "more epochs")
        writer.finish()
        until(lambda: len(lines(sqlite)) == writer.sent, "all lines in the table")
        assert lines(sqlite) == [(0, n) for n in range(writer.sent)]


@pytest.mark.slow
def test_every_acknowledged_line_is_stored_after_kills_with_the_checkpoint_on_s3(sqlite: Sqlite) -> None:
    draw = random.Random(SEED)
    port = free_port()
    begun = time.monotonic()
    with s3(delay_ms=10) as server, drivers("crash.ingest_job", settings(server, sqlite, port)) as following:
        writers = [Writer(name, port) for name in range(WRITERS)]
        for writer in writers:
            writer.start()
        for kill in range(1, KILLS + 1):
            before = [writer.acknowledged for writer in writers]
            job = next(following)

            def all_went_on(job: Driver = job, before: list[int] = before) -> bool:
                job.assert_runs()
                return all(writer.acknowledged > was for writer, was in zip(writers, before, strict=True))

            until(all_went_on, "an acknowledgement for each writer")
            time.sleep(draw.uniform(0, 4.0))
            job.assert_runs()
            job.kill()
            acknowledged = sum(writer.acknowledged for writer in writers)
            print(f"kill {kill} after {time.monotonic() - begun:.0f} s: {acknowledged} lines acknowledged", flush=True)
        job = next(following)
        for writer in writers:
            writer.finish()
        runs = server.runs()
        assert {run for writer in writers for run in writer.runs} <= runs, "a listener that is not ours acknowledged"

        def all_there() -> bool:
            job.assert_runs()
            return len(set(lines(sqlite))) == sum(writer.sent for writer in writers)

        until(all_there, "all acknowledged lines in the table")
    arrived = lines(sqlite)
    times = Counter(arrived)
    for writer in writers:
        assert all(times[writer.name, n] >= 1 for n in range(writer.acknowledged)), f"lost (seed {SEED})"
        again = [n for n in range(writer.sent) if times[writer.name, n] > 1]
        assert set(again) <= writer.resent, f"doubled (seed {SEED})"
        first = list(dict.fromkeys(n for name, n in arrived if name == writer.name))
        assert first == sorted(first), f"the order of writer {writer.name} is lost (seed {SEED})"
