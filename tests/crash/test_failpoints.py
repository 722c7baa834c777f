"""Every transport and mode is killed with SIGKILL while its query waits at a step of an epoch, and starts again.

All queries run in one process and are held at the step before it is killed, so that one process serves a whole row of
the matrix. ``crash/cases.py`` has the matrix.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from crash.cases import CASES, STEPS, Step
from crash.scene import Runner, Scene, running
from support.databases import new_postgres
from support.drivers import Gate
from support.streams import forget_last_commit

pytestmark = [pytest.mark.crash, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def runner(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    directory = tmp_path_factory.mktemp("matrix")
    postgres = new_postgres(postgres_server, f"matrix_{uuid.uuid4().hex[:12]}")
    gate = Gate(directory / "gates", [step.name for step in STEPS])
    with running(Scene(CASES, postgres, directory), gate) as runner:
        runner.scene.advance(runner.begin())
        yield runner


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_killed_at_any_step_a_query_goes_on_with_each_row_once(runner: Runner, step: Step) -> None:
    scene, gate = runner.scene, runner.gate
    if step.start:
        runner.kill()
        gate.close(step.name)
        runner.begin()
    else:
        assert runner.now
        gate.close(step.name)
    held = runner.wait_for(step)
    runner.kill()
    gate.open(step.name)
    for case, found in scene.check_all().items():
        if case in held and not step.start:
            assert found.logged == found.committed + 1, case.name
            assert found.applied == (found.logged if step.applied else found.committed), case.name
    scene.advance(runner.begin())
    scene.settle(runner.now)


def test_killed_around_sparks_commit_log_a_query_goes_on_with_each_row_once(runner: Runner) -> None:
    scene = runner.scene
    assert runner.now
    runner.kill()
    again = 0
    for case, found in scene.check_all().items():
        if found.logged == found.committed:
            forget_last_commit(scene.checkpoint(case))
            again += 1
    assert again
    driver = runner.begin()
    scene.advance(driver)
    repeated = [query["metrics"].get("repeatedEpochs") for query in driver.status().values()]
    assert sum(int(count or 0) for count in repeated) >= again
    scene.settle(driver)


def test_after_all_this_the_queries_stop_in_order(runner: Runner) -> None:
    runner.now.stop_queries()
    runner.scene.check_all()
