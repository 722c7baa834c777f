"""Runs of REST → SQLite and REST → PostgreSQL, killed with SIGKILL at random moments and resumed: twenty with
``EPOCHAL_CRASH=full``, else five.

Every run first brings both tables up to the source, which is checked row by row; then the source grows, and the run is
killed at a random row and moment. Some runs are killed during their start. ``EPOCHAL_KILL_SEED`` sets the seed, which a
run prints.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.api import Api
from support.data import as_rows, comments, create_comments, ledger, stored
from support.databases import Database, Postgres, Sqlite
from support.jobs import Job
from support.seeds import FULL, kill_seed
from support.streams import numbers
from support.waiting import until

RUNS = 20 if FULL else 5
SEED = kill_seed()
ROWS_PER_BATCH = 10
WHILE_STARTING = 0.15

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 120 * RUNS)]


class Scene:
    """The API, the two tables, and the job that copies one into the others."""

    def __init__(self, api: Api, databases: dict[str, Database], directory: Path) -> None:
        self.api = api
        self.databases = databases
        self.checkpoints = {name: directory / f"checkpoint-{name}" for name in databases}

    def settings(self) -> dict[str, Any]:
        return {
            "api": self.api.url,
            "rows_per_batch": ROWS_PER_BATCH,
            "available_now": False,
            "targets": [
                {
                    "url": database.url,
                    "user": database.user,
                    "table": "comments",
                    "sinkId": "comments",
                    "checkpoint": str(self.checkpoints[name]),
                }
                for name, database in self.databases.items()
            ],
        }

    def grow(self, count: int) -> None:
        self.api.records += comments(len(self.api.records) + 1, count)

    def counts(self) -> list[int]:
        return [database.query("SELECT count(*) FROM comments")[0][0] for database in self.databases.values()]

    def has(self, rows: int, job: Job) -> bool:
        """Whether one of the tables has at least ``rows`` rows."""
        job.assert_runs()
        return max(self.counts()) >= rows

    def catch_up(self, job: Job) -> None:
        """Waits until both tables have as many rows as the source, and compares them row by row."""
        goal = len(self.api.records)

        def there() -> bool:
            job.assert_runs()
            return min(self.counts()) >= goal

        until(there, f"{goal} rows in both tables")
        for name, database in self.databases.items():
            assert stored(database) == as_rows(self.api.records), f"{name} differs from the source (seed {SEED})"

    def check_after_kill(self) -> Iterator[str]:
        """Asserts that the rows are the source's first ones, in whole epochs, and that the ledger agrees."""
        for name, database in self.databases.items():
            rows = stored(database)
            assert rows == as_rows(self.api.records)[: len(rows)], f"{name} differs from the source (seed {SEED})"
            history = database.query("SELECT epoch, rows FROM epochal_ledger_history ORDER BY epoch")
            assert [epoch for epoch, _ in history] == list(range(history[0][0], len(history) + history[0][0]))
            (line,) = ledger(database)
            assert line["last_epoch"] == history[-1][0]
            if history[0][0] == 0:
                assert sum(count for _, count in history) == len(rows)
            planned, done = (numbers(self.checkpoints[name], log)[-1] for log in ("offsets", "commits"))
            yield moment(planned, done, int(str(line["last_epoch"])))


def moment(planned: int, done: int, applied: int) -> str:
    """The step of the epoch that the kill hit."""
    if planned == done:
        return "between epochs"
    return "after the sink's commit, before Spark's" if applied == planned else "before the sink's commit"


@pytest.fixture
def scene(api: Api, sqlite: Sqlite, postgres: Postgres, tmp_path: Path) -> Scene:
    databases: dict[str, Database] = {"sqlite": sqlite, "postgres": postgres}
    for database in databases.values():
        create_comments(database)
    return Scene(api, databases, tmp_path)


def test_rows_equal_the_source_after_any_number_of_kills(scene: Scene) -> None:
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {RUNS} runs")
    moments: Counter[str] = Counter()
    scene.grow(37)
    with ExitStack() as stack:

        def start() -> Job:
            job = Job(scene.settings())
            stack.callback(job.kill)
            return job

        next_job = start()
        for run in range(RUNS):
            job, next_job = next_job, start()
            job.go()
            if run > 0 and draw.random() < WHILE_STARTING:
                rows = None
            else:
                scene.catch_up(job)
                growth = draw.randrange(50, 150)
                scene.grow(growth)
                rows = len(scene.api.records) - draw.randrange(1, growth)
                until(lambda rows=rows, job=job: scene.has(rows, job), f"{rows} rows in either table")  # type: ignore[misc]
            pause = draw.uniform(0, 3 if rows is None else 0.2)
            time.sleep(pause)
            job.assert_runs()
            job.kill()
            after = list(scene.check_after_kill())
            moments.update(after)
            when = "its start" if rows is None else f"row {rows}"
            there = f"{scene.counts()} of {len(scene.api.records)} rows"
            print(f"run {run + 1}: killed {pause:.2f} s after {when} with {there}: {', '.join(after)}")
        next_job.go()
        scene.catch_up(next_job)
    print(dict(moments))
    assert sum(moments.values()) == RUNS * len(scene.databases)
