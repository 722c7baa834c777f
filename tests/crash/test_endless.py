"""Continuous and real-time queries, killed with SIGKILL at random moments and at the steps of a flush and of a commit.

At any moment each row is in the table once, in partition order, and none before the last is missing.

``EPOCHAL_CRASH=full`` kills a hundred times, ``make test`` once, else twice; ``EPOCHAL_ENDLESS_KILLS`` overrides the
number, and ``EPOCHAL_ENDLESS_QUERIES`` sets how many queries of each mode a kill ends. ``EPOCHAL_KILL_SEED`` sets the
seed, which a run prints.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from crash.endless import EndlessJob
from support.databases import Postgres
from support.seeds import FULL, SMALL_SUITE, kill_seed
from support.streams import numbers
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_ENDLESS_KILLS") or (100 if FULL else 1 if SMALL_SUITE else 2))
QUERIES = int(os.environ.get("EPOCHAL_ENDLESS_QUERIES") or 1)
SEED = kill_seed()
AT_A_STEP = 0.4
UNDER_WAY = 0.8
PARTITIONS = 2
RATE = 150
MODES = ("continuous", "real-time")

#: Steps at which the JVM halts, and the maximum number of passes before that.
STEPS = {
    "flush.before-commit": 150,
    "flush.after-commit": 150,
    "task.before-commit": 8,
    "task.after-commit": 8,
    "ledger.before-lock": 4,
    "ledger.written": 4,
    "commit.before": 4,
    "commit.after": 4,
    "claim.after": QUERIES,
}

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 90 * KILLS)]


def table(mode: str, number: int = 0) -> str:
    return f"numbers_{mode.replace('-', '_')}_{number}"


def query(database: Postgres, directory: Path, mode: str, number: int = 0) -> dict[str, Any]:
    name = table(mode, number)
    return {
        "name": name,
        "trigger": mode,
        "url": database.url,
        "user": database.user,
        "table": name,
        "checkpoint": str(directory / name),
        "partitions": PARTITIONS,
        "rows_per_second": RATE,
    }


def create(database: Postgres, *names: str) -> None:
    for name in names:
        database.execute(f"CREATE TABLE {name} (id BIGINT, value TEXT, length BIGINT)")


def assert_once(database: Postgres, name: str) -> int:
    """Asserts that each partition's ids are consecutive and unique; returns their number."""
    found = database.query(
        f"SELECT id % {PARTITIONS}, count(*), count(DISTINCT id), min(id), max(id) FROM {name} GROUP BY 1"
    )
    for part, count, different, least, greatest in found:
        assert count == different, f"{name}: {count - different} rows twice (seed {SEED})"
        assert least == part, f"{name}: rows before {least} are missing (seed {SEED})"
        assert greatest == part + PARTITIONS * (count - 1), f"{name}: rows are missing (seed {SEED})"
    return sum(count for _, count, *_ in found)


def assert_equal(spark: SparkSession, database: Postgres, name: str) -> None:
    """Asserts that the rows equal the source's."""
    rows = database.query(f"SELECT id, value, length FROM {name}")
    source = epochal.read.random(
        spark,
        rows_per_batch=10,
        max_rows=max(number for number, *_ in rows) + 1,
        seed=7,
        min_length=1,
        streaming=False,
    )
    expected = {row.id: (row.id, row.value, row.length) for row in source.collect()}
    assert all(expected[row[0]] == row for row in rows)


class Kills:
    """Jobs, each started while the previous one runs, and how each ends."""

    def __init__(self, database: Postgres, directory: Path, stack: ExitStack) -> None:
        self.draw = random.Random(SEED)
        self.queries = {mode: [query(database, directory, mode, n) for n in range(QUERIES)] for mode in MODES}
        self._stack = stack

    def names(self, modes: Sequence[str] = MODES) -> list[str]:
        return [asked["name"] for mode in modes for asked in self.queries[mode]]

    def start(self, kill: int) -> tuple[EndlessJob, str, Sequence[str]]:
        """A job, the step that ends it (or none), and its queries: of one mode with a step, else of both."""
        step = self.draw.choice(list(STEPS)) if self.draw.random() < AT_A_STEP else ""
        modes = (MODES[kill % 2],) if step else MODES
        jvm = f"-Depochal.failpoints={step}=halt@{self.draw.randint(1, STEPS[step])}" if step else ""
        return self.job(modes, jvm), step, modes

    def job(self, modes: Sequence[str] = MODES, jvm: str = "") -> EndlessJob:
        job = EndlessJob([asked for mode in modes for asked in self.queries[mode]], jvm)
        self._stack.callback(job.kill)
        return job


