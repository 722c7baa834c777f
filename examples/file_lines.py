"""Counts the lines of each length in files that appear in a directory, in three ways side by side.

python examples/file_lines.py

The three ways are DStreams (deprecated since Spark 3.4), structured streaming with a table in memory, and structured
streaming into a database by Epochal. All are stopped, a file appears, and all are restarted.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

from pyspark import RDD
from pyspark.sql import SparkSession
from pyspark.sql.functions import length
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.streaming import StreamingContext

import epochal

builder = (
    SparkSession.builder.master("local[2]")
    .appName("lines of files")
    .config(map={"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": False, "spark.sql.shuffle.partitions": 2})
)
spark = epochal.configure(builder).getOrCreate()

place = tempfile.TemporaryDirectory()
directory = Path(place.name)
inbox = directory / "inbox"
inbox.mkdir()

published: Counter[int] = Counter()
by_dstreams: Counter[int] = Counter()


def publish(name: str, lines: list[str]) -> None:
    """Writes a file in another directory and moves it, so that it appears complete. All three ways require that."""
    part = directory / name
    part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    part.rename(inbox / name)
    published.update(map(len, lines))


def start_dstreams() -> StreamingContext:
    """DStreams: one batch of RDDs per second. The sums are a variable of this process."""
    context = StreamingContext(spark.sparkContext, 1)
    lengths = context.textFileStream(str(inbox)).map(len).countByValue()

    def add(counts: RDD[tuple[int, int]]) -> None:
        by_dstreams.update(dict(counts.collect()))

    lengths.foreachRDD(add)
    context.start()
    return context


def start_queries() -> list[StreamingQuery]:
    """Structured streaming: the same plan twice. Spark keeps the counts as state in the checkpoint."""
    lines = spark.readStream.text(str(inbox))
    lengths = lines.groupBy(length("value").alias("length")).count()
    memory = (
        lengths.writeStream.format("memory")
        .queryName("lengths")
        .outputMode("complete")
        .option("checkpointLocation", str(directory / "checkpoint-memory"))
        .start()
    )
    table = epochal.write.jdbc(
        lengths,
        f"jdbc:sqlite:{directory / 'lengths.db'}",
        table="lengths",
        create_table=True,
        output_mode="complete",
        checkpoint=directory / "checkpoint-table",
        sink_id="lengths",
    )
    return [memory, table]


def run(lines: dict[str, list[str]]) -> None:
    """Starts all three, publishes files, and stops all three when they have counted them."""
    context = start_dstreams()
    queries = start_queries()
    before = by_dstreams.total()
    for name, content in lines.items():
        publish(name, content)
    expected = before + sum(map(len, lines.values()))
    while by_dstreams.total() < expected:
        context.awaitTerminationOrTimeout(1)  # raises the error of a failed batch
    for query in queries:
        query.processAllAvailable()
        query.stop()
    context.stop(stopSparkContext=False)


def show() -> None:
    """Prints the three results next to the published lines."""
    in_memory = {row["length"]: row["count"] for row in spark.table("lengths").collect()}
    connection = sqlite3.connect(directory / "lengths.db")
    in_table = dict(connection.execute('SELECT length, "count" FROM lengths').fetchall())
    connection.close()
    print("length  published  DStreams  memory  table")
    for size in sorted(published):
        counts = published[size], by_dstreams[size], in_memory.get(size, 0), in_table.get(size, 0)
        print("{:6}  {:9}  {:8}  {:6}  {:5}".format(size, *counts))


print("Three ways count two files:")
run({"1.txt": ["one", "two", "three"], "2.txt": ["four", "five"]})
show()

publish("3.txt", ["six", "seven"])
print("They were stopped, 3.txt appeared, they are started again, and 4.txt appears:")
run({"4.txt": ["eight"]})
show()
print("DStreams look for files that are newer than their start. The queries' checkpoints know which files are done.")
print("The table in memory ends with this process; the one in the database stays.")
spark.stop()
place.cleanup()
