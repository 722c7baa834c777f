"""A streaming job to be killed: lines over TCP into a table. Reads settings as JSON from the first line of its input.

Starts a session, prints ``ready``, waits for a second line, and streams until it is killed.

Settings: ``port``, ``url``, ``checkpoint``; ``conf`` for Spark; ``run`` for acknowledgements
that name the run; ``count`` for counts of words (complete mode) in place of lines; ``socket``
for Spark's own source, which reads from a server on that port.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

import epochal
from crash.job import QUICK, end_with_the_test
from epochal import ingest


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    spark = epochal.configure(
        SparkSession.builder.master("local[2]").config(map=QUICK | settings.get("conf", {}))
    ).getOrCreate()
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    threading.Thread(target=end_with_the_test, daemon=True).start()
    port = settings["port"]
    if settings.get("socket"):
        lines = spark.readStream.format("socket").options(host="127.0.0.1", port=port).load()
    else:
        journal = ingest.Journal(max_bytes="64m")
        lines = epochal.read.ingest(
            spark, protocol=ingest.Tcp(port, ack=True, ack_run=settings.get("run")), journal=journal, num_partitions=1
        )
    target = {"url": settings["url"], "checkpoint": settings["checkpoint"], "user": settings.get("user")}
    if settings.get("count"):
        words = lines.selectExpr("explode(split(value, ' ')) AS word").groupBy("word").count()
        query = epochal.write.jdbc(words, table="words", output_mode="complete", sink_id="words", **target)
    else:
        query = epochal.write.jdbc(lines.select("value"), table="lines", sink_id="lines", **target)
    query.awaitTermination()


if __name__ == "__main__":
    with epochal.errors.named():
        main()
