"""epochal-jdbc compared with what a user would write instead, on a PostgreSQL server that shares Spark's cores."""

from __future__ import annotations

import io
import os
import statistics
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from steady import Contest, session

import epochal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from support import postgres

EPOCH = 500_000
EPOCHS = 4
COLUMNS = "id bigint{key}, name text, amount double precision, at timestamptz, kind integer"
PEER = "foreachBatch + df.write.jdbc"


class Target:
    """The database under measurement."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        place = conninfo_to_dict(dsn)
        self.url = f"jdbc:postgresql://{place['host']}:{place['port']}/postgres?user=postgres"

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def value(self, query: str) -> Any:
        with psycopg.connect(self.dsn) as connection:
            row = connection.execute(query).fetchone()
            return row[0] if row else None

    def fresh(self, key: bool) -> None:
        """Creates an empty table, drops the ledger, and flushes the dirty pages of earlier measurements."""
        self.execute(
            "DROP TABLE IF EXISTS events, epochal_ledger, epochal_ledger_retired, epochal_ledger_history",
            f"CREATE TABLE events ({COLUMNS.format(key=' PRIMARY KEY' if key else '')})",
            "CHECKPOINT",
        )


def events(spark: SparkSession, epochs: int = EPOCHS, rows: int = EPOCH, start: int = 0) -> DataFrame:
    """A stream of ``epochs`` epochs in two partitions; a row has five columns and 70 bytes in binary COPY."""
    numbers = epochal.read.random(spark, rows_per_batch=rows, max_rows=rows * epochs, num_partitions=2, max_length=0)
    return numbers.selectExpr(
        f"id + {start} AS id",
        "lpad(CAST(id AS STRING), 20, 'x') AS name",
        "id / 7.0D AS amount",
        "timestamp AS at",
        "CAST(id % 1000 AS INT) AS kind",
    )


def measure(start: Callable[[str], Any]) -> list[dict[str, Any]]:
    """Runs a query to its end; returns the progress of its epochs."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint:
        query = start(checkpoint)
        query.awaitTermination()
        return [p for p in query.recentProgress if p["numInputRows"]]


def rows_per_second(progress: list[dict[str, Any]]) -> float:
    millis = sum(p["durationMs"]["triggerExecution"] for p in progress)
    return 1000 * sum(p["numInputRows"] for p in progress) / millis


def ours(df: DataFrame, target: Target, **options: Any) -> list[dict[str, Any]]:
    def start(checkpoint: str) -> Any:
        place: dict[str, Any] = {"table": "events", "checkpoint": checkpoint, "trigger": "availableNow"}
        return epochal.write.jdbc(df, target.url, **place, options=options)

    return measure(start)


