"""Queries with one table each, the process that runs them, and the invariants of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crash.cases import PARTITIONS, ROWS_PER_BATCH, TRANSPORTS, Case, Step
from support.databases import Database, Postgres, Row, Sqlite
from support.drivers import Driver, Gate
from support.running import Running
from support.streams import numbers
from support.waiting import until

PACE = "700 milliseconds"


@dataclass(frozen=True)
class Found:
    """State of one query in the database and in the checkpoint."""

    applied: int
    logged: int
    committed: int

    @property
    def moment(self) -> str:
        """The step of the epoch that the query is at."""
        if self.logged == self.committed:
            return "between epochs"
        return "after the sink's commit, before Spark's" if self.applied == self.logged else "before the sink's commit"


@dataclass
class Scene:
    """Cases, each with a table, a checkpoint, and a query over an endless stream.

    Attributes:
        url: PostgreSQL URL, if not the database's own; table names then include the schema.
        write: additional settings of ``epochal.write.jdbc``.
    """

    cases: Sequence[Case]
    postgres: Postgres
    directory: Path
    url: str | None = None
    schema: str = ""
    write: dict[str, Any] = field(default_factory=dict)

    def create(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        for case in self.cases:
            self.database(case).execute(f"CREATE TABLE {case.name} ({case.shape.columns})")

    def database(self, case: Case) -> Database:
        """The case's database: on SQLite its own file, since a file has one writer at a time."""
        return self.postgres if case.database == "postgres" else Sqlite(self.directory / f"{case.name}.db")

    def checkpoint(self, case: Case) -> Path:
        return self.directory / "checkpoints" / case.name

    def query(self, case: Case, **write: Any) -> dict[str, Any]:
        """The command that starts a case's query."""
        database = self.database(case)
        pooled = self.url is not None and case.database == "postgres"
        arguments = {
            "url": self.url if pooled else database.url,
            "user": database.user,
            "table": f"{self.schema}.{case.name}" if pooled else case.name,
            "sinkId": case.name,
            "checkpoint": str(self.checkpoint(case)),
            **TRANSPORTS[case.transport],
            "trigger": PACE,
        }
        return {
            "name": case.name,
            "shape": case.mode,
            "write": arguments | dict(case.shape.write) | self.write | write,
        }

    def queries(self) -> list[dict[str, Any]]:
        return [self.query(case) for case in self.cases]

    def epochs(self) -> dict[Case, int]:
        """The last epoch in each ledger; -1 before the first."""
        last: dict[str, int] = {}
        for database in {self.database(case): None for case in self.cases}:
            if "epochal_ledger" in database.tables():
                last |= dict(database.query("SELECT sink_id, COALESCE(last_epoch, -1) FROM epochal_ledger"))
        return {case: last.get(case.name, -1) for case in self.cases}

    def advance(self, driver: Running, epochs: int = 2) -> None:
        """Waits until every query has applied that many more epochs."""
        goal = {case: last + epochs for case, last in self.epochs().items()}

        def there() -> bool:
            driver.assert_all_active()
            now = self.epochs()
            return all(now[case] >= goal[case] for case in self.cases)

        until(there, f"{epochs} epochs more of every query", 600)

    def outlive_crash(self, driver: Running) -> None:
        """Waits, after a crash of the server, until every query has applied one more epoch.

        Restarts queries that have lost rows in unlogged tables, which they may notice late.
        """
        goal = {case: last + 1 for case, last in self.epochs().items()}

        def there() -> bool:
            ended = {name: query["error"] for name, query in driver.status().items() if query["error"]}
            for case in self.cases:
                if case.transport in ("staged", "spill") and "EPOCHAL.STAGING_LOST" in ended.get(case.name, ""):
                    driver.start([self.query(case)])
                    ended.pop(case.name)
            assert not ended, ended
            now = self.epochs()
            return all(now[case] >= last for case, last in goal.items())

        until(there, "an epoch of every query after the crash")

    def check(self, case: Case, killed: bool = False) -> Found:
        """Asserts that the rows are the source's up to the ledger's last epoch; history and checkpoint must agree."""
        applied, problem = self.problems(case, in_parts=killed and case.transport == "prepared")
        assert not problem, problem
        logged, committed = (([-1, *numbers(self.checkpoint(case), log)])[-1] for log in ("offsets", "commits"))
        assert committed <= applied <= logged, f"{case.name}: applied {applied}, logged {logged}, committed {committed}"
        return Found(applied, logged, committed)

    def problems(self, case: Case, in_parts: bool = False) -> tuple[int, str]:
        """The last epoch, and a description of what is wrong in the database; empty if it is correct.

        Args:
            case: the case to check.
            in_parts: whether the last epoch may be decided with only some of its partitions visible.
        """
        database = self.database(case)
        if "epochal_ledger" not in database.tables():
            return -1, ""
        ledger, rows, history = database.together(
            f"SELECT COALESCE(last_epoch, -1) FROM epochal_ledger WHERE sink_id = '{case.name}'",
            f"SELECT * FROM {case.name} ORDER BY 1, 2",
            f"""SELECT h.epoch FROM epochal_ledger_history h JOIN epochal_ledger l USING (sink_id, query_id)
            WHERE sink_id = '{case.name}' ORDER BY number""",
        )
        last = int(ledger[0][0]) if ledger else -1
        expected = case.shape.expected((last + 1) * ROWS_PER_BATCH)
        if in_parts:
            before = case.shape.expected(last * ROWS_PER_BATCH)
            expected = [row for row in expected if row in before or row in rows]
        if rows != expected:
            return last, f"{case.name} after epoch {last}: {difference(rows, expected)}"
        if history and [epoch for (epoch,) in history] != list(range(last + 1 - len(history), last + 1)):
            return last, f"{case.name} after epoch {last}: its history has the epochs {history}"
        return last, ""

    def check_all(self, killed: bool = False) -> dict[Case, Found]:
        return {case: self.check(case, killed) for case in self.cases}

    def settle(self, driver: Running) -> None:
        """Waits until each table has been exact once while its query runs.

        A transport that shows an epoch in parts needs a moment for that.
        """
        for case in self.cases:
            until(lambda case=case: not self.problems(case)[1], f"exact rows in {case.name}", 120)  # type: ignore[misc]
        driver.assert_all_active()


