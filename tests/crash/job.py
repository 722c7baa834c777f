"""A streaming job to be killed: an API into one or more tables. Reads settings as JSON from the first input line.

Starts a session, prints ``ready``, waits for a second line, and streams until it is killed or until a third line makes
it end with the rows available now.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

import epochal
from support.data import SCHEMA
from support.helpers import arguments

QUICK: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.sql.shuffle.partitions": 2,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def end_with_the_test() -> None:
    """Exits at the end of the input, which comes when the parent process ends."""
    os.read(0, 1)
    os._exit(1)


def thread_of(spark: SparkSession) -> str:
    """The JVM's thread that runs the calls of this one."""
    return str(spark._jvm.Thread.currentThread().getName())  # type: ignore[union-attr]


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    spark = epochal.configure(SparkSession.builder.master("local[2]").config(map=QUICK)).getOrCreate()
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    threading.Thread(target=end_with_the_test, daemon=True).start()
    size = settings["rows_per_batch"]
    usual = {"pagination": "offset", "pageSize": size, "maxRowsPerBatch": size}
    quick = {"refreshInterval": "50ms"}
    reads = [target.pop("read", usual) for target in settings["targets"]]
    thread = thread_of(spark)
    queries = [
        epochal.write.jdbc(
            epochal.read.rest(spark, settings["api"], schema=SCHEMA, **arguments(quick | read)),
            trigger="availableNow" if settings["available_now"] else None,
            **arguments(target),
        )
        for read, target in zip(reads, settings["targets"], strict=True)
    ]
    assert thread_of(spark) == thread, "the JVM's thread of the session ended, and with it what Spark keeps there"
    if settings["available_now"]:
        for query in queries:
            query.awaitTermination()
    else:
        spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    with epochal.errors.named():
        main()
