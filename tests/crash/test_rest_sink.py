"""Runs of a stream into APIs, killed with SIGKILL at random moments and resumed; some lose ``commits/N`` too.

``EPOCHAL_KILL_SEED`` sets the seed, which a run prints.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.orders import Orders, Sent, serve
from support.programs import Program
from support.seeds import FULL, kill_seed
from support.streams import forget_last_commit, numbers
from support.waiting import until

RUNS = 20 if FULL else 4
SEED = kill_seed()
ROWS = 250 * RUNS
#: Name → whether the server honours idempotency keys, and the options of the query.
WAYS: dict[str, tuple[bool, dict[str, Any]]] = {
    "place": (True, {}),
    "place-batches": (True, {"batchSize": 7}),
    "columns": (True, {"keyColumns": ["id"]}),
    "columns-batches": (True, {"keyColumns": ["id"], "batchSize": 7, "numPartitions": 2}),
    "changes": (True, {"mode": "changes", "deleteTemplate": '{"id": ${id}}', "keyColumns": ["id"], "batchSize": 7}),
    "careless": (False, {"batchSize": 3}),
}

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(300 + 120 * RUNS)]


class Job(Program):
    """``crash/rest_sink_job.py``. It waits for ``go``."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__("crash.rest_sink_job")
        self.send(json.dumps(settings))

    def go(self) -> None:
        until(lambda: b"ready\n" in self._output or self.ended(), "the job's session")
        self.send("go")


def slowly(sent: Sent) -> tuple[int, Any]:
    time.sleep(0.002)
    return 201, {}


def test_rows_are_applied_once_after_any_number_of_kills(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    print(f"\nseed {SEED}, {RUNS} runs")
    with ExitStack() as stack:
        apis = {name: stack.enter_context(serve(Orders(honours=honours))) for name, (honours, _) in WAYS.items()}
        for orders in apis.values():
            orders.reply = slowly
        settings = {
            "rows": ROWS,
            "targets": [
                {"url": apis[name].url, "sinkId": name, "checkpoint": str(tmp_path / name), **options}
                for name, (_, options) in WAYS.items()
            ],
        }

        def start() -> Job:
            job = Job(settings)
            stack.callback(job.kill)
            return job

        def count() -> int:
            return sum(len(orders.applied) for orders in apis.values())

        replays = 0
        next_job = start()
        for run in range(RUNS):
            job, next_job = next_job, start()
            before = count()
            job.go()
            goal = before + draw.randrange(1, 300)
            until(lambda goal=goal, job=job: count() >= goal or job.ended(), f"{goal} rows")  # type: ignore[misc]
            time.sleep(draw.uniform(0, 0.3))
            job.kill()
            for name in WAYS:
                logs = [numbers(tmp_path / name, log) for log in ("offsets", "commits")]
                if draw.random() < 0.5 and logs[0] and logs[0] == logs[1]:
                    forget_last_commit(tmp_path / name)
                replays += numbers(tmp_path / name, "offsets") != numbers(tmp_path / name, "commits")
            print(f"run {run + 1}: killed with {count() - before} rows more")
        next_job.go()
        next_job.wait(1200)
        print(f"{replays} epochs were sent again")
        assert replays > 0
        for name, (honours, _) in WAYS.items():
            applied = apis[name].applied
            if honours:
                assert applied == Counter(range(ROWS)), f"{name} (seed {SEED})"
            else:
                assert set(applied) == set(range(ROWS)), f"{name} (seed {SEED})"
