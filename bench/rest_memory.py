"""Heap use of a query that reads a million records, which must not exceed that for a tenth of them."""

from __future__ import annotations

import tempfile
import time

from pyspark.sql import SparkSession
from rest import PAGE, ROWS_PER_BATCH, SCHEMA, static_api
from steady import session

import epochal

FEW = 100_000
MANY = 1_000_000
#: Allowance for what Spark keeps of every batch: progress, stages, metrics.
ALLOWED_BYTES = 8 << 20


def used_bytes(spark: SparkSession) -> int:
    """Used bytes of the JVM's heap after several garbage collections."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    least = runtime.totalMemory()
    for _ in range(5):
        runtime.gc()
        time.sleep(0.2)
        least = min(least, runtime.totalMemory() - runtime.freeMemory())
    return int(least)


def idle_bytes(spark: SparkSession, records: int, **more: bool) -> int:
    """Used bytes once a query has read all records and waits for more."""
    with (
        static_api(records) as url,
        tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint,
    ):
        df = epochal.read.rest(
            spark,
            url,
            schema=SCHEMA,
            pages=epochal.rest.Offset(size=PAGE, **more),
            limits=epochal.Limits(rows=ROWS_PER_BATCH),
        )
        query = df.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            query.processAllAvailable()
            assert sum(p["numInputRows"] for p in query.recentProgress) == records
            return used_bytes(spark)
        finally:
            query.stop()


def main() -> bool:
    spark = session()
    met = True
    try:
        print(f"\nHeap used once a query has read {FEW:,} records, and {MANY:,}")
        idle_bytes(spark, MANY)
        for name, more in {"epochal-rest": {}, "epochal-rest, journalled": {"journal": True}}.items():
            few, many = idle_bytes(spark, FEW, **more), idle_bytes(spark, MANY, **more)
            flat = many - few <= ALLOWED_BYTES
            met = met and flat
            print(
                f"  {name:<40} {few / 1e6:>8.1f} MB {many / 1e6:>8.1f} MB   "
                f"goal at most {ALLOWED_BYTES / 1e6:.0f} MB more: {'met' if flat else 'MISSED'}"
            )
    finally:
        spark.stop()
    return met
