"""A paginated API into a PostgreSQL table: epochal-rest into epochal-jdbc, and dlt's rest_api source."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"

import dlt
import psycopg
from dlt.sources.rest_api import rest_api_source
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import SparkSession
from rest import PAGE, SCHEMA, static_api
from steady import Contest, session

import epochal
from epochal import rest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from support import postgres

RECORDS = 100_000


class Server:
    """The database, and its two addresses."""

    def __init__(self, dsn: str) -> None:
        place = conninfo_to_dict(dsn)
        at = f"{place['host']}:{place['port']}/postgres"
        self.dsn, self.jdbc, self.dlt = dsn, f"jdbc:postgresql://{at}?user=postgres", f"postgresql://postgres:any@{at}"

    @contextmanager
    def schema(self) -> Iterator[str]:
        """The name of a schema in which a run makes its tables; at the end ``comments`` must have each record once."""
        name = f"bench_{uuid4().hex[:8]}"
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
            yield name
            counts = connection.execute(f"SELECT count(*), count(DISTINCT id) FROM {name}.comments".encode()).fetchone()
            assert counts == (RECORDS, RECORDS), counts
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def ours(spark: SparkSession, url: str, server: Server, transport: str) -> float:
    """Rows a second of a query with a new checkpoint and a new table, from its start to its end."""
    with server.schema() as schema, tempfile.TemporaryDirectory() as checkpoint:
        begin = time.perf_counter()
        comments = epochal.read.rest(spark, url, schema=SCHEMA, pages=rest.Offset(size=PAGE))
        epochal.write.jdbc(
            comments,
            server.jdbc,
            table=f"{schema}.comments",
            create_table=True,
            checkpoint=checkpoint,
            trigger="availableNow",
            options={"transport": transport},
        ).awaitTermination()
        return RECORDS / (time.perf_counter() - begin)


def by_dlt(url: str, server: Server, file_format: str) -> float:
    """Rows a second of a new pipeline with new tables: it extracts, normalizes and loads."""
    base, _, path = url.rpartition("/")
    pages = {"type": "offset", "limit": PAGE, "offset_param": "_start", "limit_param": "_limit", "total_path": None}
    comments = {"name": "comments", "endpoint": {"path": path, "paginator": pages}}
    with server.schema() as schema, tempfile.TemporaryDirectory() as directory:
        begin = time.perf_counter()
        source = rest_api_source({"client": {"base_url": base}, "resources": [comments]})  # type: ignore[typeddict-item]
        to = dlt.destinations.postgres(credentials=server.dlt)
        pipeline = dlt.pipeline(schema, pipelines_dir=directory, dataset_name=schema, destination=to)
        pipeline.run(source, loader_file_format=file_format)
        return RECORDS / (time.perf_counter() - begin)


def main() -> bool:
    spark = session()
    try:
        with static_api(RECORDS) as url, postgres.server() as running:
            server = Server(running.dsn)
            return Contest(
                f"{RECORDS:,} records in pages of {PAGE} into PostgreSQL, from start to end",
                {
                    "epochal, auto": lambda: ours(spark, url, server, "auto"),
                    "epochal, prepared": lambda: ours(spark, url, server, "prepared"),
                    "dlt": lambda: by_dlt(url, server, "insert_values"),
                    "dlt, CSV files": lambda: by_dlt(url, server, "csv"),
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
