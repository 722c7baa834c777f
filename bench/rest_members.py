"""Lists that a parent's records name: how well the connections are used, and how many requests an idle round makes."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
import urllib.request
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import SparkSession
from steady import java_server, session

import epochal
from epochal import Budget, Http, rest

CONNECTIONS = 8
LATENCY_MILLIS = 20
WARM_UP = 5
GOAL_USED = 0.85
GOAL_REQUESTS = 1.1
PAGE = 100


def lists_api(lists: int, records: int, latency_millis: int = 0) -> AbstractContextManager[str]:
    return java_server("ListsApi.java", lists, records, latency_millis)


def counts(url: str) -> dict[str, int]:
    """Requests since the last call, those answered by 304, and the time from the first to the last."""
    with urllib.request.urlopen(f"{url}/counts") as response:
        found: dict[str, int] = json.load(response)
    return found


def run(spark: SparkSession, url: str, checkpoint: str) -> int:
    """Reads all lists to their ends; returns the number of rows."""
    source = epochal.read.rest(
        spark,
        f"{url}/lists/${{n}}/records",
        each=rest.Each(f"{url}/lists", pages=rest.Page(size=PAGE), n="/n"),
        http=Http(budget=Budget(max_concurrency=CONNECTIONS)),
        schema="id INT, name STRING",
    )
    query: Any = (
        source.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    )
    query.awaitTermination()
    return sum(progress["numInputRows"] for progress in query.recentProgress)


def used(spark: SparkSession, lists: int, records: int, runs: int) -> list[float]:
    """In each run, the part of the connections' time in which the server waited with a response."""
    with lists_api(lists, records, LATENCY_MILLIS) as url:
        shares = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as checkpoint:
                assert run(spark, url, checkpoint) == lists * records
            found = counts(url)
            shares.append(found["requests"] * LATENCY_MILLIS * 1e6 / (CONNECTIONS * found["nanos"]))
    return shares


def idle(spark: SparkSession, lists: int) -> tuple[float, float]:
    """The requests of an idle round in relation to those that it must make, and its seconds."""
    with lists_api(lists, 1) as url, tempfile.TemporaryDirectory() as checkpoint:
        assert run(spark, url, checkpoint) == lists
        counts(url)
        begin = time.monotonic()
        assert run(spark, url, checkpoint) == 0
        found = counts(url)
    assert found["unchanged"] >= lists
    return found["requests"] / (lists + lists / PAGE), time.monotonic() - begin


def main() -> bool:
    spark = session()
    try:
        # As in other benchmarks: the JVMs of query and server compile during the first runs.
        shares = used(spark, 1000, 10, WARM_UP + 3)[WARM_UP:]
        share = statistics.median(shares)
        requests, seconds = idle(spark, 10_000)
    finally:
        spark.stop()
    load = os.getloadavg()[0]
    print(f"\n1,000 lists of 10 records, {CONNECTIONS} connections, {LATENCY_MILLIS} ms: median of 3, load {load:.1f}")
    met = share >= GOAL_USED
    print(f"  time of the connections used   {share:.2f}, goal {GOAL_USED}: {'met' if met else 'MISSED'}")
    fewest = requests <= GOAL_REQUESTS
    print(f"An idle round over 10,000 lists, {seconds:.1f} s")
    print(f"  requests of those needed       {requests:.3f}, goal {GOAL_REQUESTS}: {'met' if fewest else 'MISSED'}")
    return met and fewest
