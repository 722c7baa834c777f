"""Continuous queries killed with SIGKILL in the middle of data and resumed: deliveries of Spark's engine from
``epochal-random`` and from its own ``rate`` to a sink that does not handle replays.

Every other kill comes within two epochs after data was committed; the one after it within two epochs after the next
run's first commit, where the engine itself loses rows: see ``docs/continuous.md``. ``EPOCHAL_KILL_RUNS`` sets the
number of kills, ``EPOCHAL_KILL_SEED`` repeats their moments. The output has the counts.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.epoch_files import build, epochs
from support.programs import Program
from support.seeds import FULL, kill_seed
from support.streams import numbers
from support.waiting import until

KILLS = int(os.environ.get("EPOCHAL_KILL_RUNS") or (50 if FULL else 3))
SEED = kill_seed()
EPOCH_MILLIS = 300
#: Duration of an epoch's commit in the driver, as in a database.
COMMIT_MILLIS = 100
RATE = 100
PARTITIONS = 2

#: Name → format, options, and the column that counts rows.
SOURCES = {
    "random": ("epochal-random", {"rowsPerSecond": RATE, "numPartitions": PARTITIONS}, "id"),
    "rate": ("rate", {"rowsPerSecond": RATE, "numPartitions": PARTITIONS}, "value"),
}

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


class Job(Program):
    """``crash/continuous_job.py``. It waits for ``go``."""

    def __init__(self, settings: dict[str, object]) -> None:
        super().__init__("crash.continuous_job")
        self.send(json.dumps(settings))

    def go(self) -> None:
        until(lambda: b"ready\n" in self._output or self.ended(), "the job's session")
        self.send("go")


@dataclass(frozen=True)
class Delivered:
    """Rows of committed epochs, up to the last row that all partitions had reached."""

    rows: int
    lost: int
    repeated: int


def delivered(path: Path) -> Delivered:
    counts = Counter(row for rows in epochs(path).values() for row, _ in rows)
    end = 1 + min(max((row for row in counts if row % PARTITIONS == part), default=-1) for part in range(PARTITIONS))
    return Delivered(
        end, sum(row not in counts for row in range(end)), sum(counts[row] - 1 for row in range(end) if row in counts)
    )


def test_a_continuous_query_killed_in_the_middle_of_data_loses_no_row(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {KILLS} kills")
    queries = [
        {
            "format": name,
            "options": options,
            "column": column,
            "path": str(tmp_path / source),
            "checkpoint": str(tmp_path / f"checkpoint-{source}"),
            "sink": {"commitMillis": COMMIT_MILLIS},
        }
        for source, (name, options, column) in SOURCES.items()
    ]
    for source in SOURCES:
        (tmp_path / source).mkdir()
    checkpoints = [tmp_path / f"checkpoint-{source}" for source in SOURCES]
    settings: dict[str, object] = {
        "jar": str(build(tmp_path)),
        "queries": queries,
        "continuous": f"{EPOCH_MILLIS} milliseconds",
    }

    def committed() -> list[int]:
        return [max(numbers(checkpoint, "commits"), default=-1) for checkpoint in checkpoints]

    def rows() -> list[int]:
        return [sum(len(found) for found in epochs(tmp_path / source).values()) for source in SOURCES]

    with ExitStack() as stack:

        def start() -> Job:
            job = Job(settings)
            stack.callback(job.kill)
            return job

        torn = Counter[str]()
        next_job = start()
        for kill in range(KILLS + 1):
            count, goals = (committed, 1) if kill % 2 and kill < KILLS else (rows, RATE)
            goal = [found + goals for found in count()]
            job = next_job
            job.go()
            # The next session starts while this one runs.
            next_job = start() if kill < KILLS else job

            def went_on(job: Job = job, count: Callable[[], list[int]] = count, goal: list[int] = goal) -> bool:
                job.assert_runs()
                return all(now >= wanted for now, wanted in zip(count(), goal, strict=True))

            until(went_on, "an epoch, or rows, of each query")
            time.sleep(draw.uniform(0, 2 * EPOCH_MILLIS / 1000))
            if kill == KILLS:
                job.send("stop")
                job.wait()
                break
            job.kill()
            for source, checkpoint in zip(SOURCES, checkpoints, strict=True):
                logged = max(numbers(checkpoint, "offsets"), default=-1)
                torn[source] += logged > max(numbers(checkpoint, "commits"), default=-1)
    found = {source: delivered(tmp_path / source) for source in SOURCES}
    for source, what in found.items():
        print(f"{source}: {what}; {torn[source]} kills between an epoch's two log entries")
    assert found["random"].lost == 0
    assert found["random"].rows > 0 < found["rate"].rows
