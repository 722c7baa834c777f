"""The streaming job of the demo: an API into a table.

It starts its session, and then reads its settings as a line of JSON from standard input.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

import epochal
from epochal.tools.demo.comments import SCHEMA


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes:
        available_now: whether to end when everything is written; otherwise the job runs until it is killed.
    """

    api: str
    database: str
    user: str | None
    password: str | None
    table: str
    sink_id: str
    checkpoint: str
    rows_per_batch: int
    available_now: bool

    def to_json(self) -> str:
        return json.dumps(asdict(self))


#: Settings for a short-lived session: no UI, and a JVM tuned for a fast start.
_QUICK: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.sql.shuffle.partitions": 2,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def session() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("epochal demo").config(map=_QUICK)
    return epochal.configure(builder).getOrCreate()


def run(spark: SparkSession, settings: Settings) -> None:
    """Streams the API into the table."""
    comments = epochal.read.rest(
        spark,
        settings.api,
        schema=SCHEMA,
        pages=epochal.rest.Offset(size=settings.rows_per_batch),
        limits=epochal.Limits(rows=settings.rows_per_batch),
    )
    query = epochal.write.jdbc(
        comments,
        settings.database,
        user=settings.user,
        password=settings.password,
        table=settings.table,
        create_table=True,
        sink_id=settings.sink_id,
        checkpoint=settings.checkpoint,
        trigger="availableNow" if settings.available_now else None,
    )
    with epochal.errors.named():
        query.awaitTermination()


def _end_with_the_demo() -> None:
    """Exits at the end of standard input, that is when the parent process has ended."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    spark = session()
    if line := sys.stdin.readline():
        threading.Thread(target=_end_with_the_demo, daemon=True).start()
        run(spark, Settings(**json.loads(line)))
