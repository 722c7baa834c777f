"""epochal-cdc compared with Debezium's embedded engine and a bare reader of the slot; its replicas, and its snapshot.

    python bench/cdc.py [--only backlog --only replica] [--changes 500000] [--rows 10000000] [--rounds 5] [--seconds 60]

All share one PostgreSQL server, and the cores with it. A backlog is read again and again from copies of one slot. The
time of a round begins when the server's slot becomes active, and ends when the reader has delivered the last change.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from cdc_replicas import comparison, load, replica, several
from cdc_server import TRANSACTION, VALUES, Database, Reader, backlog_of, changes_of, delivered
from jdbc import COLUMNS
from jdbc_others import drivers
from pyspark.sql import DataFrame, SparkSession
from steady import Contest, session

import epochal
from epochal import cdc
from support import postgres

OURS, DEBEZIUM, BARE = "epochal-cdc", "Debezium's engine", "bare reader"
SNAPSHOT, JDBC = "epochal-cdc, initial", "spark.read.jdbc"
LATENCY_GOAL = 100.0
WARM_UP_SECONDS = 10


def noop(df: DataFrame) -> Callable[[str], Any]:
    return lambda checkpoint: df.writeStream.format("noop").option("checkpointLocation", checkpoint).start()


def backlog(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    count = settings.changes
    with (
        database.inserts(count) as table,
        Reader("DebeziumReader.java", str(database.port), table, f"public.{table}") as debezium,
        Reader("PgoutputReader.java", str(database.port), table) as bare,
    ):

        def rate(read: Callable[[str], float]) -> float:
            with database.slot(table) as slot:
                began = database.became_active(slot)
                ended = read(slot)
                return count / (ended - began())

        def ours(slot: str) -> float:
            return delivered(noop(backlog_of(spark, database, slot, table)), count)

        contest = Contest(
            f"A backlog of {count:,} inserts in transactions of {TRANSACTION:,}, into noop",
            {
                OURS: lambda: rate(ours),
                DEBEZIUM: lambda: rate(lambda slot: debezium.read(slot, count)),
                BARE: lambda: rate(lambda slot: bare.read(slot, count)),
            },
            goals={(OURS, DEBEZIUM): 3.0, (OURS, BARE): 0.6, (BARE, DEBEZIUM): None},
            unit="changes/s",
            rounds=settings.rounds,
        )
        return contest.run()


def latency(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    """From COMMIT to COMMIT, by the server's clock, in real-time mode: 100 transactions of one row a second."""
    database.execute("CREATE TABLE orders (id bigint PRIMARY KEY, note text)", "CREATE TABLE seen (LIKE orders)")
    stopped = threading.Event()

    def write() -> None:
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            begun = time.perf_counter()
            for row in itertools.count():
                connection.execute("INSERT INTO orders VALUES (%s, 'a note of twenty ch')", (row,))
                if stopped.wait(max(0.0, begun + (row + 1) / 100 - time.perf_counter())):
                    return

    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=".", ignore_cleanup_errors=True) as checkpoint,
        database.slot() as slot,
    ):
        rows = changes_of(spark, database, "orders", cdc.Slot(slot, starting_offset="latest"), num_partitions=1)
        query = epochal.write.jdbc(
            rows.select("id", "note"),
            database.address,
            table="seen",
            user="postgres",
            checkpoint=checkpoint,
            trigger="realTime 5 minutes",
        )
        try:
            database.became_active(slot)()
            writer = threading.Thread(target=write, daemon=True)
            writer.start()
            time.sleep(WARM_UP_SECONDS + settings.seconds)
            stopped.set()
            writer.join()
            time.sleep(2)
            if not query.isActive:
                raise RuntimeError(f"the query ended: {query.exception()}")
        finally:
            query.stop()
    with psycopg.connect(database.dsn) as connection:
        found = connection.execute(
            "SELECT extract(epoch FROM pg_xact_commit_timestamp(s.xmin) - pg_xact_commit_timestamp(o.xmin)) * 1000"
            f" FROM orders o LEFT JOIN seen s USING (id) WHERE id >= {WARM_UP_SECONDS * 100}"
        ).fetchall()
    database.execute("DROP TABLE orders, seen", f"DROP PUBLICATION {slot}")
    missing = sum(value is None for (value,) in found)
    cuts = statistics.quantiles((float(value) for (value,) in found if value is not None), n=1000)
    met = cuts[989] <= LATENCY_GOAL and not missing
    print(
        f"\nFrom commit to visible in the replica, real-time, 100 transactions/s: {len(found)} rows, {missing} missing;"
        f" ms: p50 {cuts[499]:.1f}, p90 {cuts[899]:.1f}, p99 {cuts[989]:.1f}, p99.9 {cuts[998]:.1f}"
        f"\n  goal p99 {LATENCY_GOAL:.0f}: {'met' if met else 'MISSED'}",
        flush=True,
    )
    return met


