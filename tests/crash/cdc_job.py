"""Replicas of PostgreSQL tables by ``epochal-cdc``, to be killed.

The first line of its input is JSON: ``url``, ``user``, ``schema``, ``tables``, each with an empty replica,
``checkpoints``, ``jvm``, ``rows`` of a batch, and as needed ``keys`` of tables whose key is not ``id``,
``max_journal_bytes``, ``memory`` of the driver, ``target``, the URL of another database, where the replicas are
created, ``together``, for one query of all tables, ``repairs`` of rows that differ, ``cuts``, for its batches to be
limited, and ``drivers``, a class path. Streams until it is killed; prints ``started``, and ``ended`` with the reason if
a query ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from crash.endless_job import QUICK_JVM
from crash.job import QUICK, end_with_the_test
from epochal import Limits, cdc, jdbc
from epochal.tools.watch.state import failure


def slot(settings: dict[str, Any], name: str) -> cdc.Slot:
    return cdc.Slot(
        name,
        heartbeat="1s",
        max_journal_bytes=settings.get("max_journal_bytes"),
        snapshot=settings.get("snapshot"),
        chunk_rows=settings.get("chunk_rows"),
    )


def replica(spark: SparkSession, settings: dict[str, Any], table: str) -> StreamingQuery:
    changes = epochal.read.cdc(
        spark,
        settings["url"],
        table=f"{settings['schema']}.{table}",
        user=settings["user"],
        slot=slot(settings, f"{settings['schema']}_{table}"),
        limits=Limits(rows=settings["rows"]),
    )
    target = settings.get("target")
    return epochal.write.jdbc(
        changes,
        target or settings["url"],
        table=f"{table}_replica",
        create_table=bool(target),
        mode=jdbc.Changes(key_columns=[settings.get("keys", {}).get(table, "id")]),
        user=None if target else settings["user"],
        checkpoint=f"{settings['checkpoints']}/{table}",
        sink_id=table,
        trigger="50 milliseconds",
    )


def replicas(spark: SparkSession, settings: dict[str, Any]) -> epochal.Replication:
    return epochal.replicate(
        spark,
        settings["url"],
        settings["target"],
        tables=[f"{settings['schema']}.{table}" for table in settings["tables"]],
        into="{table}_replica",
        user=settings["user"],
        target_user=settings["user"] if "postgresql" in settings["target"] else None,
        slot=slot(settings, settings["schema"]),
        checkpoint=f"{settings['checkpoints']}/all",
        limits=Limits(rows=settings["rows"]) if settings.get("cuts") else None,
        verify=cdc.Repair() if settings.get("repairs") else cdc.Verify(),
        sink_id="all",
        trigger="50 milliseconds",
    )


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.stdin.readline())
    conf = {
        "spark.master": "local[2]",
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} {settings['jvm']}",
        "spark.driver.memory": settings.get("memory", "1g"),
        "spark.driver.extraClassPath": settings.get("drivers", ""),
    }
    spark = epochal.configure(SparkSession.builder.config(map=QUICK | conf)).getOrCreate()
    threading.Thread(target=end_with_the_test, daemon=True).start()
    queries: list[Any]
    if settings.get("together"):
        queries = [replicas(spark, settings)]
    else:
        queries = [replica(spark, settings, table) for table in settings["tables"]]
    print("started", flush=True)
    while all(query.isActive for query in queries):
        time.sleep(0.2)
    error = next(failure(query) for query in queries if not query.isActive)
    print("\nended", str(epochal.errors.from_spark(error) or error)[:3000], flush=True)
    os._exit(1)


if __name__ == "__main__":
    main()
