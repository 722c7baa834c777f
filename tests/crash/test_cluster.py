"""Killed executors and late attempts, on a standalone cluster with two workers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crash.cases import ON_POSTGRES, PARTITIONS, Case
from crash.scene import Scene
from support.api import serve
from support.cluster import BRIEF, CORES, HOSTS, SMALL, Cluster
from support.data import comments
from support.databases import Postgres
from support.drivers import Driver, Gate
from support.pages import ChainedApi
from support.scripts import run_script
from support.waiting import until

pytestmark = [pytest.mark.crash]

#: Task and attempt number in the name of a task's thread.
SECOND = re.compile(r"task \d+\.[1-9]")
WAITS_FOR_A_KEY = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'COPY %'
"""


def conf(gate: Gate, **more: Any) -> dict[str, Any]:
    return {
        **SMALL,
        "spark.executor.cores": CORES,
        "spark.scheduler.minRegisteredResourcesRatio": 1.0,
        "spark.executor.extraJavaOptions": f"{BRIEF} {gate.property}",
        **more,
    }


@contextmanager
def held(scene: Scene, cluster: Cluster, gate: Gate, step: str) -> Iterator[tuple[Driver, str]]:
    """A driver whose tasks are held at a step in the middle of an epoch, and its application."""
    scene.create()
    driver = Driver(cluster.master, conf=conf(gate))
    try:
        driver.start(scene.queries())
        scene.advance(driver)
        application = driver.ask("where")["application"]
        gate.close(step)
        until(lambda: len(gate.waiting(step)) >= PARTITIONS, "tasks that wait")
        yield driver, application
    finally:
        driver.kill()


@pytest.mark.parametrize("step", ["task.before-commit", pytest.param("task.after-commit", marks=pytest.mark.slow)])
def test_a_killed_executor_costs_a_retry_and_no_row(
    step: str, two_workers: Cluster, postgres: Postgres, tmp_path: Path
) -> None:
    # With keys and prepared transactions it can require a restart: see the next test.
    cases = [case for case in ON_POSTGRES if (case.transport, case.mode) != ("prepared", "keyed")]
    scene, gate = Scene(cases, postgres, tmp_path), Gate(tmp_path / "gates", [step])
    with held(scene, two_workers, gate, step) as (driver, application):
        before = until(lambda: two_workers.executors(application), "executors")
        assert len(before) == len(HOSTS)
        two_workers.kill(before[0])
        gate.open(step)
        until(lambda: set(two_workers.executors(application)) - set(before), "an executor in its place")
        scene.advance(driver)
        driver.stop_queries()
        scene.check_all()


@pytest.mark.slow
def test_executors_that_die_with_prepared_transactions_cost_a_restart_and_no_row(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path
) -> None:
    """The next attempts block in the unique index on rows of dead attempts; the next start rolls those back."""
    step = "task.after-commit"
    scene = Scene([Case("postgres", "prepared", "keyed")], postgres, tmp_path, write={"lockTimeout": "2s"})
    gate = Gate(tmp_path / "gates", [step])
    with held(scene, two_workers, gate, step) as (driver, application):
        for executor in until(lambda: two_workers.executors(application), "executors"):
            two_workers.kill(executor)
        gate.open(step)
        assert "DATABASE_LOCKED" in driver.error_of(scene.cases[0].name)
        driver.start(scene.queries())
        scene.advance(driver)
        driver.stop_queries()
        scene.check_all()


@pytest.mark.slow
def test_only_the_winner_of_two_speculative_attempts_is_committed(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path
) -> None:
    step = "task.after-commit"
    scene = Scene(ON_POSTGRES, postgres, tmp_path)
    gate = Gate(tmp_path / "gates", [step])
    speculation = {
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.quantile": 0.1,
        "spark.speculation.multiplier": 1.1,
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.speculation.task.duration.threshold": "1s",
    }
    scene.create()
    driver = Driver(two_workers.master, conf=conf(gate, **speculation))
    try:
        for case in scene.cases:
            one = Scene([case], scene.postgres, tmp_path)
            driver.start(one.queries())
            one.advance(driver)
            gate.close(step)
            if case.mode == "keyed":
                until(lambda: postgres.query(WAITS_FOR_A_KEY), "a second attempt that waits for the keys of the first")
            else:
                until(lambda: any(SECOND.search(thread) for thread in gate.waiting(step)), "a second attempt")
            gate.open(step)
            one.advance(driver)
            driver.stop_queries()
            one.check_all()
    finally:
        driver.kill()


#: A path that is another directory in each process, as on a driver's local disk.
OWN_DISK = """
from epochal import rest
frame = epochal.read.rest(
    spark, os.environ["API"], pages=rest.Cursor(next="/meta/next", param="after"), records=rest.Json("/data"),
    schema="id INT", fail_on_data_loss=False, num_partitions=2,
)
writer = frame.writeStream.format("memory").queryName("out").trigger(availableNow=True)
query = writer.option("checkpointLocation", "file:/proc/self/cwd/checkpoint").start()
try:
    with epochal.errors.named():
        query.awaitTermination()
except epochal.EpochalError as error:
    says(condition=error.condition)
says(rows=spark.table("out").count())
"""


@pytest.mark.slow
def test_a_checkpoint_on_the_drivers_local_disk_is_an_error_and_no_row_is_skipped(
    two_workers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with serve(ChainedApi(records=comments(1, 80))) as api:
        facts = run_script(
            f"""
            spark = epochal.configure(builder().master("{two_workers.master}").config(map={SMALL})).getOrCreate()
            """
            + textwrap.indent(OWN_DISK, " " * 12),
            API=api.url,
        )
    assert facts == {"condition": "JOURNAL_NOT_SHARED", "rows": 0}
