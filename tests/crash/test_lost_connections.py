"""The server fails and recovers, and responses to COMMIT are lost, during queries of many epochs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.cases import ON_POSTGRES
from crash.scene import Scene
from support.databases import Postgres, new_postgres
from support.drivers import Driver, Gate
from support.postgres import Server
from support.proxy import proxy
from support.waiting import until

pytestmark = [pytest.mark.crash, pytest.mark.slow]

STEP = "ledger.before-lock"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gates", [STEP])


@pytest.fixture
def driver(gate: Gate) -> Iterator[Driver]:
    """A session with four attempts per task, as on a cluster."""
    driver = Driver("local[4,4]", gate)
    yield driver
    driver.kill()


@pytest.mark.parametrize("lost", ["after", "before"])
def test_a_commit_whose_response_is_lost_is_applied_once(
    lost: str, driver: Driver, postgres: Postgres, tmp_path: Path
) -> None:
    port = int(postgres.url.split(":")[3].partition("/")[0])
    with proxy(port) as through:
        url = f"jdbc:postgresql://127.0.0.1:{through.port}/postgres"
        scene = Scene(ON_POSTGRES, postgres, tmp_path, url, postgres.schema)
        scene.create()
        driver.start(scene.queries())
        scene.advance(driver)
        cut = 3  # in a row: fewer than a task's tries
        rounds = 0
        while rounds < 8 or retries(driver) == 0:  # Metrics count the driver's connections and not those of tasks.
            rounds += 1
            assert rounds <= 40
            setattr(through, lost, cut)
            until(lambda cuts=rounds * cut: through.cuts >= cuts, "connections that were cut")  # type: ignore[misc]
            scene.advance(driver, 1)
        driver.stop_queries()
        scene.check_all()


def test_a_server_crash_ends_only_queries_that_lost_rows(driver: Driver, own_server: Server, tmp_path: Path) -> None:
    scene = Scene(ON_POSTGRES, new_postgres(own_server.dsn, "sink"), tmp_path)
    scene.create()
    driver.start(scene.queries())
    for _ in range(3):
        scene.advance(driver)
        own_server.stop()
        own_server.start()
        scene.outlive_crash(driver)
    scene.advance(driver)
    driver.stop_queries()
    scene.check_all()


def test_a_server_crash_between_the_commits_of_tasks_and_driver_costs_staged_rows_a_restart(
    driver: Driver, gate: Gate, own_server: Server, tmp_path: Path
) -> None:
    scene = Scene(ON_POSTGRES, new_postgres(own_server.dsn, "sink"), tmp_path)
    scene.create()
    driver.start(scene.queries())
    scene.advance(driver)
    gate.close(STEP)

    def all_wait() -> bool:
        waiting = gate.waiting(STEP)
        return all(any(case.name in thread for thread in waiting) for case in scene.cases)

    until(all_wait, f"all queries at {STEP}")
    own_server.stop()
    own_server.start()
    gate.open(STEP)
    for case in scene.cases:
        if case.transport == "staged":
            assert "EPOCHAL.STAGING_LOST" in driver.error_of(case.name)
    scene.outlive_crash(driver)
    scene.advance(driver)
    driver.stop_queries()
    assert retries(driver) >= 1  # Queries that lost no rows were hit, too; only their metrics show it.
    scene.check_all()


def retries(driver: Driver) -> int:
    return sum(int(query["metrics"].get("retries", 0)) for query in driver.status().values())
