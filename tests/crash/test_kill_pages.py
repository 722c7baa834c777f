"""Queries for every kind of pagination, with and without journal, killed with SIGKILL at random moments and resumed.

``EPOCHAL_CRASH=full`` kills twenty times; ``EPOCHAL_KILL_SEED`` repeats the moments. A run prints its seed.
"""

from __future__ import annotations

import json
import random
import time
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from epochal._options import instant
from support.api import Record, serve
from support.data import as_rows, create_comments, stored
from support.databases import Sqlite
from support.jobs import Job
from support.pages import POSTS, PostsApi, of_post, posts
from support.seeds import FULL, kill_seed
from support.waiting import until

KILLS = 20 if FULL else 3
SEED = kill_seed()

#: A list of records for each post.
FAN_OUT: dict[str, Any] = {
    "params": {"postId": "${post}"},
    "partitionParams": json.dumps([{"post": post} for post in POSTS]),
}

#: The same lists, as another list of the API names them.
MEMBERS: dict[str, Any] = {
    "params": {"postId": "${post}"},
    "parent.fields": "post=/post",
    "parent.refreshInterval": "50ms",
}

#: Batches end inside pages, so that a restart resumes there.
READS: dict[str, dict[str, Any]] = {
    "cursor": {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after", "maxRowsPerBatch": 7},
    # A poll ends at each page.
    "cursor-pieces": {
        "pagination": "cursor",
        "nextCursor": "/meta/next",
        "cursorParam": "after",
        "maxPollBytes": 1,
    },
    "next-url": {"pagination": "next-url", "nextUrl": "/meta/url", "maxRowsPerBatch": 3},
    "link-csv": {
        "pagination": "link",
        "bodyFormat": "csv",
        "records": None,
        "params": {"format": "csv"},
        "maxRowsPerBatch": 7,
    },
    "keyset": {"pagination": "keyset", "keyField": "/id", "cursorParam": "since", "maxRowsPerBatch": 13},
    "offset": {"pagination": "offset", "pageSize": 10, "maxRowsPerBatch": 7},
    "offset-journalled": {"pagination": "offset", "pageSize": 10, "maxRowsPerBatch": 7, "journal": True},
    "page-journalled": {"pagination": "page", "pageSize": 10, "maxRowsPerBatch": 7, "journal": True},
    # Each window begins with the records of the previous ones.
    "time-window": {
        "pagination": "time-window",
        "windowStart": instant(datetime.now(timezone.utc).replace(microsecond=0)),
        "windowLength": "500ms",
        "lag": "100ms",
        "overlap": "3s",
        "keyColumns": ["id"],
        "windowFormat": "epoch-millis",
        "windowPagination": "cursor",
        "nextCursor": "/meta/next",
        "cursorParam": "after",
        "maxRowsPerBatch": 7,
    },
    "fan-out": FAN_OUT | {"pagination": "offset", "pageSize": 10, "maxRowsPerBatch": 7},
    "fan-out-cursor": FAN_OUT
    | {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after", "maxRowsPerBatch": 7},
    "members": MEMBERS | {"pagination": "page", "pageSize": 10, "maxRowsPerBatch": 7},
    "members-cursor": MEMBERS
    | {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after", "maxPollBytes": 1},
}

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 120 * KILLS)]


def test_every_record_is_stored_once_with_any_pagination_and_number_of_kills(
    tmp_path: Path,
) -> None:
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {KILLS} kills of {len(READS)} queries")
    tables = {name: Sqlite(tmp_path / f"{name}.db") for name in READS}
    for table in tables.values():
        create_comments(table)
    targets: list[dict[str, Any]] = [
        {
            "url": tables[name].url,
            "table": "comments",
            "sinkId": "comments",
            "checkpoint": str(tmp_path / f"checkpoint-{name}"),
            "read": {"records": "/data"} | read,
        }
        for name, read in READS.items()
    ]
    api = PostsApi()
    # Posts come and go, in any order.
    api.listed = lambda: random.sample(POSTS, random.choice((2, 3, 3)))  # type: ignore[method-assign]

    def smallest() -> int:
        return min(len(stored(table)) for table in tables.values())

    def reaches(job: Job, rows: int) -> None:
        def there() -> bool:
            job.assert_runs()
            return smallest() >= rows

        until(there, f"{rows} rows in every table", timeout=600)

    with serve(api), ExitStack() as stack:
        for target in targets:
            if "parent.fields" in target["read"]:
                target["read"]["parent.url"] = api.url.replace("/comments", "/posts")

        def start() -> Job:
            job = Job({"api": api.url, "rows_per_batch": 10, "available_now": False, "targets": targets})
            stack.callback(job.kill)
            return job

        next_job = start()
        for kill in range(KILLS + 1):
            before = len(api.records)
            api.records += posts(before + 1, draw.randrange(30, 120))
            job = next_job
            job.go()
            if kill == KILLS:
                reaches(job, len(api.records))
            else:
                next_job = start()
                reaches(job, before + draw.randrange(len(api.records) - before))
                time.sleep(draw.uniform(0, 0.5))
                job.assert_runs()
            job.kill()
            for name, table in tables.items():
                rows = stored(table)
                expected = (
                    beginnings(api.records, rows)
                    if {"partitionParams", "parent.fields"} & READS[name].keys()
                    else api.records[: len(rows)]
                )
                assert rows == as_rows(expected), f"{name} differs from the source (seed {SEED})"
            print(f"kill {kill + 1}: {[len(stored(table)) for table in tables.values()]} of {len(api.records)} rows")
    for name, table in tables.items():
        assert stored(table) == as_rows(api.records), f"{name} differs from the source (seed {SEED})"


def beginnings(records: list[Record], rows: list[tuple[Any, ...]]) -> list[Record]:
    """Asserts that each post's rows are its first records, in the order of ids."""
    found: list[Record] = []
    for post in POSTS:
        found += of_post(records, post)[: sum(row[0] == post for row in rows)]
    return sorted(found, key=lambda record: record["id"])
