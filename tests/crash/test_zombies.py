"""Two drivers that both believe they own the sink."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.cases import CASES, ON_POSTGRES, PARTITIONS, Case
from crash.queries import Queries
from crash.scene import Scene, stages
from support.databases import Postgres
from support.drivers import Driver, Gate
from support.waiting import until

pytestmark = [pytest.mark.crash, pytest.mark.slow]

STEP = "task.after-commit"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gates", [STEP])


@pytest.fixture
def other(gate: Gate) -> Iterator[Driver]:
    """Another driver."""
    driver = Driver(f"local[{PARTITIONS * len(CASES) + 2}]", gate)
    yield driver
    driver.kill()


def test_a_frozen_driver_that_was_replaced_is_fenced_and_writes_nothing(
    here: Queries, other: Driver, gate: Gate, postgres: Postgres, tmp_path: Path
) -> None:
    # A thread that waited for a connection before the freeze still waits afterwards; its error must name the new run.
    scene = Scene(CASES, postgres, tmp_path, write={"retry.deadline": "1h"})
    scene.create()
    other.start(scene.queries())
    scene.advance(other)
    gate.close(STEP)
    until(lambda: len(stages(gate.waiting(STEP))) >= len(CASES), "tasks that wait")
    other.freeze()
    here.start(scene.queries())
    scene.advance(here)
    other.thaw()
    gate.open(STEP)
    for case in CASES:
        assert "EPOCHAL.SINK_FENCED" in other.error_of(case.name)
    scene.advance(here)
    here.stop_queries()
    scene.check_all()


def test_at_most_one_driver_on_copies_of_a_checkpoint_continues_and_no_row_is_repeated(
    here: Queries, other: Driver, postgres: Postgres, tmp_path: Path
) -> None:
    mine = Scene(ON_POSTGRES, postgres, tmp_path / "mine")
    copy = Scene(ON_POSTGRES, postgres, tmp_path / "copy")
    mine.create()
    here.start(mine.queries())
    mine.advance(here)
    here.stop_queries()
    mine.check_all()
    shutil.copytree(mine.directory, copy.directory)

    here.start(mine.queries())
    other.start(copy.queries())
    for case in ON_POSTGRES:
        until(lambda case=case: not both_run(case, here, other), f"the end of one of {case.name}")  # type: ignore[misc]
    for query in [*here.status().values(), *other.status().values()]:
        if query["error"]:
            assert "EPOCHAL.SINK_FENCED" in query["error"] or "EPOCHAL.EPOCH_REGRESSED" in query["error"]
    here.stop_queries()
    other.stop_queries()
    for case in ON_POSTGRES:
        assert mine.problems(case)[1] == ""


def both_run(case: Case, here: Queries, other: Driver) -> bool:
    return bool(here.status()[case.name]["active"] and other.status()[case.name]["active"])
