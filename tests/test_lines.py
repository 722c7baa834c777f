"""A checkpoint that is resumed by newer and older lines of Spark: every row is in the table once.

``make test-matrix`` lists the lines in ``EPOCHAL_LINES`` (``4.0.5 4.3.0``); each has its environment in ``build``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support.api import Api, serve
from support.data import as_rows, comments, create_comments, ledger, stored
from support.databases import Sqlite
from support.jobs import Job
from support.pages import ChainedApi
from support.places import ROOT

pytestmark = pytest.mark.matrix

LINES = os.environ.get("EPOCHAL_LINES", "").split()
STEP = 40


def python(line: str) -> Path:
    return ROOT / "build" / f"venv-{line}" / "bin" / "python"


@pytest.mark.skipif(len(LINES) < 2, reason="a checkpoint goes from line to line: EPOCHAL_LINES names two or more")
@pytest.mark.parametrize("paging", ["offset", "cursor"])
def test_a_checkpoint_is_resumed_by_newer_and_older_lines(paging: str, sqlite: Sqlite, tmp_path: Path) -> None:
    create_comments(sqlite)
    way = [*LINES, *LINES[-2::-1]]
    target: dict[str, Any] = {
        "url": sqlite.url,
        "table": "comments",
        "sinkId": "comments",
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    if paging == "cursor":
        target |= {
            "read": {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after", "records": "/data"}
        }
    with serve(Api() if paging == "offset" else ChainedApi()) as api:
        for number, line in enumerate(way, start=1):
            api.records = comments(1, STEP * number)
            job = Job({"api": api.url, "rows_per_batch": 10, "available_now": True, "targets": [target]}, python(line))
            try:
                job.go()
                job.wait()
            finally:
                job.kill()
            assert stored(sqlite) == as_rows(api.records), line
    (entry,) = ledger(sqlite)
    assert entry["generation"] == len(way)
