"""A job to be killed: a stream into APIs. Reads settings as JSON from the first line of its input.

Starts a session, prints ``ready``, waits for a second line, and streams to the source's end or until it is killed.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

import epochal
from crash.job import QUICK, end_with_the_test
from support.helpers import arguments


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    spark = epochal.configure(SparkSession.builder.master("local[2]").config(map=QUICK)).getOrCreate()
    print("ready", flush=True)
    if not sys.stdin.readline():
        return
    threading.Thread(target=end_with_the_test, daemon=True).start()
    rows = epochal.read.random(spark, rows_per_batch=40, max_rows=settings["rows"], num_partitions=2)
    plain = rows.select("id", "value")
    feed = rows.selectExpr("id", "value", "IF(id % 3 = 0, 'delete', 'insert') _change_type", "id _commit_version")
    queries = [
        epochal.write.rest(feed if "mode" in target else plain, trigger="availableNow", **arguments(target))
        for target in settings["targets"]
    ]
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    with epochal.errors.named():
        main()
