"""Long-running queries of every transport and mode, killed with SIGKILL at random moments.

``EPOCHAL_KILL_RUNS`` sets the number of kills or ``EPOCHAL_KILL_HOURS`` the duration; ``EPOCHAL_KILL_SEED`` repeats the
moments of a run. The kills are distributed over several tests, which pytest-xdist runs in parallel. The tables are
recreated every 25 kills, because they grow and are compared row by row after each kill.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from crash.cases import CASES
from crash.scene import Runner, Scene, running, until_nothing_is_prepared
from support.databases import new_postgres
from support.drivers import Gate
from support.seeds import kill_seed

KILLS = int(os.environ.get("EPOCHAL_KILL_RUNS", "200"))
HOURS = float(os.environ.get("EPOCHAL_KILL_HOURS", "0"))
SEED = kill_seed()
SHARES = 4
KILLS_PER_SCENE = 25
WHILE_STARTING = 0.25

pytestmark = [
    pytest.mark.slow,
    pytest.mark.crash,
    pytest.mark.long,
    pytest.mark.timeout(int(HOURS * 3600) + 120 * KILLS + 600),
]


class Phase:
    """Kills so far, of processes and of the queries in them.

    Args:
        seed: seed of the moments.
        goal: number of kills, if no hours are set.
    """

    def __init__(self, seed: int, goal: int) -> None:
        self.draw = random.Random(seed)
        self.goal = goal
        self.end = time.monotonic() + HOURS * 3600
        self.kills = 0
        self.moments: Counter[str] = Counter()

    def over(self) -> bool:
        return time.monotonic() > self.end if HOURS else self.kills >= self.goal

    def kill(self, runner: Runner) -> None:
        """Starts the queries, kills them during their start or later, and compares the tables."""
        driver = runner.begin()
        starting = self.draw.random() < WHILE_STARTING
        if not starting:
            runner.scene.advance(driver, 1)
        pause = self.draw.uniform(0, 3 if starting else 1)
        time.sleep(pause)
        driver.assert_all_active()
        driver.kill()
        self.kills += 1
        moments = Counter(found.moment for found in runner.scene.check_all(killed=True).values())
        self.moments += moments
        when = "the start" if starting else "an epoch of every query"
        print(f"kill {self.kills}: {pause:.2f} s after {when}: {dict(moments)}", flush=True)


@pytest.mark.parametrize("share", range(SHARES))
def test_queries_killed_at_random_moments_lose_and_repeat_no_row(
    postgres_server: str, tmp_path: Path, share: int
) -> None:
    phase = Phase(SEED + share, KILLS // SHARES + (share < KILLS % SHARES))
    print(f"\nEPOCHAL_KILL_SEED={SEED}: {HOURS} hours or {phase.goal} kills of {len(CASES)} queries each")
    while not phase.over():
        directory = tmp_path / f"from-{phase.kills}"
        directory.mkdir()
        postgres = new_postgres(postgres_server, f"random_{SEED}_{share}_{phase.kills}")
        with running(Scene(CASES, postgres, directory), Gate(directory / "gates", [])) as runner:
            for _ in range(KILLS_PER_SCENE):
                if not phase.over():
                    phase.kill(runner)
            runner.scene.advance(runner.begin())
            runner.now.stop_queries()
            until_nothing_is_prepared(postgres)
            runner.scene.check_all()
        postgres.execute("SET lock_timeout = '60s'", f"DROP SCHEMA {postgres.schema} CASCADE")
    print(f"{phase.kills} processes killed, {phase.moments.total()} queries in them: {dict(phase.moments)}")
    assert phase.moments.total() == phase.kills * len(CASES)
