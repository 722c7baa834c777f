"""Starts a session and queries; `make` archives the classes that this loads, for the JVMs of the tests.

Loading and verifying Spark's classes takes half of the time before a JVM's first batch ends (JEP 350).
"""

from __future__ import annotations

import tempfile
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    conf: dict[str, Any] = {
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.sql.shuffle.partitions": 2,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    spark = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
    with tempfile.TemporaryDirectory() as checkpoints:
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
        counts = source.groupBy().count()
        for sink, frame, mode in [("noop", source, "append"), ("memory", counts, "complete")]:
            writer = frame.writeStream.format(sink).queryName(sink).outputMode(mode)
            query = writer.option("checkpointLocation", f"{checkpoints}/{sink}").trigger(availableNow=True).start()
            query.awaitTermination(60)
        spark.createDataFrame([(1, "a")], "id INT, name STRING").selectExpr("count(*)").collect()
    gateway: Any = spark.sparkContext._gateway
    jvm = gateway.proc
    spark.stop()
    jvm.stdin.close()
    jvm.wait(timeout=120)  # The JVM writes the archive at exit.


if __name__ == "__main__":
    main()