def test_each_row_is_stored_once_after_any_number_of_kills(
    spark: SparkSession, postgres: Postgres, tmp_path: Path
) -> None:
    print(f"\nseed {SEED}, {KILLS} kills, {QUERIES} queries of each mode")
    moments: Counter[str] = Counter()
    with ExitStack() as stack:
        kills = Kills(postgres, tmp_path, stack)
        create(postgres, *kills.names())
        following = kills.start(1)
        for kill in range(1, KILLS + 1):
            job, step, modes = following
            if kill < KILLS:
                following = kills.start(kill + 1)
            before = {name: assert_once(postgres, name) for name in kills.names()}
            job.go()
            until(lambda job=job: job.says("started") or job.ended(), "the queries", 300)  # type: ignore[misc]
            if step:
                until(job.ended, f"{step} is reached", 180)
            else:
                if kills.draw.random() < UNDER_WAY:
                    names = kills.names(modes)

                    def there(job: EndlessJob = job, before: dict[str, int] = before, names: list[str] = names) -> bool:
                        assert job.runs()
                        return all(assert_once(postgres, name) > before[name] for name in names)

                    until(there, "new rows of every query", 180)
                time.sleep(kills.draw.uniform(0, 4))
                assert job.runs()
            assert "\nended " not in job.all_output().decode("utf-8", "replace"), job.failure()
            job.kill()
            counts = {name: assert_once(postgres, name) for name in kills.names()}
            for mode in modes:
                for asked in kills.queries[mode]:
                    logged, done = (len(numbers(Path(asked["checkpoint"]), log)) for log in ("offsets", "commits"))
                    found = "rows stored" if counts[asked["name"]] > before[asked["name"]] else "none stored yet"
                    moments[f"{mode}: {'offsets logged, ' if logged > done else ''}{found}"] += 1
            print(f"kill {kill}: {', '.join(modes)} at {step or 'any moment'}, {list(counts.values())}", flush=True)
        last = kills.job()
        last.go()
        goals = {name: assert_once(postgres, name) + RATE for name in kills.names()}

        def grown() -> bool:
            assert last.runs()
            return all(assert_once(postgres, name) >= goal for name, goal in goals.items())

        until(grown, f"{goals} rows", 300)
        last.kill()
    for name in kills.names():
        assert_once(postgres, name)
        assert_equal(spark, postgres, name)
    print(dict(moments))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_frozen_driver_that_was_replaced_stores_nothing(postgres: Postgres, tmp_path: Path, mode: str) -> None:
    asked = query(postgres, tmp_path, mode)
    create(postgres, asked["name"])

    def grows(job: EndlessJob, rows: int) -> None:
        goal = assert_once(postgres, asked["name"]) + rows
        until(lambda: job.runs() and assert_once(postgres, asked["name"]) >= goal, f"{goal} rows", 120)

    with ExitStack() as stack:
        frozen, successor, third = EndlessJob([asked]), EndlessJob([asked]), EndlessJob([asked])
        for job in (frozen, successor, third):
            stack.callback(job.kill)
        frozen.go()
        grows(frozen, 2 * RATE)
        frozen.freeze()
        successor.go()
        grows(successor, 6 * RATE)
        frozen.thaw()
        until(frozen.ended, "the end of the frozen driver's query", 120)
        assert any(condition in frozen.output(60000) for condition in ("SINK_FENCED", "RUN_SUPERSEDED"))
        # Before it notices, it may log the offsets of an epoch. Then its successor ends too, and the next run resumes.
        before = assert_once(postgres, asked["name"])
        until(lambda: successor.ended() or assert_once(postgres, asked["name"]) >= before + 2 * RATE, "rows", 120)
        if successor.ended():
            assert "EPOCH_LOGGED_BY_OTHER" in successor.failure()
        successor.kill()
        third.go()
        grows(third, 2 * RATE)
