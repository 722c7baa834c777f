"""epochal-rest compared with what a user would write instead, on a static API: 100 rows a page, 50,000 rows a batch."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

import urllib3
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from steady import Contest, java_server, session, steady_state

SCHEMA = "postId INT, id INT, name STRING, email STRING, body STRING"
PAGE = 100
ROWS_PER_BATCH = 50_000
BATCHES = 62
RECORDS = ROWS_PER_BATCH * BATCHES * 2


def static_api(records: int, latency_millis: int = 0) -> AbstractContextManager[str]:
    return java_server("StaticApi.java", records, latency_millis, path="/comments")


class Pages(InputPartition):
    def __init__(self, url: str, start: int, end: int) -> None:
        self.url, self.start, self.end = url, start, end


class CommentsSource(DataSource):
    """The baseline: a Python data source in two partitions, with a pooled connection in each task."""

    @classmethod
    def name(cls) -> str:
        return "comments"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> CommentsReader:
        return CommentsReader(self.options["url"])


class CommentsReader(DataSourceStreamReader):
    def __init__(self, url: str) -> None:
        self.url, self.end = url, 0

    def initialOffset(self) -> dict[str, int]:
        return {"records": 0}

    def latestOffset(self) -> dict[str, int]:
        self.end += ROWS_PER_BATCH
        return {"records": self.end}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        middle = (start["records"] + end["records"]) // 2
        return [Pages(self.url, start["records"], middle), Pages(self.url, middle, end["records"])]

    def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
        pool = urllib3.PoolManager()
        for at in range(partition.start, partition.end, PAGE):
            page = pool.request("GET", f"{partition.url}?_start={at}&_limit={min(PAGE, partition.end - at)}")
            for row in json.loads(page.data):
                yield row["postId"], row["id"], row["name"], row["email"], row["body"]


def python_source(spark: SparkSession, url: str) -> float:
    return steady_state(spark.readStream.format("comments").option("url", url).load(), BATCHES)


def ours(spark: SparkSession, url: str, batches: int = BATCHES, **more: int | bool) -> float:
    options = {"pagination": "offset", "pageSize": PAGE, "maxRowsPerBatch": ROWS_PER_BATCH, "numPartitions": 2} | more
    source = spark.readStream.format("epochal-rest").schema(SCHEMA).option("url", url)
    return steady_state(source.options(**options).load(), batches)


def urllib3_loop(url: str, rows: int = ROWS_PER_BATCH * 10) -> float:
    """Rows a second of one connection and ``json.loads``, without the work of a query."""
    pool = urllib3.PoolManager()
    begin = time.perf_counter()
    read = 0
    for at in range(0, rows, PAGE):
        read += len(json.loads(pool.request("GET", f"{url}?_start={at}&_limit={PAGE}").data))
    assert read == rows
    return rows / (time.perf_counter() - begin)


def main() -> bool:
    if find_spec("pyarrow") is None:
        raise SystemExit("Python data sources need pyarrow: pip install -r bench/requirements.txt")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # The environment with urllib3.
    spark = session()
    # Spark's Python workers cannot import this file.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(CommentsSource)
    try:
        with static_api(RECORDS) as url:
            return Contest(
                f"REST pages into noop, {PAGE} rows a page, {ROWS_PER_BATCH:,} rows a batch",
                {
                    "epochal-rest": lambda: ours(spark, url),
                    "epochal-rest, journalled": lambda: ours(spark, url, journal=True),
                    "Python data source, 2 partitions": lambda: python_source(spark, url),
                    "urllib3 loop, 1 connection": lambda: urllib3_loop(url),
                },
                goals={
                    ("epochal-rest", "Python data source, 2 partitions"): 5.0,
                    ("epochal-rest", "urllib3 loop, 1 connection"): 2.5,
                    ("epochal-rest, journalled", "epochal-rest"): 0.7,
                },
                warm_up=5,
            ).run()
    finally:
        spark.stop()
