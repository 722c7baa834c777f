"""A comments API into a database and into a Delta table: stopped half way, restarted, with each comment there once.

python examples/comments_two_targets.py [--directory DIRECTORY] [--url JDBC_URL --user USER] [--delta]

Without --url the database is SQLite; another database takes its password from the environment variable DB_PASSWORD.
--delta needs Delta's jars on Spark's class path, in the release for this line of Spark; for Spark 4.0:

spark-submit --packages io.delta:delta-spark_2.13:4.0.1 --jars dist/epochal-spark_2.13-0.1.0.jar \
    examples/comments_two_targets.py --delta
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from comments_api import SCHEMA, CommentsApi
from epochal import Limits, Secret, rest

COUNT = 300
STOP_AFTER = 5  # epochs

parser = argparse.ArgumentParser(description="A comments API into two targets.")
parser.add_argument("--directory", type=Path, default=Path("comments"), help="where checkpoints and tables are")
parser.add_argument("--url", help="JDBC URL of the database")
parser.add_argument("--user")
parser.add_argument("--delta", action="store_true", help="also write a Delta table")
arguments = parser.parse_args()

directory = arguments.directory.absolute()
directory.mkdir(parents=True, exist_ok=True)
if any(directory.iterdir()):
    parser.error(f"{directory} is not empty, and the API of this run is a new one: choose another --directory.")
url = arguments.url or f"jdbc:sqlite:{directory / 'comments.db'}"
password = Secret.env("DB_PASSWORD") if "DB_PASSWORD" in os.environ else None

settings: dict[str, Any] = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": False,
    "spark.sql.shuffle.partitions": 2,
}
if arguments.delta:
    settings["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
    settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    settings["spark.databricks.delta.snapshotPartitions"] = 2  # of 50: the table is small
builder = SparkSession.builder.master("local[2]").appName("comments into two targets").config(map=settings)
spark = epochal.configure(builder).getOrCreate()


def into_database(comments: DataFrame, checkpoint: Path) -> StreamingQuery:
    """Epochal's sink: the ledger in the database records the written epochs."""
    return epochal.write.jdbc(
        comments,
        url,
        table="comments",
        create_table=True,
        user=arguments.user,
        password=password,
        checkpoint=checkpoint,
        sink_id="comments",
    )


def into_delta(comments: DataFrame, checkpoint: Path) -> StreamingQuery:
    """Delta's sink: its transaction log records the written epochs of a query."""
    writer = comments.writeStream.format("delta").option("checkpointLocation", str(checkpoint))
    return writer.start(str(directory / "delta"))


def read_database() -> DataFrame:
    """The database table, read by Spark."""
    driver = "org.sqlite.JDBC" if url.startswith("jdbc:sqlite:") else "org.postgresql.Driver"
    reader = spark.read.format("jdbc").option("url", url).option("driver", driver).option("dbtable", "comments")
    if arguments.user:
        reader = reader.option("user", arguments.user)
    if "DB_PASSWORD" in os.environ:
        reader = reader.option("password", os.environ["DB_PASSWORD"])
    return reader.load()


def read_delta() -> DataFrame:
    """The Delta table."""
    return spark.read.format("delta").load(str(directory / "delta"))


targets = {"database": (into_database, read_database)}
if arguments.delta:
    targets["delta"] = (into_delta, read_delta)


def start(api: CommentsApi) -> dict[str, StreamingQuery]:
    """Starts a query for each target. Each reads the API separately and has its own checkpoint."""
    return {
        name: write(
            epochal.read.rest(spark, api.url, schema=SCHEMA, pages=rest.Offset(size=20), limits=Limits(rows=20)),
            directory / f"checkpoint-{name}",
        )
        for name, (write, _) in targets.items()
    }


def committed_epochs(name: str) -> int:
    """The number of epochs that Spark has committed, which only the checkpoint records."""
    return sum(file.name.isdigit() for file in (directory / f"checkpoint-{name}" / "commits").glob("*"))


def show_targets() -> None:
    """Prints the contents of the targets."""
    for name, (_, read) in targets.items():
        table = read()
        rows, ids = table.count(), table.select("id").distinct().count()
        print(f"  {name}: {rows} of {COUNT} comments, {rows - ids} of them twice")


with CommentsApi(COUNT) as api:
    queries = start(api)
    for name, query in queries.items():
        while query.isActive and committed_epochs(name) < STOP_AFTER:
            time.sleep(0.02)
        query.stop()  # or kill the process: `python -m epochal demo` does
    print(f"Stopped after {STOP_AFTER} epochs or a few more:")
    show_targets()

    for query in start(api).values():
        query.processAllAvailable()
        query.stop()
    print("Started again with the same checkpoints:")
    show_targets()

spark.stop()
print(f"What is in {directory.name}: {', '.join(sorted(path.name for path in directory.iterdir()))}")
