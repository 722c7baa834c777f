"""The checkpoint on S3: lines over TCP that are acknowledged in one request, and kills. The server has its own port.
Acknowledgements name the run: another listener on the clients' port would be noticed.

A hundred kills with ``EPOCHAL_CRASH=full``, else two; ``EPOCHAL_INGEST_KILLS`` overrides the number.
"""

from __future__ import annotations

import os
import random

import pytest

from crash.ingesting import assert_stored, drivers, kill_at_random, lines, wait_for_all_lines
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
    with s3(delay_ms=10) as server, drivers("crash.ingest_job", settings(server, sqlite, port)) as following:
        writers = [Writer(name, port) for name in range(WRITERS)]
        for writer in writers:
            writer.start()
        job = kill_at_random(following, writers, KILLS, draw, longest=4.0)
        for writer in writers:
            writer.finish()
        runs = server.runs()
        assert {run for writer in writers for run in writer.runs} <= runs, "a listener that is not ours acknowledged"
        wait_for_all_lines(job, sqlite, writers)
    assert_stored(sqlite, writers, SEED)
