"""epochal-rest with a slow server: the gain from concurrent requests."""

from __future__ import annotations

from rest import PAGE, ROWS_PER_BATCH, ours, static_api, urllib3_loop
from steady import Contest, session

LATENCY_MILLIS = 20
CONCURRENCY = 8
BATCHES = 5


def main() -> bool:
    spark = session()
    name = f"epochal-rest, maxConcurrency={CONCURRENCY}"
    try:
        with static_api(ROWS_PER_BATCH * BATCHES * 2, LATENCY_MILLIS) as url:
            return Contest(
                f"REST pages into noop, {LATENCY_MILLIS} ms to each answer, {PAGE} rows a page",
                {
                    name: lambda: ours(spark, url, BATCHES, maxConcurrency=CONCURRENCY),
                    "urllib3 loop, 1 connection": lambda: urllib3_loop(url, PAGE * 100),
                },
                goals={(name, "urllib3 loop, 1 connection"): 0.9 * CONCURRENCY},
            ).run()
    finally:
        spark.stop()
