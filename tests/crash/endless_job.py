"""Continuous and real-time queries from ``epochal-random``, or an API, into PostgreSQL, to be killed.

The first line of its input is JSON: ``jvm``, ``conf`` of the session, and ``queries``, each with ``name``, ``trigger``
(``continuous`` or ``real-time``), ``url``, ``user``, ``table`` and ``checkpoint``, and either ``partitions`` and
``rows_per_second`` or the address of an ``api`` whose records have the keys ``id`` and ``served``. Starts a session,
prints ``ready``, waits for a second line, starts the queries, and streams until it is killed. For a query that ends it
prints a line that begins with ``ended``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from crash.job import QUICK, end_with_the_test
from epochal import rest
from epochal.tools.watch.state import failure

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ENDLESS = {
    "spark.log.level": "ERROR",
    "spark.sql.streaming.realTimeMode.allowlistCheck": False,
    "spark.sql.streaming.realTimeMode.minBatchDuration": "1s",
}


def rows_of(spark: SparkSession, settings: dict[str, Any]) -> DataFrame:
    if "api" in settings:
        pages, poll = rest.Keyset(key="/id", param="after"), rest.Poll(interval="100ms")
        return epochal.read.rest(spark, settings["api"], schema="id BIGINT, served BIGINT", pages=pages, poll=poll)
    return epochal.read.random(
        spark,
        rows_per_second=settings["rows_per_second"],
        num_partitions=settings["partitions"],
        seed=7,
        min_length=1,
    ).select("id", "value", "length")


def start(spark: SparkSession, settings: dict[str, Any]) -> StreamingQuery:
    continuous = settings["trigger"] == "continuous"
    writer = (
        rows_of(spark, settings)
        .writeStream.format("epochal-jdbc")
        .queryName(settings["name"])
        .outputMode("append" if continuous else "update")
        .option("url", settings["url"])
        .option("user", settings["user"])
        .option("dbtable", settings["table"])
        .option("sinkId", settings["name"])
        .option("checkpointLocation", settings["checkpoint"])
        .option("asyncProgressTrackingEnabled", "false")
    )
    return writer.trigger(continuous="1 second").start() if continuous else realtime(writer).start()


def realtime(writer: Any, interval: str = "1 second") -> Any:
    """Sets the trigger in the JVM, because Python has none in Spark 4.1."""
    try:
        return writer.trigger(realTime=interval)
    except TypeError:
        jvm = writer._spark._jvm
        writer._jwrite = writer._jwrite.trigger(jvm.org.apache.spark.sql.streaming.Trigger.RealTime(interval))
        return writer


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    jvm = {"spark.driver.extraJavaOptions": f"{QUICK_JVM} {settings['jvm']}"}
    conf = {"spark.master": "local[24]"} | QUICK | ENDLESS | jvm | settings["conf"]
    spark = epochal.configure(SparkSession.builder.config(map=conf)).getOrCreate()
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    threading.Thread(target=end_with_the_test, daemon=True).start()
    queries = [start(spark, query) for query in settings["queries"]]
    print("started", flush=True)
    while True:
        for query in queries:
            if not query.isActive:
                error = failure(query)
                print("\nended", query.name, str(epochal.errors.from_spark(error) or error)[:3000], flush=True)
                os._exit(1)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