def other(df: DataFrame, sink: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """Measures another sink, which ``sink`` sets on the writer."""

    def start(checkpoint: str) -> Any:
        return sink(df.writeStream).trigger(availableNow=True).option("checkpointLocation", checkpoint).start()

    return measure(start)


def peer(df: DataFrame, write: Callable[[DataFrame], None]) -> list[dict[str, Any]]:
    return other(df, lambda writer: writer.foreachBatch(lambda batch, _: write(batch)))


def insert(batch: DataFrame, target: Target, table: str, mode: str = "append") -> None:
    """Inserts with the settings that the documentation of Spark and of the driver recommends for speed."""
    url = f"{target.url}&reWriteBatchedInserts=true"
    batch.write.mode(mode).option("batchsize", 10_000).option("truncate", True).jdbc(
        url, table, properties={"driver": "org.postgresql.Driver"}
    )


def binary_rows(start: int, count: int) -> bytes:
    """The same rows in the format of binary COPY, with header and trailer."""
    out = io.BytesIO()
    out.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
    pack = struct.Struct(">hiqi20sidiqii").pack
    for n in range(start, start + count):
        out.write(pack(5, 8, n, 20, str(n).rjust(20, "x").encode(), 8, n / 7.0, 8, n, 4, n % 1000))
    out.write(b"\xff\xff")
    return out.getvalue()


def raw_copy(target: Target, parts: list[bytes]) -> float:
    """The upper limit: COPY of prepared bytes, each part over its own connection."""

    def load(part: bytes) -> None:
        copy = "COPY events FROM STDIN (FORMAT binary)"
        with psycopg.connect(target.dsn) as connection, connection.cursor() as cursor, cursor.copy(copy) as stream:
            for at in range(0, len(part), 1 << 20):
                stream.write(part[at : at + (1 << 20)])

    threads = [threading.Thread(target=load, args=(part,)) for part in parts]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return EPOCH / (time.perf_counter() - begin)


def phases(name: str, progress: list[dict[str, Any]]) -> None:
    """Prints the phases of an epoch, as medians in milliseconds."""
    last = progress[1:]  # the first epoch also claims the sink
    parts = {
        "trigger": [p["durationMs"]["triggerExecution"] for p in last],
        "tasks and commit": [p["durationMs"]["addBatch"] for p in last],
        "encode (one core)": [int(p["sink"]["metrics"]["encodeMs"]) // 2 for p in last],
        "load": [int(p["sink"]["metrics"]["loadMs"]) for p in last],
        "COMMIT": [int(p["sink"]["metrics"]["commitMs"]) for p in last],
        "Spark's two logs": [p["durationMs"]["walCommit"] + p["durationMs"]["commitOffsets"] for p in last],
    }
    print(f"  {name}, ms an epoch: " + ", ".join(f"{part} {statistics.median(v):,.0f}" for part, v in parts.items()))


def append(spark: SparkSession, target: Target, key: bool, goals: tuple[float, float]) -> bool:
    halves = [binary_rows(0, EPOCH // 2), binary_rows(EPOCH // 2, EPOCH // 2)]
    seen: dict[str, list[dict[str, Any]]] = {}

    def by(transport: str) -> float:
        target.fresh(key)
        seen[transport] = ours(events(spark), target, transport=transport)
        assert target.value("SELECT count(*) FROM events") == EPOCH * EPOCHS
        return rows_per_second(seen[transport])

    def by_peer() -> float:
        target.fresh(key)
        return rows_per_second(peer(events(spark), lambda batch: insert(batch, target, "events")))

    def limit() -> float:
        target.fresh(key)
        return raw_copy(target, halves)

    contest = Contest(
        f"Into PostgreSQL, {EPOCHS} epochs of {EPOCH:,} rows, {'with a primary key' if key else 'no key'}",
        {
            "auto": lambda: by("auto"),
            "prepared": lambda: by("prepared"),
            "staged": lambda: by("staged"),
            PEER: by_peer,
            "limit: 2 binary COPYs, bytes ready": limit,
        },
        goals={
            ("auto", PEER): goals[0],
            ("prepared", PEER): goals[1],
            ("staged", PEER): None,
            ("auto", "limit: 2 binary COPYs, bytes ready"): None,
            ("prepared", "limit: 2 binary COPYs, bytes ready"): None,
        },
    )
    met = contest.run()
    for transport, progress in seen.items():
        phases(transport, progress)
    return met


def upsert(spark: SparkSession, target: Target) -> bool:
    """Epochs of 500,000 rows, half of them new, into a table of 2,000,000. The first two epochs are not counted."""
    names = "id, name, amount, at, kind"
    fill = (
        f"INSERT INTO events ({names}) SELECT n, lpad(n::text, 20, 'x'), n / 7.0, now(), n % 1000 "
        "FROM generate_series(0, 1999999) AS n"
    )
    half_new = 2_000_000 - EPOCH // 2

    def settled(run: Callable[[DataFrame], list[dict[str, Any]]]) -> float:
        target.fresh(True)
        target.execute(fill, "VACUUM ANALYZE events", "CHECKPOINT")
        sliding = events(spark, start=half_new).withColumn(
            "id", expr(f"id - (id - {half_new}) div {EPOCH} * {EPOCH // 2}")
        )
        progress = run(sliding)
        assert target.value("SELECT count(*) FROM events") == 2_000_000 + EPOCHS * EPOCH // 2
        return rows_per_second(progress[2:])

    def merge(batch: DataFrame) -> None:
        insert(batch, target, "incoming", "overwrite")
        target.execute(
            f"INSERT INTO events ({names}) SELECT {names} FROM incoming ON CONFLICT (id) DO UPDATE SET "
            "name = EXCLUDED.name, amount = EXCLUDED.amount, at = EXCLUDED.at, kind = EXCLUDED.kind"
        )

    seen: list[dict[str, Any]] = []

    def by_us(df: DataFrame) -> list[dict[str, Any]]:
        seen.extend((progress := ours(df, target, keyColumns=["id"]))[2:])
        return progress

    def limit() -> float:
        """The upper limit: the same merge by the server alone, from rows in a table."""
        target.fresh(True)
        lying = fill.replace("INTO events", "INTO lying").replace(
            "(0, 1999999)", f"({half_new}, {half_new + EPOCH - 1})"
        )
        target.execute(fill, "DROP TABLE IF EXISTS lying", "CREATE UNLOGGED TABLE lying (LIKE events)", lying)
        target.execute("VACUUM ANALYZE events, lying", "CHECKPOINT")
        begin = time.perf_counter()
        target.execute(
            "MERGE INTO events AS t USING (SELECT * FROM lying ORDER BY id) AS w ON t.id = w.id "
            "WHEN MATCHED THEN UPDATE SET name = w.name, amount = w.amount, at = w.at, kind = w.kind "
            f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES (w.id, w.name, w.amount, w.at, w.kind)"
        )
        return EPOCH / (time.perf_counter() - begin)

    contest = Contest(
        f"Upsert of {EPOCH:,} rows into 2,000,000, half new",
        {
            "auto": lambda: settled(by_us),
            PEER + " and merge": lambda: settled(lambda df: peer(df, merge)),
            "limit: MERGE of rows that lie there": limit,
        },
        goals={
            ("auto", PEER + " and merge"): 2.0,
            ("auto", "limit: MERGE of rows that lie there"): None,
        },
    )
    met = contest.run()
    phases("auto", seen[-2 * contest.rounds :])
    return met


def small_epochs(spark: SparkSession, target: Target) -> bool:
    """The cost of an epoch of one row, which must not grow over thousands of epochs."""
    count, steady = 5_000, 300

    def millis(progress: list[dict[str, Any]]) -> float:
        """The mean without the slowest tenth. A median would be too coarse, since the times are whole milliseconds."""
        values = sorted(p["durationMs"]["addBatch"] for p in progress)
        return statistics.fmean(values[: len(values) * 9 // 10])

    def noop(epochs: int = steady) -> float:
        return millis(other(events(spark, epochs, 1), lambda writer: writer.format("noop"))[-200:])

    def epochal_jdbc(epochs: int = steady) -> list[dict[str, Any]]:
        target.fresh(False)
        return ours(events(spark, epochs, 1), target)

    # Warms up the JVM: otherwise slow early epochs would hide that late ones are slower.
    noop(1000), epochal_jdbc(1000)
    extra = statistics.median(millis(epochal_jdbc()[-200:]) - noop() for _ in range(3))
    print(f"\nAn epoch of one row: {extra:.1f} ms over noop (goal 5: {'met' if extra <= 5 else 'MISSED'})")

    progress = epochal_jdbc(count)
    watched = ["epochal_ledger", "epochal_ledger_history", "pg_class", "pg_attribute"]
    grown = {name: target.value(f"SELECT pg_total_relation_size('{name}')") for name in watched}
    early, late = millis(progress[50:150]), millis(progress[-100:])
    met = late <= early * 1.1
    print(
        f"Epoch {count:,} takes {late:.1f} ms, epoch 100 took {early:.1f} "
        f"(goal within 10 %: {'met' if met else 'MISSED'})"
    )
    print("  bytes after it: " + ", ".join(f"{name} {size:,}" for name, size in grown.items()))
    return extra <= 5 and met


def main() -> bool:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import jdbc_others

    spark = session(
        spark_sql_streaming_numRecentProgressUpdates="6000",
        spark_sql_streaming_minBatchesToRetain="10",
        spark_driver_extraClassPath=jdbc_others.drivers(),
    )
    try:
        with postgres.server(shared_buffers="1GB", max_wal_size="4GB") as server:
            target = Target(server.dsn)
            return all(
                [
                    append(spark, target, key=False, goals=(2.0, 3.0)),
                    append(spark, target, key=True, goals=(1.5, 2.0)),
                    upsert(spark, target),
                    small_epochs(spark, target),
                    jdbc_others.run(spark),
                ]
            )
    finally:
        spark.stop()
