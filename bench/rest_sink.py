"""The epochal-rest sink compared with an httpx loop: 1,000 rows in requests of 100, one task, one fast server."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx
from pyspark.sql import DataFrame, SparkSession
from steady import Contest, java_server, session

import epochal

ROWS = 1000
BATCH = 100
EPOCHS = 40


def taking_api() -> AbstractContextManager[str]:
    return java_server("TakingApi.java", path="/orders")


def rows(spark: SparkSession) -> DataFrame:
    source = epochal.read.random(
        spark, rows_per_batch=ROWS, max_rows=ROWS * EPOCHS, num_partitions=1, min_length=100, max_length=100
    )
    return source.select("id", "value")


def epoch_millis(start: Callable[[str], Any]) -> float:
    """Milliseconds per epoch, from planning to the sink's commit. The first ten epochs are not counted."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint:
        query = start(checkpoint)
        query.awaitTermination()
        done = [p["durationMs"]["addBatch"] for p in query.recentProgress if p["numInputRows"]]
    assert len(done) == EPOCHS
    return statistics.median(done[10:])


def ours(spark: SparkSession, url: str) -> float:
    """Rows a second of the sink alone: the time of ``noop`` for the same epochs is subtracted."""

    def noop(checkpoint: str) -> Any:
        writer = rows(spark).writeStream.format("noop").option("checkpointLocation", checkpoint)
        return writer.trigger(availableNow=True).start()

    def rest(checkpoint: str) -> Any:
        return epochal.write.rest(
            rows(spark), url, batch=epochal.rest.Batch(rows=BATCH), checkpoint=checkpoint, trigger="availableNow"
        )

    return 1000 * ROWS / max(1.0, epoch_millis(rest) - epoch_millis(noop))


def httpx_loop(url: str) -> float:
    """Rows a second of one connection that sends prepared dicts."""
    made = [{"id": i, "value": "x" * 100} for i in range(ROWS)]
    with httpx.Client() as client:
        times = []
        for _ in range(EPOCHS):
            begin = time.perf_counter()
            for at in range(0, ROWS, BATCH):
                client.post(url, json=made[at : at + BATCH]).raise_for_status()
            times.append(time.perf_counter() - begin)
    return ROWS / statistics.median(times[10:])


def main() -> bool:
    spark = session()
    try:
        with taking_api() as url:
            return Contest(
                f"{ROWS:,} rows an epoch into an API, {BATCH} rows a request",
                {"epochal-rest": lambda: ours(spark, url), "httpx loop": lambda: httpx_loop(url)},
                goals={("epochal-rest", "httpx loop"): 1 / 1.5},
                rounds=9,
                warm_up=12,
            ).run()
    finally:
        spark.stop()
