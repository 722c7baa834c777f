"""A paginated API into a PostgreSQL table: epochal-rest into epochal-jdbc, and dlt's rest_api source."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"

import dlt
from dlt.sources.rest_api import rest_api_source
from jdbc import Target
from pyspark.sql import SparkSession
from rest import PAGE, SCHEMA, static_api
from steady import Contest, session

import epochal
from epochal import rest
from support import postgres

RECORDS = 100_000


@contextmanager
def schema_of(target: Target) -> Iterator[str]:
    """The name of a schema in which a run makes its tables; at the end ``comments`` must have each record once."""
    name = f"bench_{uuid4().hex[:8]}"
    target.execute(f"CREATE SCHEMA {name}")
    yield name
    counts = target.value(f"SELECT ARRAY[count(*), count(DISTINCT id)] FROM {name}.comments")
    assert counts == [RECORDS, RECORDS], counts
    target.execute(f"DROP SCHEMA {name} CASCADE")


def ours(spark: SparkSession, url: str, target: Target, transport: str) -> float:
    """Rows a second of a query with a new checkpoint and a new table, from its start to its end."""
    with schema_of(target) as schema, tempfile.TemporaryDirectory() as checkpoint:
        begin = time.perf_counter()
        comments = epochal.read.rest(spark, url, schema=SCHEMA, pages=rest.Offset(size=PAGE))
        epochal.write.jdbc(
            comments,
            target.url,
            table=f"{schema}.comments",
            create_table=True,
            checkpoint=checkpoint,
            trigger="availableNow",
            options={"transport": transport},
        ).awaitTermination()
        return RECORDS / (time.perf_counter() - begin)


def by_dlt(url: str, target: Target, file_format: str) -> float:
    """Rows a second of a new pipeline with new tables: it extracts, normalizes and loads."""
    base, _, path = url.rpartition("/")
    pages = {"type": "offset", "limit": PAGE, "offset_param": "_start", "limit_param": "_limit", "total_path": None}
    comments = {"name": "comments", "endpoint": {"path": path, "paginator": pages}}
    with schema_of(target) as schema, tempfile.TemporaryDirectory() as directory:
        begin = time.perf_counter()
        source = rest_api_source({"client": {"base_url": base}, "resources": [comments]})  # type: ignore[typeddict-item]
        place = target.url.partition("//")[2].partition("?")[0]
        to = dlt.destinations.postgres(credentials=f"postgresql://postgres:any@{place}")
        pipeline = dlt.pipeline(schema, pipelines_dir=directory, dataset_name=schema, destination=to)
        pipeline.run(source, loader_file_format=file_format)
        return RECORDS / (time.perf_counter() - begin)


def main() -> bool:
    spark = session()
    try:
        with static_api(RECORDS) as url, postgres.server() as server:
            target = Target(server.dsn)
            return Contest(
                f"{RECORDS:,} records in pages of {PAGE} into PostgreSQL, from start to end",
                {
                    "epochal, auto": lambda: ours(spark, url, target, "auto"),
                    "epochal, prepared": lambda: ours(spark, url, target, "prepared"),
                    "dlt": lambda: by_dlt(url, target, "insert_values"),
                    "dlt, CSV files": lambda: by_dlt(url, target, "csv"),
                },
                goals={
                    ("epochal, prepared", "dlt"): 8.0,
                    ("epochal, auto", "dlt"): None,
                    ("epochal, prepared", "dlt, CSV files"): None,
                },
                warm_up=5,
            ).run()
    finally:
        spark.stop()
