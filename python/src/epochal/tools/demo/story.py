"""The sequence of events of the demo, and the checks at its end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from epochal.errors import EpochalError
from epochal.tools.demo import database
from epochal.tools.demo.comments import COLUMNS, Comment, comments
from epochal.tools.demo.database import Target
from epochal.tools.demo.job import Settings
from epochal.tools.demo.process import JobProcess
from epochal.tools.demo.server import serve

TABLE = "comments"
SINK_ID = "comments"
_LEDGER_COLUMNS = ("sink_id", "target", "query_id", "generation", "epochs", "total_rows", "last_epoch", "digest")
_ENDINGS = ("killed", "complete")
_POLL = 0.02
_PATIENCE = 180.0


@dataclass(frozen=True)
class Run:
    """A run of the job: its rows and epochs in the ledger, and how it ended."""

    number: int
    rows: int
    epochs: int
    ending: str


@dataclass(frozen=True)
class Outcome:
    """The contents of the database, compared with the served comments.

    Attributes:
        duplicates: number of rows with a repeated id.
        missing: number of served comments whose id is not in the table.
        different: number of rows that differ from the served comment in any field.
        ledger: the sink's row in the ledger, by column.
    """

    served: int
    stored: int
    runs: tuple[Run, ...]
    duplicates: int
    missing: int
    different: int
    ledger: dict[str, Any]

    @property
    def exactly_once(self) -> bool:
        """Whether the table has every comment once and as served, and both runs wrote rows."""
        clean = self.duplicates == self.missing == self.different == 0
        both = len(self.runs) == len(_ENDINGS) and all(run.rows > 0 for run in self.runs)
        return clean and both and self.stored == self.served == sum(run.rows for run in self.runs)


class Watcher(Protocol):
    """Receives the events of the demo."""

    def says(self, text: str) -> None: ...

    def rows(self, count: int) -> None:
        """Reports the number of rows in the table."""


def play(target: Target, directory: Path, watcher: Watcher, *, count: int = 500, rows_per_batch: int = 20) -> Outcome:
    """Streams ``count`` comments into ``target``, kills the job half way, and resumes it.

    Args:
        directory: an empty directory for the checkpoint and the runs' logs.

    Raises:
        EpochalError: a run failed (``DEMO_FAILED``).
    """
    api_comments = comments(count)
    target.clear()
    with serve(api_comments) as api:
        settings = Settings(
            api=api,
            database=target.url,
            user=target.user,
            password=target.password,
            table=TABLE,
            sink_id=SINK_ID,
            checkpoint=str(directory / "checkpoint"),
            rows_per_batch=rows_per_batch,
            available_now=False,
        )
        watcher.says(f"An API on {api} has {count} comments.")
        watcher.says(f"Run 1 streams them, {rows_per_batch} in a batch, into {TABLE!r} of {target.url}")
        # Both sessions start at once.
        with _job(directory / "run-1.log") as first, _job(directory / "run-2.log") as second:
            first.go(settings)
            _wait(first, target, watcher, count // 2)
            first.kill()
            before = database.count(target, TABLE)
            watcher.rows(before)
            note = _interruption(target, settings)
            watcher.says(f"SIGKILL: run 1 is dead with {before} of {count} rows in the table. {note}")
            if not 0 < before < count:
                problem = f"The kill was not in the middle: run 1 had written {before} of {count} rows."
                raise EpochalError("DEMO_FAILED", problem, "Run the demo again.")

            watcher.says("Run 2 resumes from the same checkpoint")
            second.go(replace(settings, available_now=True))
            _wait(second, target, watcher, count)
            if (code := _await_exit(second)) != 0:
                raise _failure(second, f"Run 2 ended with exit code {code}")
    watcher.rows(database.count(target, TABLE))
    return compare(api_comments, target)


def compare(api_comments: list[Comment], target: Target) -> Outcome:
    """Compares the table with the served comments."""
    table_rows = database.rows(target, TABLE)
    expected_rows = {comment["id"]: tuple(comment.values()) for comment in api_comments}
    counts = Counter(row[COLUMNS.index("id")] for row in table_rows)
    ledger = target.query(f"SELECT {', '.join(_LEDGER_COLUMNS)} FROM epochal_ledger WHERE sink_id = '{SINK_ID}'")
    return Outcome(
        served=len(api_comments),
        stored=len(table_rows),
        runs=_runs(target),
        duplicates=sum(counts.values()) - len(counts),
        missing=len(expected_rows.keys() - counts.keys()),
        different=sum(row != expected_rows.get(row[COLUMNS.index("id")]) for row in table_rows),
        ledger=dict(zip(_LEDGER_COLUMNS, ledger[0], strict=True)) if ledger else {},
    )


def _runs(target: Target) -> tuple[Run, ...]:
    """The runs in the ledger; each has its own generation."""
    records = target.query(
        "SELECT sum(rows), count(*) FROM epochal_ledger_history"
        f" WHERE sink_id = '{SINK_ID}' GROUP BY generation ORDER BY generation"
    )
    return tuple(
        Run(number, int(rows), int(epochs), _ENDINGS[min(number, len(_ENDINGS)) - 1])
        for number, (rows, epochs) in enumerate(records, start=1)
    )


@contextmanager
def _job(log: Path) -> Iterator[JobProcess]:
    job = JobProcess(log)
    try:
        yield job
    finally:
        job.kill()


def _wait(job: JobProcess, target: Target, watcher: Watcher, goal: int) -> None:
    """Waits until ``goal`` rows are in the table."""
    deadline = time.monotonic() + _PATIENCE
    best = 0
    while best < goal:
        now = database.count(target, TABLE)
        if now > best:
            best, deadline = now, time.monotonic() + _PATIENCE
            watcher.rows(now)
        elif (code := job.exit_code()) is not None and database.count(target, TABLE) < goal:
            raise _failure(job, f"The job ended with exit code {code} and {best} of {goal} rows")
        elif time.monotonic() > deadline:
            raise _failure(job, f"No new row for {_PATIENCE:.0f} s, {best} of {goal} rows")
        else:
            time.sleep(_POLL)


def _await_exit(job: JobProcess) -> int | None:
    deadline = time.monotonic() + _PATIENCE
    while job.exit_code() is None and time.monotonic() < deadline:
        time.sleep(_POLL)
    return job.exit_code()


def _interruption(target: Target, settings: Settings) -> str:
    """Describes the point of the kill, from the last epoch in the checkpoint and in the ledger."""
    planned_epoch, committed_epoch = (_newest(Path(settings.checkpoint) / log) for log in ("offsets", "commits"))
    ledger_rows = target.query(f"SELECT last_epoch FROM epochal_ledger WHERE sink_id = '{SINK_ID}'")
    if planned_epoch <= committed_epoch:
        return f"It had finished epoch {committed_epoch}."
    if ledger_rows and ledger_rows[0][0] == planned_epoch:
        return f"Epoch {planned_epoch} is in the table, but Spark does not know: its replay will change nothing."
    return f"Epoch {planned_epoch} was under way: it will be replayed."


def _newest(log: Path) -> int:
    return max((int(file.name) for file in log.glob("*") if file.name.isdigit()), default=-1)


def _failure(job: JobProcess, problem: str) -> EpochalError:
    """A run of the job failed, or made no progress without being killed."""
    return EpochalError("DEMO_FAILED", f"{problem}.", f"The end of {job.log}:\n{job.last_words()}")
