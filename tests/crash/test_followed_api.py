"""An API's records in continuous and real-time queries, killed with SIGKILL at random moments.

Each record contains the number of records served so far, so a repeated request returns another row. A row that may be
in the table is replayed unchanged from the journal: at any moment the table has each record once, in order.

``EPOCHAL_CRASH=full`` kills a hundred times, else three times; ``EPOCHAL_FOLLOWED_KILLS`` overrides the number, and
``EPOCHAL_KILL_SEED`` sets the seed.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crash.endless import EndlessJob
from support.api import Api, Record, serve
from support.cluster import SMALL, Cluster
from support.databases import Postgres
from support.seeds import FULL, kill_seed
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_FOLLOWED_KILLS") or (100 if FULL else 3))
SEED = kill_seed()
CLUSTER_KILLS = 20
RATE = 150
PAGE = 40
MODES = ("continuous", "real-time")

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


@dataclass
class Serving(Api):
    """A list that grows by ``RATE`` records a second; a page has the records after the requested key."""

    begun: float = field(default_factory=time.monotonic)
    served: itertools.count[int] = field(default_factory=itertools.count)

    def page(self, params: dict[str, str]) -> list[Record]:
        there = int((time.monotonic() - self.begun) * RATE)
        first = int(params.get("after", -1)) + 1
        return [{"id": number, "served": next(self.served)} for number in range(first, min(there, first + PAGE))]


def assert_once(database: Postgres, table: str) -> int:
    ((count, different, least, greatest),) = database.query(
        f"SELECT count(*), count(DISTINCT id), coalesce(min(id), 0), coalesce(max(id), -1) FROM {table}"
    )
    assert (different, least, greatest) == (count, 0, count - 1), f"{table}: {count} rows (seed {SEED})"
    return int(count)


@pytest.mark.parametrize("mode", MODES)
def test_each_record_is_stored_once_although_a_repeated_request_returns_another(
    postgres: Postgres, tmp_path: Path, mode: str
) -> None:
    kill_again_and_again(postgres, tmp_path, mode, KILLS)


@pytest.mark.parametrize("mode", MODES)
def test_a_task_on_another_machine_reads_records_that_the_driver_received(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path, mode: str
) -> None:
    conf = {
        "spark.master": two_workers.master,
        **SMALL,
        "spark.executor.cores": 2,
        "spark.cores.max": 2,
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    kill_again_and_again(postgres, tmp_path, mode, min(KILLS, CLUSTER_KILLS), conf)


def kill_again_and_again(
    postgres: Postgres, tmp_path: Path, mode: str, kills: int, conf: Mapping[str, Any] | None = None
) -> None:
    table = f"records_{mode.replace('-', '_')}"
    postgres.execute(f"CREATE TABLE {table} (id BIGINT, served BIGINT)")
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {kills} kills")
    with serve(Serving()) as api, ExitStack() as stack:
        asked: dict[str, Any] = {
            "name": table,
            "trigger": mode,
            "url": postgres.url,
            "user": postgres.user,
            "table": table,
            "checkpoint": str(tmp_path / table),
            "api": api.url,
        }

        def started() -> EndlessJob:
            job = EndlessJob([asked], conf=conf)
            stack.callback(job.kill)
            return job

        following = started()
        for kill in range(1, kills + 1):
            job, following = following, started()
            before = assert_once(postgres, table)
            job.go()
            # Most kills hit stored rows that Spark has not logged.
            if draw.random() < 0.8:
                until(lambda job=job, before=before: job.runs() and assert_once(postgres, table) > before, "rows", 120)  # type: ignore[misc]
            else:
                until(lambda job=job: job.runs() and job.says("started"), "the query", 120)  # type: ignore[misc]
            time.sleep(draw.uniform(0, 2))
            assert job.runs()
            job.kill()
            print(f"kill {kill}: {assert_once(postgres, table)} rows", flush=True)
        goal = assert_once(postgres, table) + 2 * RATE
        following.go()
        until(lambda: following.runs() and assert_once(postgres, table) >= goal, f"{goal} rows", 120)
        following.kill()
        assert_once(postgres, table)
        # In the order in which they were served. Records that were served and not journalled leave gaps.
        rows = postgres.query(f"SELECT served FROM {table} ORDER BY id")
        assert rows == sorted(rows)
