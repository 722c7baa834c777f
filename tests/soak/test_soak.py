"""``make soak``: concurrent upserts, appends and journalled crawls in one driver, without growth.

``EPOCHAL_SOAK_MINUTES`` sets the duration; the first third is warm-up. Queries start a batch every ``PACE``: the test
is about lifetime, not about load.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from crash.cases import Case
from crash.scene import Scene
from soak.judge import HEADER, judge
from soak.vitals import LIMITS, cpu_seconds, longest_history, sample
from support import postgres as postgres_support
from support.api import serve
from support.data import SCHEMA, as_rows, comments, create_comments, stored
from support.databases import Database, Sqlite, new_postgres
from support.drivers import Driver
from support.pages import ChainedApi
from support.waiting import until

MINUTES = float(os.environ.get("EPOCHAL_SOAK_MINUTES", "60"))
SAMPLES = 60
PACE_SECONDS = 3
RECORDS_PER_SECOND = 10

#: Maximum number of epochs in a history (`LedgerTable`).
HISTORY = 1100

CASES = [
    Case("postgres", "inline", "upsert"),
    Case("postgres", "staged", "upsert"),
    Case("postgres", "staged", "append"),
    Case("sqlite", "inline", "append"),
]

#: Spark's retention settings: small, so that they are reached during warm-up.
SHORT_MEMORY = {
    "spark.sql.streaming.minBatchesToRetain": 10,
    "spark.sql.streaming.numRecentProgressUpdates": 5,
    "spark.sql.ui.retainedExecutions": 10,
    "spark.ui.retainedJobs": 10,
    "spark.ui.retainedStages": 10,
    "spark.ui.retainedTasks": 100,
    "spark.cleaner.periodicGC.interval": "1h",
}

CRAWLS: dict[str, dict[str, Any]] = {
    "followed": {"pagination": "next-url", "nextUrl": "/meta/url"},
    "cursor": {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after"},
    "counted": {"pagination": "offset", "pageSize": 100, "journal": True},
}

pytestmark = [pytest.mark.long, pytest.mark.timeout(int(MINUTES * 60) + 900)]


def crawl(name: str, api: ChainedApi, database: Database, directory: Path) -> dict[str, Any]:
    """The command that starts a crawl of a list that must be journalled."""
    return {
        "name": f"crawl_{name}",
        "rest": CRAWLS[name] | {"url": api.url, "records": "/data", "schema": SCHEMA, "maxRowsPerBatch": 1000},
        "write": {
            "url": database.url,
            "user": database.user,
            "table": f"crawl_{name}",
            "sinkId": f"crawl_{name}",
            "checkpoint": str(directory / "checkpoints" / f"crawl_{name}"),
            "trigger": f"{PACE_SECONDS} seconds",
        },
    }


def test_no_series_grows_and_every_row_is_stored_once(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    conf = SHORT_MEMORY | {"spark.local.dir": str(tmp_path / "tmp")}
    with postgres_support.server(autovacuum_naptime="5s") as server, serve(ChainedApi(comments(1, 10))) as api:
        postgres = new_postgres(server.dsn, "soak")
        scene = Scene(CASES, postgres, tmp_path, write={"trigger": f"{PACE_SECONDS} seconds"})
        scene.create()
        tables: dict[str, Database] = {
            "followed": Sqlite(tmp_path / "followed.db"),
            "cursor": postgres,
            "counted": Sqlite(tmp_path / "counted.db"),
        }
        for name, database in tables.items():
            create_comments(database, f"crawl_{name}")
        driver = Driver("local[4]", conf=conf, jvm=f"-Djava.io.tmpdir={tmp_path / 'tmp'}")
        try:
            crawls = [crawl(name, api, tables[name], tmp_path) for name in CRAWLS]
            driver.start(scene.queries() + crawls)
            scene.advance(driver)
            for name, database in tables.items():
                until(lambda: stored(database, f"crawl_{name}"), f"records of {name}")  # noqa: B023
            databases = list({scene.database(case): None for case in CASES} | dict.fromkeys(tables.values()))
            before = scene.epochs()
            times, samples = watch(driver, api, lambda: sample(driver, postgres, databases, tmp_path))
            epochs = {case.name: last - before[case] for case, last in scene.epochs().items()}
            for name, database in tables.items():
                expected = as_rows(api.records)
                until(lambda: len(stored(database, f"crawl_{name}")) >= len(expected), f"all records in {name}")  # noqa: B023
                assert stored(database, f"crawl_{name}") == expected
            driver.assert_all_active()
            driver.stop_queries()
            scene.check_all()
            assert longest_history(databases) <= HISTORY
        finally:
            driver.kill()
    verdicts = [judge(name, times, [found[name] for found in samples], limit) for name, limit in LIMITS.items()]
    table = "\n".join([HEADER, *map(str, verdicts)])
    print(f"\n{table}\nepochs: {epochs}; records crawled: {len(api.records):,}")
    slow = [name for name, count in epochs.items() if count < MINUTES * 60 / PACE_SECONDS / 4]
    assert not slow, f"hardly any epochs: {epochs}"
    assert all(verdict.flat for verdict in verdicts), f"not flat\n{table}"


def watch(driver: Driver, api: ChainedApi, measure: Any) -> tuple[list[float], list[dict[str, float]]]:
    """Lets the list grow, and measures ``SAMPLES`` times."""
    pid = driver.ask("vitals")["pid"]
    begin, cpu = time.monotonic(), cpu_seconds(pid)
    times: list[float] = []
    samples: list[dict[str, float]] = []
    print(f"\n{MINUTES:g} minutes; seconds, then {', '.join(LIMITS)}", flush=True)
    while (now := time.monotonic() - begin) < MINUTES * 60:
        due = int(now * RECORDS_PER_SECOND) - len(api.records)
        api.records += comments(len(api.records) + 1, due)
        api.requests.clear()
        if now >= len(samples) * MINUTES * 60 / SAMPLES:
            driver.assert_all_active()
            times.append(now)
            samples.append(measure())
            print(f"{now:6.0f} s " + " ".join(f"{value:10,.0f}" for value in samples[-1].values()), flush=True)
        time.sleep(0.2)  # The pace of the list, not a wait.
    used = cpu_seconds(pid) - cpu
    print(f"the driver used {used:.0f} s of processor time in {now:.0f} s", flush=True)
    return times, samples
