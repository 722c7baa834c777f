"""The checkpoint on S3: lines over TCP that are acknowledged in one request, and kills. The server has its own port.
Acknowledgements name the run: another listener on the clients' port would be noticed.

A hundred kills with ``EPOCHAL_CRASH=full``, else two; ``EPOCHAL_INGEST_KILLS`` overrides the number.
"""

from __future__ import annotations

import pytest

from crash.ingesting import create_lines, drivers, kill_count, lines, store_under_kills
from support.databases import Sqlite
from support.s3 import S3, s3
from support.waiting import until
from support.writers import Writer, free_port

KILLS = kill_count(2)
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 90 * KILLS)]


def settings(server: S3) -> dict[str, object]:
    return {"checkpoint": "s3a://epochal/checkpoint", "conf": server.settings, "run": True}


def test_acknowledgements_on_s3_are_one_request_each_and_old_files_are_removed(sqlite: Sqlite) -> None:
    port = free_port()
    create_lines(sqlite)
    with (
        s3(delay_ms=20) as server,
        drivers("crash.ingest_job", {"port": port, "url": sqlite.url, **settings(server)}) as following,
    ):
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
    with s3(delay_ms=10) as server:
        runs = store_under_kills(sqlite, settings(server), writers=4, kills=KILLS, longest=4.0)
        assert runs <= server.runs(), "a listener that is not ours acknowledged"
