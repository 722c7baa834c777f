"""The cost of polling an API without new records, compared with an idle source that makes no requests."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rest import SCHEMA, static_api
from steady import session

import epochal

POLLS = 200
GOAL_MILLIS = 15.0


def idle_millis(df: DataFrame) -> list[int]:
    """Milliseconds of each trigger without rows, after all records are read. The first fifty are not counted."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint:
        query = df.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            deadline = time.monotonic() + 120
            while True:
                idle = [p["durationMs"]["triggerExecution"] for p in query.recentProgress if not p["numInputRows"]]
                if len(idle) >= POLLS + 50:
                    return idle[50 : POLLS + 50]
                if query.awaitTermination(1) or time.monotonic() > deadline:
                    raise RuntimeError(f"only {len(idle)} idle triggers")
        finally:
            query.stop()


def crawl(spark: SparkSession, url: str, **more: Any) -> DataFrame:
    """The records of the API, which is polled with each trigger."""
    pages, poll = epochal.rest.Offset(size=100, **more), epochal.rest.Poll(interval="0s")
    return epochal.read.rest(spark, url, schema=SCHEMA, pages=pages, poll=poll)


def main() -> bool:
    # By default, Spark reports a trigger without rows only every ten seconds.
    spark: SparkSession = session(spark_sql_streaming_noDataProgressEventInterval="0")
    try:
        with static_api(1000) as url:
            contenders: dict[str, Callable[[], DataFrame]] = {
                "no requests": lambda: epochal.read.random(spark, rows_per_batch=100, max_rows=1000),
                "epochal-rest": lambda: crawl(spark, url),
                "epochal-rest, journalled": lambda: crawl(spark, url, journal=True),
            }
            found: dict[str, list[float]] = {name: [] for name in contenders}
            for turn in range(4):
                for name, source in contenders.items():
                    millis = statistics.fmean(idle_millis(source()))
                    if turn:  # the first round is the warm-up
                        found[name].append(millis)
    finally:
        spark.stop()
    print("\nA trigger without rows: medians of 3 rounds in turn")
    empty = statistics.median(found["no requests"])
    met = True
    for name, values in found.items():
        extra = statistics.median(values) - empty
        verdict = f"   {extra:+.1f} ms, goal {GOAL_MILLIS:.0f}: {'met' if extra <= GOAL_MILLIS else 'MISSED'}"
        print(f"  {name:<40} {statistics.median(values):>8.1f} ms{'' if name == 'no requests' else verdict}")
        met = met and extra <= GOAL_MILLIS
    return met
