"""Every transport and mode is killed with SIGKILL while its query is held at a step of an epoch, and restarted.

All queries run in one process and are held at the step before the kill, so one process covers a row of the matrix.
``crash/cases.py`` has the matrix.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from crash.cases import CASES, ROUNDS, SHORT_ROUNDS, TWICE, Step
from crash.scene import Runner, Scene, running
from support.databases import new_postgres
from support.drivers import Gate
from support.streams import forget_last_commit

pytestmark = [pytest.mark.slow, pytest.mark.crash]


@pytest.fixture(scope="module")
def runner(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    directory = tmp_path_factory.mktemp("matrix")
    postgres = new_postgres(postgres_server, f"matrix_{uuid.uuid4().hex[:12]}")
    gate = Gate(directory / "gates", sorted({step.name for steps in (*ROUNDS, *TWICE) for step in steps}))
    with running(Scene(CASES, postgres, directory), gate) as runner:
        runner.scene.advance(runner.begin())
        yield runner


def named(steps: tuple[Step, ...]) -> str:
    return "+".join(step.name for step in steps)


def in_short(number: int) -> tuple[pytest.MarkDecorator, ...]:
    return () if number in SHORT_ROUNDS else (pytest.mark.long,)


@pytest.mark.parametrize(
    "steps",
    [pytest.param(steps, marks=in_short(number), id=named(steps)) for number, steps in enumerate(ROUNDS)],
)
def test_a_query_killed_at_any_step_resumes_with_each_row_once(runner: Runner, steps: tuple[Step, ...]) -> None:
    if steps[0].start:
        runner.kill()
    kill_at(runner, *steps)
    go_on(runner)


@pytest.mark.long
@pytest.mark.parametrize("steps", TWICE, ids=named)
def test_a_query_killed_again_during_recovery_resumes_with_each_row_once(
    runner: Runner, steps: tuple[Step, ...]
) -> None:
    first, second = steps
    kill_at(runner, first)
    kill_at(runner, second)
    go_on(runner)


def kill_at(runner: Runner, *steps: Step) -> None:
    """Starts the queries if needed, and kills all of them when those that reach one of the steps are held there."""
    for step in steps:
        runner.gate.close(step.name)
    assert not runner.now.ended()
    held = {case: step for step in steps for case in runner.wait_for(step)}
    runner.kill()
    for step in steps:
        runner.gate.open(step.name)
    for case, found in runner.scene.check_all(killed=True).items():
        at = held.get(case)
        if at is not None and not at.start:
            assert found.logged == found.committed + 1, case.name
            assert found.applied == (found.logged if at.applied else found.committed), case.name


def go_on(runner: Runner) -> None:
    """Restarts all queries and asserts that their tables are exact."""
    runner.scene.advance(runner.begin())
    runner.scene.settle(runner.now)


def test_a_query_killed_around_sparks_commit_log_resumes_with_each_row_once(runner: Runner) -> None:
    scene = runner.scene
    assert not runner.now.ended()
    runner.kill()
    again = 0
    for case, found in scene.check_all(killed=True).items():
        if found.applied == found.committed:
            forget_last_commit(scene.checkpoint(case))
            again += 1
    assert again
    driver = runner.begin()
    scene.advance(driver)
    repeated = [query["metrics"].get("repeatedEpochs") for query in driver.status().values()]
    assert sum(int(count or 0) for count in repeated) >= again
    scene.settle(driver)


def test_after_all_kills_the_queries_stop_cleanly(runner: Runner) -> None:
    runner.now.stop_queries()
    runner.scene.check_all()
