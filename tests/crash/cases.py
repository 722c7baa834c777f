"""The kill matrix as data: steps × (database × transport × mode). ``tests/README.md`` has it as a table.

To add a transport, mode or step, add a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.databases import Row
from support.seeds import FULL, SMALL_SUITE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_BATCH = 20
PARTITIONS = 2
KEYS = 37
GROUPS = 7

BODY = "CASE WHEN id % 11 <> 0 THEN concat('row ', id, repeat(' é€😀\"', CAST(id % 5 AS INT))) END AS body"


def body(number: int) -> str | None:
    """The value of ``BODY``."""
    return f"row {number}" + ' é€😀"' * (number % 5) if number % 11 else None


@dataclass(frozen=True)
class Shape:
    """One write mode: the query over the source's ids, and the expected table after the first ``n`` of them.

    Attributes:
        columns: columns of the table.
        select: expressions over ``id``; grouped by ``k`` if ``grouped``.
        write: arguments of ``epochal.write.jdbc``, options under the jar's names.
        expected: expected rows by first column.
    """

    columns: str
    select: tuple[str, ...]
    expected: Callable[[int], list[Row]]
    write: Mapping[str, Any] = field(default_factory=dict)
    grouped: bool = False


def _appended(count: int) -> list[Row]:
    return [(number, body(number)) for number in range(count)]


def _latest(count: int) -> list[Row]:
    return sorted({number % KEYS: (number % KEYS, number, body(number)) for number in range(count)}.values())


def _sums(count: int) -> list[Row]:
    groups = [range(group, count, GROUPS) for group in range(min(GROUPS, count))]
    return [(group, len(ids), sum(ids)) for group, ids in enumerate(groups)]


_SUMS = "k BIGINT PRIMARY KEY, n BIGINT, total BIGINT"
_GROUP = (f"id % {GROUPS} AS k", "id")

SHAPES = {
    "append": Shape("id BIGINT, body TEXT", ("id", BODY), _appended),
    "keyed": Shape("id BIGINT PRIMARY KEY, body TEXT", ("id", BODY), _appended),
    "upsert": Shape(
        "k BIGINT PRIMARY KEY, id BIGINT, body TEXT",
        (f"id % {KEYS} AS k", "id", BODY),
        _latest,
        {"mode": "upsert", "keyColumns": ["k"], "orderColumn": "id"},
    ),
    "bad": Shape("id BIGINT, body TEXT", ("id", "concat('nul ', char(0)) AS body"), lambda _: []),
    "wide": Shape(
        "id BIGINT, a TEXT, b TEXT, c DOUBLE, d BIGINT",
        ("id", "concat('first ', value) AS a", "repeat(value, 2) AS b", "id / 7.0D AS c", "id * 2 AS d"),
        lambda _: [],
    ),
    "update": Shape(_SUMS, _GROUP, _sums, {"output_mode": "update", "keyColumns": ["k"]}, grouped=True),
    "complete": Shape(_SUMS, _GROUP, _sums, {"output_mode": "complete"}, grouped=True),
}


def frame(spark: SparkSession, shape: Shape, rows_per_batch: int = ROWS_PER_BATCH, **source: Any) -> DataFrame:
    """Builds the query of a shape."""
    from pyspark.sql import functions as f

    import epochal

    ids = epochal.read.random(spark, rows_per_batch=rows_per_batch, num_partitions=PARTITIONS, seed=4, **source)
    rows = ids.selectExpr(*shape.select)
    return rows.groupBy("k").agg(f.count("*").alias("n"), f.sum("id").alias("total")) if shape.grouped else rows


@dataclass(frozen=True)
class Case:
    """A query with its own table."""

    database: str
    transport: str
    mode: str

    @property
    def name(self) -> str:
        return f"{self.mode}_{self.transport}_{self.database}"

    @property
    def shape(self) -> Shape:
        return SHAPES[self.mode]


#: Sink options that select a transport. ``spill``: a task's message holds only some of its rows.
TRANSPORTS: dict[str, Mapping[str, Any]] = {
    "inline": {"transport": "inline"},
    "staged": {"transport": "staged"},
    "spill": {"transport": "auto", "inlineMaxBytes": 900},
    "prepared": {"transport": "prepared"},
}

#: Transport → its modes on PostgreSQL.
MODES = {
    "inline": ("append", "upsert", "update", "complete"),
    "staged": ("append", "upsert", "update", "complete"),
    "spill": ("append", "upsert"),
    "prepared": ("append", "keyed"),
}

_ALL = [Case("postgres", transport, mode) for transport, modes in MODES.items() for mode in modes]
_ALL += [Case("sqlite", "inline", mode) for mode in ("append", "upsert", "complete")]

#: ``EPOCHAL_CRASH=full``: all cases; else one of each kind, in `make test` one of each transport.
_FEW: dict[str, tuple[str, ...]] = (
    {"inline": ("append",), "staged": ("upsert",), "prepared": ("append",)}
    if SMALL_SUITE
    else {"inline": ("append", "complete"), "staged": ("append", "upsert"), "prepared": ("append",)}
)
CASES = [case for case in _ALL if FULL or case.mode in _FEW.get(case.transport, ())]
ON_POSTGRES = [case for case in CASES if case.database == "postgres"]


@dataclass(frozen=True)
class Step:
    """A step of an epoch at which processes are killed.

    Attributes:
        name: name of the failpoint.
        by: who reaches it, ``query`` (the query's thread in the driver) or ``task``.
        start: whether it is reached only at the start of a query.
        applied: whether the epoch is in the database after the kill.
        transports: transports that reach it; None: all.
    """

    name: str
    by: str = "query"
    start: bool = False
    applied: bool = False
    transports: tuple[str, ...] | None = None

    def reached_by(self, case: Case) -> bool:
        return self.transports is None or case.transport in self.transports


_STAGED = ("staged",)
_PREPARED = ("prepared",)

#: Each entry is one kill: at one step, or at several that different transports reach.
ROUNDS = [
    (Step("task.before-commit", by="task"),),
    (Step("task.staged", by="task", transports=_STAGED), Step("task.prepared", by="task", transports=_PREPARED)),
    (Step("task.after-commit", by="task"),),
    (Step("ledger.before-lock"),),
    (Step("rows.loaded"),),
    (Step("ledger.written"),),
    (Step("commit.before"),),
    (Step("commit.after", applied=True),),
    (
        Step("cleanup.before", transports=_STAGED),
        Step("prepared.before-commit", applied=True, transports=_PREPARED),
    ),
    (Step("prepared.after-commit", applied=True, transports=_PREPARED),),
    (Step("claim.before", start=True),),
    (Step("claim.after", start=True),),
]
SHORT_ROUNDS = (1, 2, 5, 7, 8, 11)

#: A first kill, and a second one while the next run recovers.
TWICE = [
    (
        Step("task.prepared", by="task", transports=_PREPARED),
        Step("cleanup.before", start=True, transports=_PREPARED),
    ),
    (
        Step("prepared.before-commit", applied=True, transports=_PREPARED),
        Step("prepared.before-commit", start=True, transports=_PREPARED),
    ),
    (
        Step("prepared.after-commit", applied=True, transports=_PREPARED),
        Step("prepared.after-commit", start=True, transports=_PREPARED),
    ),
    (Step("task.staged", by="task", transports=_STAGED), Step("cleanup.before", start=True, transports=_STAGED)),
]
