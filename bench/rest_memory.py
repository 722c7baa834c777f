"""What stays on the heap while a query reads a million records: the same after the last of them as after the first."""

from __future__ import annotations

import tempfile
import time

from pyspark.sql import SparkSession
from rest import PAGE, ROWS_PER_BATCH, SCHEMA, static_api
from steady import session

import epochal

RECORDS = 1_000_000
EARLY = RECORDS // 5
#: Spark itself keeps a little of every batch: progress, stages, metrics.
ALLOWED_BYTES = 8 << 20


def used_bytes(spark: SparkSession) -> int:
    """Of the JVM's heap, after collections that found nothing more to free."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    least = runtime.totalMemory()
    for _ in range(5):
        runtime.gc()
        time.sleep(0.2)
        least = min(least, runtime.totalMemory() - runtime.freeMemory())
    return int(least)


def growth(spark: SparkSession, url: str, **more: bool) -> tuple[int, int]:
    """Bytes used after ``EARLY`` records, and after all; the query goes on and waits for more."""
    df = epochal.read.rest(
        spark, url, schema=SCHEMA, pagination="offset", page_size=PAGE, max_rows_per_batch=ROWS_PER_BATCH, **more
    )
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint:
        query = df.writeStream.format("noop").option("checkpointLocation", checkpoint).start()

        def read() -> int:
            if query.awaitTermination(0.1):
                raise RuntimeError("the query has ended")
            return sum(p["numInputRows"] for p in query.recentProgress)

        try:
            while read() < EARLY:
                pass
            early = used_bytes(spark)
            while read() < RECORDS:
                pass
            return early, used_bytes(spark)
        finally:
            query.stop()


def main() -> bool:
    spark = session()
    met = True
    try:
        with static_api(RECORDS) as url:
            print(f"\nHeap used while {RECORDS:,} records are read, after {EARLY:,} and after all")
            growth(spark, url)
            for name, more in {"epochal-rest": {}, "epochal-rest, journalled": {"journal": True}}.items():
                early, late = growth(spark, url, **more)
                flat = late - early <= ALLOWED_BYTES
                met = met and flat
                print(
                    f"  {name:<40} {early / 1e6:>8.1f} MB {late / 1e6:>8.1f} MB   "
                    f"goal at most {ALLOWED_BYTES / 1e6:.0f} MB more: {'met' if flat else 'MISSED'}"
                )
    finally:
        spark.stop()
    return met
