"""epochal-jdbc into SQLite, MariaDB and MySQL, compared with what a user would write instead."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jdbc import EPOCH, EPOCHS, PEER, events, measure, other, peer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from steady import Contest

import epochal

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import mysql  # noqa: E402

NAMES = "id, name, amount, at, kind"
LIMIT = "limit: bytes ready"
NOOP = "noop"


def drivers() -> str:
    """The class path of the JDBC drivers that are not in Epochal's jar."""
    return ":".join(str(jar) for jar in sorted((ROOT / "build" / "drivers").glob("m*-*.jar")))


@dataclass
class Place:
    """A database under measurement.

    Args:
        peer_url: the URL for Spark's own ``jdbc`` format, with the settings that are recommended for speed.
        tasks: partitions of the alternative: a file has one writer.
        fresh: creates an empty table ``events``, with or without a primary key.
        count: rows in it.
        limit: loads an epoch of prepared rows by the fastest way of the database; returns its seconds.
    """

    name: str
    url: str
    peer_url: str
    driver: str
    tasks: int
    fresh: Callable[[bool], None]
    count: Callable[[], int]
    limit: Callable[[], float]
    execute: Callable[[str], None]


@contextmanager
def sqlite(directory: Path) -> Iterator[Place]:
    file = directory / "events.db"
    columns = "id INTEGER{}, name TEXT, amount REAL, at TEXT, kind INTEGER"
    rows = [(n, str(n).rjust(20, "x"), n / 7.0, "2026-01-31T12:30:00.123456Z", n % 1000) for n in range(EPOCH)]

    def run(sql: str) -> Any:
        connection = sqlite3.connect(file)
        try:
            found = connection.execute(sql).fetchone()
            connection.commit()
            return found
        finally:
            connection.close()

    def fresh(key: bool) -> None:
        for old in directory.glob("events.db*"):
            old.unlink()
        run(f"CREATE TABLE events ({columns.format(' PRIMARY KEY' if key else '')})")

    def limit() -> float:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        begin = time.perf_counter()
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        taken = time.perf_counter() - begin
        connection.close()
        return taken

    url = f"jdbc:sqlite:{file}"
    count = lambda: int(run("SELECT count(*) FROM events")[0])  # noqa: E731
    yield Place("SQLite", url, f"{url}?journal_mode=WAL", "org.sqlite.JDBC", 1, fresh, count, limit, run)


@contextmanager
def served(kind: str, directory: Path) -> Iterator[Place]:
    memory = ["--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M", "--local-infile=ON"]
    with mysql.server(kind, *memory) as server:
        server.client("-e", "CREATE DATABASE bench CHARACTER SET utf8mb4")
        lines = directory / f"{kind}.txt"
        lines.write_text(
            "".join(f"{n}\t{n:x>20}\t{n / 7.0}\t2026-01-31 12:30:00.123456\t{n % 1000}\n" for n in range(EPOCH))
        )

        def run(sql: str) -> str:
            return server.client("--local-infile=1", "-N", "bench", sql=sql)

        def fresh(key: bool) -> None:
            columns = "id BIGINT{}, name VARCHAR(40), amount DOUBLE, at TIMESTAMP(6) NULL, kind INT"
            run(
                "DROP TABLE IF EXISTS events, incoming, epochal_ledger, epochal_ledger_retired, epochal_ledger_history;"
                f"CREATE TABLE events ({columns.format(' PRIMARY KEY' if key else '')}) ENGINE=InnoDB"
            )

        def limit() -> float:
            begin = time.perf_counter()
            run(f"LOAD DATA LOCAL INFILE '{lines}' INTO TABLE events CHARACTER SET binary")
            return time.perf_counter() - begin

        at = f"127.0.0.1:{server.port}/bench?user=root"
        fast, driver = ("permitMysqlScheme&useBulkStmts=true", "org.mariadb.jdbc.Driver")
        if kind == "mysql":
            fast, driver = "rewriteBatchedStatements=true", "com.mysql.cj.jdbc.Driver"
        count = lambda: int(run("SELECT count(*) FROM events"))  # noqa: E731
        name = "MariaDB" if kind == "mariadb" else "MySQL"
        yield Place(name, f"jdbc:{kind}://{at}", f"jdbc:mysql://{at}&{fast}", driver, 2, fresh, count, limit, run)


def insert(batch: DataFrame, place: Place, table: str = "events", mode: str = "append") -> None:
    """Inserts with the settings that the documentation of Spark and of the driver recommends for speed."""
    batch.coalesce(place.tasks).write.mode(mode).option("batchsize", 10_000).option("truncate", True).jdbc(
        place.peer_url, table, properties={"driver": place.driver}
    )


