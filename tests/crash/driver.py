"""A Spark driver that reads commands from its input, a JSON object per line, and responds on a pipe.

The first line has ``master``, ``conf`` and ``jvm``. Then:

- ``start``: ``queries``, each with a ``name``, a ``shape`` of ``crash/cases.py``, ``source`` (for its ``frame``), or
  ``rest`` (settings of ``epochal.read.rest``), and ``write`` (of ``epochal.write.jdbc``), as ``support/helpers.py``
  has them
- ``status``: the state of all queries that were started
- ``stop``: stops all of them
- ``vitals``: the JVM's process id, and the bytes of its heap that are live after a full collection

It exits at the end of its input.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

import epochal
from crash.queries import Queries

QUICK = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "700m",
    "spark.log.level": os.environ.get("EPOCHAL_TEST_LOG_LEVEL", "ERROR"),
}
SMALL_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    conf = QUICK | {"spark.driver.extraJavaOptions": f"{SMALL_JVM} {settings['jvm']}"} | settings["conf"]
    spark = epochal.configure(SparkSession.builder.master(settings["master"]).config(map=conf)).getOrCreate()
    queries = Queries(spark)
    commands: dict[str, Callable[[dict[str, Any]], Any]] = {
        "start": lambda command: queries.try_start(command["queries"]),
        "status": lambda _: queries.status(),
        "stop": lambda _: queries.stop_queries(),
        "where": lambda _: {"application": spark.sparkContext.applicationId, "ui": spark.sparkContext.uiWebUrl},
        "vitals": lambda _: vitals(spark),
    }
    with os.fdopen(int(os.environ["EPOCHAL_TEST_ANSWERS"]), "w", encoding="utf-8") as answers:
        for line in sys.stdin:
            command = json.loads(line)
            try:
                answer = {"found": commands[command["do"]](command)}
            except Exception:
                answer = {"failure": traceback.format_exc()}
            print(json.dumps(answer), file=answers, flush=True)
    os._exit(0)


def vitals(spark: SparkSession) -> dict[str, int]:
    """The smaller of two measurements, since a batch may be running."""
    context: Any = spark.sparkContext
    runtime = context._jvm.java.lang.Runtime.getRuntime()
    heap = []
    for _ in range(2):
        runtime.gc()
        heap.append(runtime.totalMemory() - runtime.freeMemory())
    return {"pid": context._gateway.proc.pid, "heap": min(heap)}


if __name__ == "__main__":
    main()