def processor_seconds(process: int) -> float:
    """The time that a process has had so far."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    """The cost of a table that does not change, triggered each second, over a query without rows."""
    database.execute("CREATE TABLE quiet (id bigint PRIMARY KEY)")
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]

    def cost(df: DataFrame, *processes: Callable[[], int]) -> list[float]:
        """Milliseconds of each process in a minute."""
        with tempfile.TemporaryDirectory(prefix="bench-", dir=".", ignore_cleanup_errors=True) as checkpoint:
            writer = df.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.trigger(processingTime="1 second").start()
            try:
                time.sleep(WARM_UP_SECONDS)
                watched = [process() for process in processes]
                before = [processor_seconds(process) for process in watched]
                time.sleep(settings.seconds)
                after = [processor_seconds(process) for process in watched]
            finally:
                query.stop()
        return [60_000 * (b - a) / settings.seconds for a, b in zip(before, after, strict=True)]

    empty = epochal.read.random(spark, rows_per_batch=1, max_rows=1)
    (without,) = cost(empty, lambda: jvm)
    with database.slot() as slot:
        sender = f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{slot}'"
        quiet = changes_of(spark, database, "quiet", cdc.Slot(slot, starting_offset="latest"))
        driver, server = cost(quiet, lambda: jvm, lambda: database.value(sender))
    database.execute("DROP TABLE quiet", f"DROP PUBLICATION {slot}")
    print(
        f"\nAn idle slot, processor time in a minute: driver {driver:.0f} ms ({without:.0f} ms of it with any query);"
        f" the server's sender {server:.0f} ms",
        flush=True,
    )
    return True


def snapshot(spark: SparkSession, database: Database, settings: argparse.Namespace) -> bool:
    count, tasks = settings.rows, 2
    database.execute(
        f"CREATE TABLE large ({COLUMNS.format(key='')})",
        f"INSERT INTO large SELECT {VALUES} FROM generate_series(0::bigint, {count} - 1) n",
        "ALTER TABLE large ADD PRIMARY KEY (id)",
        "VACUUM ANALYZE large",
        "CHECKPOINT",
    )

    def ours() -> float:
        with database.slot() as slot:
            rows = changes_of(spark, database, "large", cdc.Slot(slot), num_partitions=tasks)
            begun = time.time()
            ended = delivered(noop(rows), count)
        database.execute(f"DROP PUBLICATION {slot}")
        return count / (ended - begun)

    def other() -> float:
        begun = time.time()
        rows = spark.read.jdbc(
            database.address,
            "large",
            column="id",
            lowerBound=0,
            upperBound=count,
            numPartitions=tasks,
            properties={"driver": "org.postgresql.Driver", "user": "postgres", "fetchsize": "10000"},
        )
        rows.write.format("noop").mode("overwrite").save()
        return count / (time.time() - begun)

    contest = Contest(
        f"A snapshot of {count:,} rows into noop, {tasks} tasks",
        {SNAPSHOT: ours, JDBC: other},
        goals={(SNAPSHOT, JDBC): 1.3},
        rounds=min(3, settings.rounds),
        warm_up=1,
    )
    met = contest.run()
    database.execute("DROP TABLE large")
    return met


MEASURED = {
    "backlog": backlog,
    "replica": replica,
    "several": several,
    "comparison": comparison,
    "latency": latency,
    "idle": idle,
    "snapshot": snapshot,
    "load": load,
}


def main(arguments: Sequence[str] = ()) -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", choices=MEASURED)
    parser.add_argument("--changes", type=int, default=500_000)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=60)
    settings = parser.parse_args(arguments)
    spark = session(spark_sql_streaming_minBatchesToRetain="10", spark_driver_extraClassPath=drivers())
    try:
        with postgres.server(shared_buffers="1GB", max_wal_size="8GB", track_commit_timestamp="on") as server:
            database = Database(server)
            met = [MEASURED[name](spark, database, settings) for name in settings.only or MEASURED]
            return all(met)
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
