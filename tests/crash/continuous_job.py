"""Queries under a continuous or real-time trigger, to be killed. Reads settings as JSON from the first input line.

Starts a session, prints ``ready``, waits for a second line, and runs until it is killed or gets a third line, which
stops the queries.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from support.epoch_files import FORMAT

QUICK: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.log.level": os.environ.get("EPOCHAL_TEST_LOG_LEVEL", "ERROR"),
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "700m",
    "spark.sql.streaming.realTimeMode.allowlistCheck": False,
}


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    builder = SparkSession.builder.master("local[8]").config(map=QUICK | {"spark.jars": settings["jar"]})
    spark = epochal.configure(builder).getOrCreate()
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    for query in settings["queries"]:
        start(spark, query, settings.get("continuous"))
    sys.stdin.readline()
    for running in spark.streams.active:
        running.stop()
    os._exit(0)


def start(spark: SparkSession, query: dict[str, Any], continuous: str | None) -> StreamingQuery:
    """Starts a query over ``format`` with ``options`` into files below ``path``; ``column`` counts the rows."""
    rows = spark.readStream.format(query["format"]).options(**query["options"]).load().select(query["column"])
    writer: Any = rows.writeStream.format(FORMAT).option("path", query["path"])
    writer = writer.option("checkpointLocation", query["checkpoint"]).options(**query.get("sink", {}))
    if continuous:
        writer = writer.trigger(continuous=continuous)
    else:
        writer = writer.outputMode("update").option("asyncProgressTrackingEnabled", False).trigger(realTime="5 seconds")
    running: StreamingQuery = writer.start()
    return running


if __name__ == "__main__":
    main()
