"""The main job on the installed Spark: REST → SQLite, killed halfway, resumed. One jar supports all versions."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from support.api import Api
from support.data import as_rows, comments, create_comments, ledger, stored
from support.databases import Sqlite
from support.jobs import Job
from support.waiting import until

pytestmark = pytest.mark.matrix


def test_a_job_killed_halfway_ends_with_every_row_once(api: Api, sqlite: Sqlite, tmp_path: Path) -> None:
    print(f"pyspark {pyspark.__version__}")
    create_comments(sqlite)
    api.records = comments(1, 300)
    target = {
        "url": sqlite.url,
        "table": "comments",
        "sinkId": "comments",
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    settings = {"api": api.url, "rows_per_batch": 10, "available_now": False, "targets": [target]}

    def half_way() -> bool:
        first.assert_runs()
        return len(stored(sqlite)) >= 150

    first = Job(settings)
    try:
        first.go()
        until(half_way, "half of the rows")
    finally:
        first.kill()
    committed = len(stored(sqlite))
    assert 0 < committed < 300
    assert stored(sqlite) == as_rows(api.records[:committed])

    second = Job(settings | {"available_now": True})
    try:
        second.go()
        second.wait()
    finally:
        second.kill()
    assert stored(sqlite) == as_rows(api.records)
    (line,) = ledger(sqlite)
    assert line["generation"] == 2
