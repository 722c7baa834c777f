"""A replica of a PostgreSQL table by ``epochal-cdc``, to be killed.

The first line of its input is JSON: ``url``, ``user``, ``table``, ``slot``, ``replica``, ``checkpoint`` and ``jvm``.
Streams until it is killed; prints ``started``, and ``ended`` with the reason if the query ends.
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
from crash.endless_job import QUICK_JVM
from crash.job import QUICK, end_with_the_test
from epochal import Limits, cdc, jdbc
from epochal.tools.watch.state import failure


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    conf = {
        "spark.master": "local[2]",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} {settings['jvm']}",
    }
    spark = epochal.configure(SparkSession.builder.config(map=QUICK | conf)).getOrCreate()
    threading.Thread(target=end_with_the_test, daemon=True).start()
    changes = epochal.read.cdc(
        spark,
        settings["url"],
        table=settings["table"],
        user=settings["user"],
        slot=cdc.Slot(settings["slot"], heartbeat="1s"),
        limits=Limits(rows=500),
    )
    query = epochal.write.jdbc(
        changes,
        settings["url"],
        table=settings["replica"],
        mode=jdbc.Changes(key_columns=["id"]),
        user=settings["user"],
        checkpoint=settings["checkpoint"],
        sink_id="replica",
        trigger="50 milliseconds",
    )
    print("started", flush=True)
    while query.isActive:
        time.sleep(0.2)
    error = failure(query)
    print("\nended", str(epochal.errors.from_spark(error) or error)[:3000], flush=True)
    os._exit(1)


if __name__ == "__main__":
    main()
