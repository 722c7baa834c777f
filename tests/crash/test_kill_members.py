"""Queries over lists that other lists name, killed with SIGKILL at random moments and resumed.

One reads what is new in each list (``sinceField``), with a refresh token that the server replaces every second.

``EPOCHAL_CRASH=full`` kills a hundred times; ``EPOCHAL_KILL_SEED`` repeats the moments, ``EPOCHAL_KILLS`` sets their
number. A run prints its seed.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from support.api import Answer, Api, Record, Request, serve
from support.data import as_rows, comments, create_comments, stored
from support.databases import Sqlite
from support.jobs import Job
from support.pages import ChainedApi, of_post
from support.seeds import FULL, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_KILLS", 100 if FULL else 3))
SEED = kill_seed()
GROUPS = 3

QUICK = {
    "records": "/data",
    "refreshInterval": "100ms",
    "parent.refreshInterval": "100ms",
    "parent.fields": "repo=/repo",
}
CURSOR = {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after"}

#: Batches end inside pages or at each page, so that a restart resumes there.
READS: dict[str, dict[str, Any]] = {
    "page": {"pagination": "page", "pageSize": 10, "maxRowsPerBatch": 7},
    "cursor": CURSOR | {"maxPollBytes": 1},
    "three-levels": CURSOR
    | {
        "maxRowsPerBatch": 7,
        "parent.params.group": "${group}",
        "parent.parent.fields": "group=/group",
        "parent.parent.refreshInterval": "100ms",
    },
    "since": {
        "pagination": "none",
        "sinceField": "/id",
        "sinceParam": "from",
        "sinceFormat": "raw",
        "keyColumns": "id",
        "headers": {"X-Whole": "true"},
        "maxRowsPerBatch": 50,  # A query that lags behind its journal needs no token.
        "oauth.clientId": "me",
        "oauth.refreshToken": "1",
    },
}

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 120 * KILLS)]


@dataclass
class ReposApi(Api):
    """Serves the groups, the repos of a group or all, and the records of a repo: those with its number as ``postId``.

    Attributes:
        repos: number of repos; a list names most of them, in any order.
        gone: repos whose lists do not exist.
        refresh_token: the newest one. The one before is valid too: a client may be killed before it has the newest.
        refused: tokens that were not valid.
    """

    repos: int = 3
    gone: set[int] = field(default_factory=set)
    refresh_token: int = 1
    refused: list[str] = field(default_factory=list)

    def token(self, request: Request) -> Answer:
        used = dict(parse_qsl(request.body.decode()))["refresh_token"]
        if int(used) < self.refresh_token - 1:
            self.refused.append(used)
            return 400, b'{"error": "invalid_grant"}', {}
        if int(used) == self.refresh_token:
            self.refresh_token += 1
        answer = {"access_token": "any", "expires_in": 61, "refresh_token": str(self.refresh_token)}
        return 200, json.dumps(answer).encode(), {}

    def answer(self, request: Request) -> Answer:
        kind = request.path.rpartition("/")[2]
        if kind == "token":
            return self.token(request)
        if kind == "groups":
            return 200, json.dumps([{"group": group} for group in most(range(GROUPS))]).encode(), {}
        if kind == "repos":
            group = request.params.get("group")
            found = [repo for repo in range(1, self.repos + 1) if group is None or repo % GROUPS == int(group)]
            return 200, json.dumps([{"repo": repo} for repo in most(found)]).encode(), {}
        repo = int(request.params["repo"])
        if repo in self.gone:
            return 404, b"", {}
        if "x-whole" in request.headers:
            first = int(request.params.get("from", 0))
            later = [record for record in of_post(self.records, repo) if record["id"] >= first]
            return 200, json.dumps({"data": later}).encode(), {}
        one = ChainedApi(records=of_post(self.records, repo), url=self.url)
        one.hold.set()
        return one.answer(request)


def most(names: Iterable[int]) -> list[int]:
    """Nine of ten, in any order."""
    found = [name for name in names if random.random() < 0.9]
    random.shuffle(found)
    return found


def of_repos(draw: random.Random, first: int, count: int, repos: int) -> list[Record]:
    """Comments of random repos."""
    return [comment | {"postId": draw.randint(1, repos)} for comment in comments(first, count)]


def beginnings(records: list[Record], rows: list[tuple[Any, ...]], repos: int) -> list[Record]:
    """The first records of each repo, as many as there are rows of it, by id."""
    found: list[Record] = []
    for repo in range(1, repos + 1):
        found += of_post(records, repo)[: sum(row[0] == repo for row in rows)]
    return sorted(found, key=lambda record: record["id"])


def test_every_record_of_a_member_is_stored_once_with_any_number_of_kills(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {KILLS} kills of {len(READS)} queries")
    tables = {name: Sqlite(tmp_path / f"{name}.db") for name in READS}
    for table in tables.values():
        create_comments(table)
    api = ReposApi()

    def smallest() -> int:
        return min(len(stored(table)) for table in tables.values())

    def reaches(job: Job, rows: int) -> None:
        def there() -> bool:
            job.assert_runs()
            return smallest() >= rows

        until(there, f"{rows} rows in every table", timeout=600)

    with serve(api), ExitStack() as stack:
        host = api.url.rpartition("/")[0]
        targets = [
            {
                "url": tables[name].url,
                "table": "comments",
                "sinkId": "comments",
                "checkpoint": str(tmp_path / f"checkpoint-{name}"),
                "read": QUICK
                | {"params": {"repo": "${repo}"}, "parent.url": f"{host}/repos"}
                | read
                | ({"parent.parent.url": f"{host}/groups"} if "parent.parent.fields" in read else {})
                | ({"oauth.tokenUrl": f"{host}/token"} if "sinceField" in read else {}),
            }
            for name, read in READS.items()
        ]

        def start() -> Job:
            job = Job({"api": f"{host}/items", "rows_per_batch": 10, "available_now": False, "targets": targets})
            stack.callback(job.kill)
            return job

        next_job = start()
        for kill in range(KILLS + 1):
            api.repos = min(12, api.repos + draw.randint(0, 1))
            api.gone = set() if kill in (0, KILLS) else set(draw.sample(range(1, api.repos + 1), draw.randint(0, 2)))
            more = of_repos(draw, len(api.records) + 1, draw.randrange(30, 90), api.repos)
            goal = smallest() + draw.randrange(sum(record["postId"] not in api.gone for record in more) + 1)
            api.records += more
            job = next_job
            job.go()
            if kill == KILLS:
                reaches(job, len(api.records))
            else:
                next_job = start()
                reaches(job, goal)
                time.sleep(draw.uniform(0, 0.5))
                job.assert_runs()
            job.kill()
            for name, table in tables.items():
                rows = stored(table)
                expected = as_rows(beginnings(api.records, rows, api.repos))
                assert rows == expected, f"{name} differs from the source (seed {SEED})"
            print(f"kill {kill + 1}: {[len(stored(table)) for table in tables.values()]} of {len(api.records)} rows")
    for name, table in tables.items():
        assert stored(table) == as_rows(api.records), f"{name} differs from the source (seed {SEED})"
    assert api.refused == []
    assert api.refresh_token > KILLS
