"""The streaming job of the demo: an API into a table. Its settings are a line of JSON on its input."""

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
    """What a run needs to know.

    Attributes:
        available_now: whether to end when everything is written; otherwise the job goes on until it is killed.
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


#: For a job of seconds: no UI, and a JVM that starts fast instead of running long.
_QUICK: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.sql.shuffle.partitions": 2,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def run(settings: Settings) -> None:
    """Streams the API into the table."""
    builder = SparkSession.builder.master("local[2]").appName("epochal demo").config(map=_QUICK)
    spark = epochal.configure(builder).getOrCreate()
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
    """Input ends when the process that started this one is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    given = Settings(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_demo, daemon=True).start()
    run(given)
