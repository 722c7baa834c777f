"""Runs scenarios on command, to be killed. The first line of its input is JSON: the JVM's arguments.

Then each line starts queries: ``queries`` has their places by name; ``wait`` says whether to say ``done`` only when all
have ended. A query that fails ends the program.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from pyspark.sql import SparkSession

import epochal
from epochal._ending import failure
from frozen.scenarios import SCENARIOS, Place

CONF: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": 2,
    "spark.driver.memory": "1g",
    "spark.log.level": os.environ.get("EPOCHAL_TEST_LOG_LEVEL", "OFF"),
    "spark.sql.streaming.realTimeMode.minBatchDuration": "500ms",
}


def fail_with(spark: SparkSession) -> None:
    """Ends the program as soon as a query has failed."""
    while True:
        for query in list(QUERIES):
            if not query.isActive and (error := failure(query)) is not None:
                print(query.name, epochal.errors.from_spark(error) or error, flush=True)
                os._exit(1)
        time.sleep(0.1)


QUERIES: list[Any] = []


def main() -> None:
    jvm = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {json.loads(sys.stdin.readline())}"
    conf = CONF | {"spark.driver.extraJavaOptions": jvm}
    spark = epochal.configure(SparkSession.builder.master("local[16]").config(map=conf)).getOrCreate()
    threading.Thread(target=fail_with, args=(spark,), daemon=True).start()
    for line in sys.stdin:
        asked = json.loads(line)
        started = [SCENARIOS[name].start(spark, Place(**place)) for name, place in asked["queries"].items()]
        QUERIES.extend(started)
        if asked["wait"]:
            for query in started:
                query.awaitTermination()
        print("\ndone", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
