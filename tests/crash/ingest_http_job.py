"""A job to be killed: records over HTTP into SQLite. Reads settings as JSON from the first line of its input.

Starts a session, prints ``ready``, waits for a second line, and streams until it is killed.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

import epochal
from crash.job import QUICK, end_with_the_test


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    spark = epochal.configure(SparkSession.builder.master("local[2]").config(map=QUICK)).getOrCreate()
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    threading.Thread(target=end_with_the_test, daemon=True).start()
    options: dict[str, Any] = {
        "protocol": "http",
        "format": "json",
        "schema": "writer INT, seq BIGINT",
        "numPartitions": 1,
    }
    rows = spark.readStream.format("epochal-ingest").options(**options, port=settings["port"]).load()
    epochal.write.jdbc(
        rows.select("writer", "seq"),
        settings["url"],
        table="t",
        checkpoint=settings["checkpoint"],
        create_table=True,
        sink_id="ingest",
    )
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    with epochal.errors.named():
        main()
