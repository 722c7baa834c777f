"""Two hops: a growing API is copied into a table, which is read while rows are added.

python examples/two_hops.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import epochal
from comments_api import SCHEMA, CommentsApi
from epochal import Limits, rest

ROUNDS = 4
NEW_COMMENTS = 40  # in each round

builder = (
    SparkSession.builder.master("local[2]")
    .appName("two hops")
    .config(map={"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": False, "spark.sql.shuffle.partitions": 2})
)
spark = epochal.configure(builder).getOrCreate()


def comments_by_author(url: str) -> DataFrame:
    """The second hop: the current table. A reader sees an epoch completely or not at all."""
    table = (
        spark.read.format("jdbc")
        .option("url", url)
        .option("driver", "org.sqlite.JDBC")
        .option("dbtable", "comments")
        .load()
    )
    table.createOrReplaceTempView("comments")
    return spark.sql("SELECT split(email, '@')[0] AS author, count(*) AS comments FROM comments GROUP BY 1 ORDER BY 1")


def show(counts: DataFrame) -> None:
    """Prints a bar for each author."""
    rows = counts.collect()
    print(f"{sum(row.comments for row in rows)} comments")
    for row in rows:
        print(f"  {row.author:8} {row.comments:4} {'█' * (row.comments // 2)}")


with tempfile.TemporaryDirectory() as directory, CommentsApi(NEW_COMMENTS) as api:
    database = f"jdbc:sqlite:{Path(directory) / 'comments.db'}"
    comments = epochal.read.rest(
        spark,
        api.url,
        schema=SCHEMA,
        pages=rest.Offset(size=20),
        poll=rest.Poll(interval="0s"),  # polls with each trigger; leave it out to be polite
        limits=Limits(rows=NEW_COMMENTS),
    )
    first_hop = epochal.write.jdbc(
        comments,
        database,
        table="comments",
        create_table=True,
        checkpoint=Path(directory) / "checkpoint",
        sink_id="comments",
        trigger="200 milliseconds",
    )
    first_hop.processAllAvailable()
    show(comments_by_author(database))
    for _ in range(ROUNDS - 1):
        api.add(NEW_COMMENTS)
        time.sleep(0.8)  # the two hops are independent of each other
        show(comments_by_author(database))
    first_hop.processAllAvailable()
    print("All that the API has:")
    show(comments_by_author(database))
    first_hop.stop()
    spark.stop()
