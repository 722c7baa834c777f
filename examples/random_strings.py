"""Counts random strings by length, in a table that is complete at any time.

python examples/random_strings.py [DIRECTORY]

Its files go into DIRECTORY (random-strings). A second run has nothing left to do and leaves the table unchanged.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal

directory = Path(sys.argv[1] if len(sys.argv) > 1 else "random-strings").absolute()
directory.mkdir(parents=True, exist_ok=True)
database = directory / "strings.db"

builder = (
    SparkSession.builder.master("local[2]")
    .appName("random strings")
    .config(map={"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": False, "spark.sql.shuffle.partitions": 2})
)
spark = epochal.configure(builder).getOrCreate()


def count_lengths(rows: int) -> StreamingQuery:
    """Counts the first ``rows`` strings of an endless stream; returns the ended query."""
    strings = epochal.read.random(spark, rows_per_batch=100, max_rows=rows, seed=7, min_length=3, max_length=8)
    strings.createOrReplaceTempView("strings")
    lengths = spark.sql("SELECT length, count(*) AS strings FROM strings GROUP BY length")
    query = epochal.write.jdbc(
        lengths,
        f"jdbc:sqlite:{database}",
        table="lengths",
        create_table=True,
        output_mode="complete",  # each epoch replaces all rows of the table, in one transaction
        checkpoint=directory / "checkpoint",
        sink_id="lengths",
        trigger="availableNow",
    )
    query.awaitTermination()
    return query


def show_epochs(query: StreamingQuery) -> None:
    """Prints the rows that each epoch read, and the rows left. Rows before a committed offset are never read again."""
    for progress in query.recentProgress:
        if progress.numInputRows:
            source = json.loads(progress.json)["sources"][0]
            end = source["endOffset"]["rows"]  # exclusive
            waiting = int(source["metrics"]["rowsBehind"])
            print(
                f"epoch {progress.batchId:2}  strings {end - progress.numInputRows:4} to {end - 1:4}  {waiting:4} left"
            )


print("The first 1,000 strings:")
show_epochs(count_lengths(1000))
print("A new query with the same checkpoint, when there are 1,500:")
show_epochs(count_lengths(1500))
spark.stop()

connection = sqlite3.connect(database)
counts: list[tuple[int, int]] = connection.execute("SELECT length, strings FROM lengths ORDER BY length").fetchall()
connection.close()
print("Strings of each length, in the table:")
for length, number in counts:
    print(f"{length:6}  {number:4}  {'█' * (number // 10)}")
print(f"   all  {sum(number for _, number in counts):4}")