def difference(rows: list[Row], expected: list[Row]) -> str:
    """Describes the lost, duplicate or wrong rows."""
    lost = sorted(set(expected) - set(rows))
    strange = sorted(set(rows) - set(expected))
    doubled = sorted({row for row in rows if rows.count(row) > 1}) if len(rows) > len(set(rows)) else []
    counts = f"{len(rows)} rows for {len(expected)}"
    return f"{counts}; lost {lost[:5]}, strange {strange[:5]}, doubled {doubled[:5]}"


def stages(threads: Iterable[str]) -> set[str]:
    """Stage ids of the tasks in these threads. Each query has its own stage."""
    return {match[1] for thread in threads if (match := re.search(r"in stage (\d+)", thread))}


class Runner:
    """The process that runs a scene's queries, and its successor, which starts meanwhile."""

    def __init__(self, scene: Scene, gate: Gate) -> None:
        self.scene = scene
        self.gate = gate
        self._next: Driver | None = None
        self._now: Driver | None = None

    def _new(self) -> Driver:
        return Driver(f"local[{PARTITIONS * len(self.scene.cases) + 2}]", self.gate)

    def begin(self) -> Driver:
        """Starts all queries in a new process."""
        self._now, self._next = self._next or self._new(), None
        self._now.start(self.scene.queries())
        self._next = self._new()
        return self._now

    @property
    def now(self) -> Driver:
        return self._now if self._now and not self._now.ended() else self.begin()

    def kill(self) -> None:
        if self._now:
            self._now.kill()

    def end(self) -> None:
        for driver in (self._now, self._next):
            if driver:
                driver.kill()

    def wait_for(self, step: Step) -> list[Case]:
        """Waits until all queries that reach the step are held there; returns them."""
        cases = [case for case in self.scene.cases if step.reached_by(case)]

        def there() -> bool:
            self.now.assert_all_active()
            waiting = self.gate.waiting(step.name)
            if step.by == "task":  # One of two tasks may have passed before the gate closed.
                return len(stages(waiting)) >= len(cases)
            return all(any(case.name in thread for thread in waiting) for case in cases)

        until(there, f"all queries at {step.name}")
        return cases


def prepared(postgres: Postgres) -> list[str]:
    """Prepared transactions in the test's schema. Killed processes of other tests may have left others."""
    found = postgres.query(
        f"""SELECT DISTINCT gid FROM pg_prepared_xacts AS p
        JOIN pg_locks AS own ON own.locktype = 'transactionid' AND own.transactionid = p.transaction AND own.pid IS NULL
        JOIN pg_locks AS held ON held.virtualtransaction = own.virtualtransaction AND held.pid IS NULL
        JOIN pg_class AS c ON c.oid = held.relation WHERE c.relnamespace = '{postgres.schema}'::regnamespace"""
    )
    return [gid for (gid,) in found]


def until_nothing_is_prepared(postgres: Postgres) -> None:
    """Waits until no prepared transaction is left: the sink looks several times for those of tasks that end late."""
    until(lambda: not prepared(postgres), "the end of what was prepared", 180)


@contextmanager
def running(scene: Scene, gate: Gate) -> Iterator[Runner]:
    """Creates the scene's tables; kills its processes at the end."""
    scene.create()
    runner = Runner(scene, gate)
    try:
        yield runner
    finally:
        runner.end()
