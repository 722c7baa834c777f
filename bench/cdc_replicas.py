"""Replicas by epochal-cdc and epochal-jdbc, of one table and of several, and their comparison: a part of the benchmark
``cdc``.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from cdc_server import TRANSACTION, VALUES, Database, backlog_of, delivered
from jdbc import COLUMNS
from pyspark.sql import DataFrame, SparkSession, functions
from steady import Contest

import epochal
from epochal import cdc, jdbc
from support import mysql

REPLICA_GOAL = 50_000
COMPARISON_GOAL = 200_000


@dataclass
class Copies:
    """A database with a replica ``copies``.

    Args:
        fresh: recreates it with the rows of the captured table.
        rows: a digest of its rows.
    """

    url: str
    login: dict[str, str]
    fresh: Callable[[str], None]
    rows: Callable[[], str]


def in_postgres(database: Database) -> Copies:
    def fresh(table: str) -> None:
        database.execute("DROP TABLE IF EXISTS copies", f"CREATE TABLE copies (LIKE {table} INCLUDING INDEXES)")
        database.execute(f"INSERT INTO copies SELECT {VALUES} FROM generate_series({-TRANSACTION}, -1) n", "CHECKPOINT")

    return Copies(database.address, {"user": "postgres"}, fresh, lambda: digest_of(database, "copies"))


def digest_of(database: Database, table: str) -> str:
    columns = "id, name, round(amount)::bigint, kind"
    digest = hashlib.md5(usedforsecurity=False)
    with (
        psycopg.connect(database.dsn) as connection,
        connection.cursor().copy(f"COPY (SELECT {columns} FROM {table} ORDER BY id) TO STDOUT") as rows,
    ):
        for block in rows:
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def in_mysql(kind: str) -> Iterator[Copies]:
    memory = ["--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M", "--local-infile=ON"]
    with mysql.server(kind, *memory) as server:
        server.client("-e", "CREATE DATABASE bench CHARACTER SET utf8mb4")

        def fresh(_: str) -> None:
            rows = ", ".join(
                f"({n}, lpad('{n}', 20, 'x'), {n} / 7.0, '2026-01-31 12:30', {n % -1000})"
                for n in range(-TRANSACTION, 0)
            )
            columns = "id BIGINT PRIMARY KEY, name VARCHAR(40), amount DOUBLE, at TIMESTAMP(6) NULL, kind INT"
            server.client(
                "bench",
                sql=f"DROP TABLE IF EXISTS copies; CREATE TABLE copies ({columns}) ENGINE=InnoDB;"
                f" INSERT INTO copies VALUES {rows}",
            )

        def rows() -> str:
            columns = "id, name, CAST(ROUND(amount) AS SIGNED), kind"
            text = server.client("-N", "-B", "bench", sql=f"SELECT {columns} FROM copies ORDER BY id")
            return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

        yield Copies(f"jdbc:{kind}://127.0.0.1:{server.port}/bench", {"user": "root"}, fresh, rows)


def replica(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    count = settings.changes

    def rate(copies: Copies, backlog: Callable[[int], AbstractContextManager[str]]) -> float:
        # A backlog of its own: behind an older one the server would also decode what earlier rounds have written.
        with backlog(count) as table, database.slot(table) as slot:
            copies.fresh(table)
            changes = backlog_of(spark, database, slot, table)
            began = database.became_active(slot)
            mode = jdbc.Changes(key_columns=["id"])
            into: dict[str, Any] = {"table": "copies", "mode": mode, "sink_id": slot, **copies.login}
            ended = delivered(
                lambda checkpoint: epochal.write.jdbc(changes, copies.url, checkpoint=checkpoint, **into), count
            )
            if copies.rows() != digest_of(database, table):
                raise RuntimeError("the replica differs")
            return count / (ended - began())

    with in_mysql("mariadb") as mariadb, in_mysql("mysql") as mysql8:
        places = {"PostgreSQL": in_postgres(database), "MariaDB": mariadb, "MySQL": mysql8}
        kinds = {"inserts": database.inserts, "60 % inserts, 30 % updates": database.mixed}
        contest = Contest(
            f"The same changes into a replica on this machine, mode changes; goal {REPLICA_GOAL:,}/s into PostgreSQL",
            {
                f"{place}, {kind}": lambda copies=copies, backlog=backlog: rate(copies, backlog)
                for place, copies in places.items()
                for kind, backlog in kinds.items()
            },
            goals={
                (f"{place}, {kind}", f"PostgreSQL, {kind}"): 0.6 for place in ("MariaDB", "MySQL") for kind in kinds
            },
            unit="changes/s",
            rounds=settings.rounds,
            warm_up=1,
        )
        met = contest.run()
    fast = all(statistics.median(contest.figures[f"PostgreSQL, {kind}"]) >= REPLICA_GOAL for kind in kinds)
    print(f"  goal {'met' if fast else 'MISSED'}", flush=True)
    return met and fast


def several(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    count = settings.changes
    tables = [f"part_{i}" for i in range(10)]

    def rate(names: list[str], backlog: AbstractContextManager[str], **options: str) -> float:
        with backlog as name, database.slot(name) as slot:
            for table in names:
                database.execute(
                    f"DROP TABLE IF EXISTS copy_{table}",
                    f"CREATE TABLE copy_{table} (LIKE {table} INCLUDING INDEXES)",
                    f"INSERT INTO copy_{table} SELECT {VALUES} FROM generate_series({-TRANSACTION}, -1) n",
                )
            database.execute("CHECKPOINT")
            position = database.value(
                f"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{slot}'"
            )
            changes = epochal.read.cdc(
                spark,
                database.address,
                user="postgres",
                table=[f"public.{table}" for table in names],
                slot=cdc.Slot(slot, create=False, publication=name, create_publication=False, starting_offset=position),
                options=options,
            )
            began = database.became_active(slot)
            mode = jdbc.Changes(table_column="_table") if options else jdbc.Changes(key_columns=["id"])
            into = "copy_{table}" if options else f"copy_{names[0]}"
            ended = delivered(
                lambda checkpoint: epochal.write.jdbc(
                    changes,
                    database.address,
                    table=into,
                    mode=mode,
                    sink_id=slot,
                    checkpoint=checkpoint,
                    user="postgres",
                ),
                count,
            )
            if any(digest_of(database, f"copy_{table}") != digest_of(database, table) for table in names):
                raise RuntimeError("a replica differs")
            return count / (ended - began())

    one, ten = "one table", "ten tables by one query"
    contest = Contest(
        "Inserts into replicas on this machine",
        {
            one: lambda: rate(["inserts"], database.inserts(count)),
            ten: lambda: rate(tables, database.inserts_into(tables, count), rows="typed"),
        },
        goals={(ten, one): 0.9},
        unit="changes/s",
        rounds=settings.rounds,
        warm_up=1,
    )
    return contest.run()


def load(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    """Loads a table into an empty replica, in one snapshot and in chunks."""
    count = settings.rows
    database.execute(
        f"CREATE TABLE loaded ({COLUMNS.format(key=' PRIMARY KEY')})",
        f"INSERT INTO loaded SELECT {VALUES} FROM generate_series(1, {count}) n",
        "VACUUM ANALYZE loaded",
    )

    def rate(snapshot: cdc.Snapshot) -> float:
        database.execute(
            "DROP TABLE IF EXISTS copies", "CREATE TABLE copies (LIKE loaded INCLUDING INDEXES)", "CHECKPOINT"
        )
        with database.slot() as slot:
            changes = epochal.read.cdc(
                spark,
                database.address,
                user="postgres",
                table="public.loaded",
                slot=cdc.Slot(slot, snapshot=snapshot),
                num_partitions=2,
            )
            into: dict[str, Any] = {"table": "copies", "mode": jdbc.Changes(key_columns=["id"]), "sink_id": slot}
            begun = time.time()
            ended = delivered(
                lambda checkpoint: epochal.write.jdbc(
                    changes, database.address, user="postgres", checkpoint=checkpoint, **into
                ),
                count,
            )
            if digest_of(database, "copies") != digest_of(database, "loaded"):
                raise RuntimeError("the replica differs")
        database.execute(f"DROP PUBLICATION {slot}")
        return count / (ended - begun)

    whole, chunks = "in one snapshot", "in chunks"
    contest = Contest(
        f"{count:,} rows into an empty replica on this machine",
        {whole: lambda: rate("whole"), chunks: lambda: rate("chunks")},
        goals={(chunks, whole): 0.8},
        rounds=min(3, settings.rounds),
        warm_up=1,
    )
    met = contest.run()
    database.execute("DROP TABLE loaded, copies")
    return met


def comparison(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    """A replica without changes, compared by its query, by two JDBC reads, and by the server that has both tables."""
    count = 2 * settings.changes
    database.execute(
        f"CREATE TABLE compared ({COLUMNS.format(key=' PRIMARY KEY')})",
        f"INSERT INTO compared SELECT {VALUES} FROM generate_series(1, {count}) n",
        "VACUUM ANALYZE compared",
    )

    def result() -> str:
        if not database.value("SELECT to_regclass('epochal_ledger_verification')"):
            return ""
        return str(
            database.value(
                "SELECT CASE WHEN until_key IS NULL THEN verified_at || ' ' || found ELSE '' END"
                " FROM epochal_ledger_verification"
            )
        )

    def by_query() -> float:
        before = result()
        begun = time.time()
        database.execute("SELECT pg_logical_emit_message(true, 'epochal', 'verify public.compared')")
        while result() in (before, ""):
            time.sleep(0.02)
        if f"{count} rows equal" not in result():
            raise RuntimeError(result())
        return count / (time.time() - begun)

    def by_reads() -> float:
        def read(table: str, name: str) -> DataFrame:
            rows = spark.read.jdbc(
                database.address,
                table,
                column="id",
                lowerBound=0,
                upperBound=count,
                numPartitions=spark.sparkContext.defaultParallelism,
                properties={"driver": "org.postgresql.Driver", "user": "postgres", "fetchsize": "10000"},
            )
            return rows.select("id", functions.struct(*rows.columns).alias(name))

        begun = time.time()
        both = read("compared", "one").join(read("copy_compared", "other"), "id", "full")
        if both.where("NOT one <=> other").count() > 0:
            raise RuntimeError("the replica differs")
        return count / (time.time() - begun)

    def by_server() -> float:
        begun = time.time()
        both = "SELECT count(*) FROM compared one FULL JOIN copy_compared other USING (id)"
        if database.value(f"{both} WHERE one IS DISTINCT FROM other") != 0:
            raise RuntimeError("the replica differs")
        return count / (time.time() - begun)

    query, reads, server = "by the running query", "two reads by spark.read.jdbc", "one join in the server"
    with database.slot() as slot, tempfile.TemporaryDirectory(prefix="bench-", dir=".") as checkpoint:
        running = epochal.replicate(
            spark,
            database.address,
            database.address,
            tables="public.compared",
            into="copy_{table}",
            user="postgres",
            target_user="postgres",
            slot=cdc.Slot(slot),
            verify=cdc.Verify(rows_per_second=100_000_000),
            checkpoint=checkpoint,
        )
        try:
            while not database.value("SELECT to_regclass('copy_compared')") or not database.value(
                f"SELECT count(*) = {count} FROM copy_compared"
            ):
                time.sleep(0.1)
            contest = Contest(
                f"A replica of {count:,} rows compared with its table",
                {query: by_query, reads: by_reads, server: by_server},
                goals={(query, reads): None, (query, server): None},
                rounds=settings.rounds,
                warm_up=1,
            )
            met = contest.run()
        finally:
            running.stop()
    fast = statistics.median(contest.figures[query]) >= COMPARISON_GOAL
    print(f"  goal {COMPARISON_GOAL:,} rows/s {'met' if fast else 'MISSED'}", flush=True)
    return met and fast