class Own:
    """Rows per second of a sink alone: the time of noop for the same epochs does not count."""

    def __init__(self, skipped: int = 0) -> None:
        self._skipped = skipped
        self._noop = 0.0

    def noop(self, df: DataFrame) -> float:
        self._noop = self._millis(other(df, lambda writer: writer.format("noop")))
        return self._rows() / self._noop * 1000

    def of(self, progress: list[dict[str, Any]]) -> float:
        return self._rows() / (self._millis(progress) - self._noop) * 1000

    def _rows(self) -> int:
        return EPOCH * (EPOCHS - self._skipped)

    def _millis(self, progress: list[dict[str, Any]]) -> float:
        return float(sum(p["durationMs"]["triggerExecution"] for p in progress[self._skipped :]))


def ours(df: DataFrame, place: Place, **options: Any) -> list[dict[str, Any]]:
    def start(checkpoint: str) -> Any:
        where: dict[str, Any] = {"table": "events", "checkpoint": checkpoint, "trigger": "availableNow"}
        return epochal.write.jdbc(df, place.url, **where, options=options)

    progress = measure(start)
    metrics = progress[-1]["sink"]["metrics"]
    if "load" in metrics:
        assert metrics["load"] == "LOAD DATA LOCAL", metrics
    return progress


def append(spark: SparkSession, place: Place, key: bool, goals: tuple[float, float]) -> bool:
    own = Own()

    def by(run: Callable[[], list[dict[str, Any]]]) -> float:
        place.fresh(key)
        rate = own.of(run())
        assert place.count() == EPOCH * EPOCHS
        return rate

    def limit() -> float:
        place.fresh(key)
        return EPOCH / place.limit()

    return Contest(
        f"Into {place.name}, {EPOCHS} epochs of {EPOCH:,} rows, {'with a primary key' if key else 'no key'}, "
        "without noop's time",
        {
            NOOP: lambda: own.noop(events(spark)),
            "auto": lambda: by(lambda: ours(events(spark), place)),
            PEER: lambda: by(lambda: peer(events(spark), lambda batch: insert(batch, place))),
            LIMIT: limit,
        },
        goals={("auto", PEER): goals[0], ("auto", LIMIT): goals[1]},
        rounds=3,
        warm_up=1,
    ).run()


def upsert(spark: SparkSession, place: Place, goal: float) -> bool:
    """Epochs with half of their rows new, into a table of two epochs' rows. The first two are not counted."""
    own = Own(skipped=2)
    half_new = 2 * EPOCH - EPOCH // 2
    sets = ", ".join(f"{name} = VALUES({name})" for name in NAMES.split(", ")[1:])

    def sliding() -> DataFrame:
        return events(spark, start=half_new).withColumn(
            "id", expr(f"id - (id - {half_new}) div {EPOCH} * {EPOCH // 2}")
        )

    def by(run: Callable[[], list[dict[str, Any]]]) -> float:
        place.fresh(True)
        place.limit()
        place.execute(f"INSERT INTO events ({NAMES}) SELECT id + {EPOCH}, name, amount, at, kind FROM events")
        rate = own.of(run())
        assert place.count() == 2 * EPOCH + EPOCHS * EPOCH // 2
        return rate

    def merge(batch: DataFrame) -> None:
        insert(batch, place, "incoming", "overwrite")
        place.execute(f"INSERT INTO events ({NAMES}) SELECT {NAMES} FROM incoming ON DUPLICATE KEY UPDATE {sets}")

    return Contest(
        f"Upsert of {EPOCH:,} rows into {2 * EPOCH:,} of {place.name}, half new, without noop's time",
        {
            NOOP: lambda: own.noop(sliding()),
            "auto": lambda: by(lambda: ours(sliding(), place, keyColumns=["id"])),
            PEER + " and ON DUPLICATE KEY": lambda: by(lambda: peer(sliding(), merge)),
        },
        goals={("auto", PEER + " and ON DUPLICATE KEY"): goal},
        rounds=3,
        warm_up=1,
    ).run()


def run(spark: SparkSession) -> bool:
    met = []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        directory.chmod(0o755)  # the client of MariaDB runs as another user
        with sqlite(directory) as place:
            met += [append(spark, place, key, (2.0, 0.5)) for key in (False, True)]
        for kind in ("mariadb", "mysql"):
            if reason := mysql.missing(kind):
                print(f"\n{kind} is left out: {reason}")
                continue
            with served(kind, directory) as place:
                met += [append(spark, place, key, (1.0, 0.9)) for key in (False, True)]
                met.append(upsert(spark, place, 1.3))
    return all(met)
