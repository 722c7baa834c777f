"""The latency of a record from its source to its commit in PostgreSQL.

    python bench/jdbc_latency.py [--mode real-time --mode continuous --mode micro-batch] [--rate 100] [--seconds 60]

The time of row ``n`` of ``epochal-random`` follows from its first offset; the server records the time of each COMMIT
(``track_commit_timestamp``). Both use this machine's clock. Rows of the first ten seconds are not counted. Between two
batches of real-time mode Spark reads nothing for about a second: ``--batch "20 seconds"`` shows it.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import psycopg
from pyspark.sql import SparkSession

import epochal
from crash.endless_job import realtime
from support import postgres

WARM_UP = 10.0
#: Goals for p50 and p99, in milliseconds.
GOALS = {"real-time": (15.0, 50.0), "continuous": (15.0, 50.0)}


def writer(spark: SparkSession, url: str, checkpoint: str, mode: str, settings: argparse.Namespace) -> Any:
    rows = epochal.read.random(
        spark, rows_per_second=settings.rate, num_partitions=settings.partitions, seed=1, min_length=20, max_length=20
    )
    made = (
        rows.select("id", "value")
        .writeStream.format("epochal-jdbc")
        .options(url=url, user="postgres", dbtable="numbers", sinkId="numbers", checkpointLocation=checkpoint)
        .option("asyncProgressTrackingEnabled", "false")
        .option("flushInterval", settings.flush)
    )
    if mode == "real-time":
        return realtime(made.outputMode("update"), settings.batch)
    return made.trigger(continuous="1 second") if mode == "continuous" else made


def started_at(checkpoint: Path) -> int:
    """The start time of the source, in milliseconds since 1970, from its first offset under ``sources/0``."""
    texts = (file.read_text("utf-8", "replace") for file in (checkpoint / "sources" / "0").rglob("*") if file.is_file())
    found = next(match for text in texts if (match := re.search(r'"startedAt":\s*(\d+)', text)))
    return int(found[1])


def measure(mode: str, settings: argparse.Namespace) -> bool:
    """Prints the distribution; returns whether the goal is met."""
    conf: dict[str, Any] = {
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.log.level": "ERROR",
        "spark.sql.streaming.realTimeMode.allowlistCheck": False,
    }
    with postgres.server(track_commit_timestamp="on") as server, tempfile.TemporaryDirectory() as directory:
        checkpoint = Path(directory) / "checkpoint"
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE numbers (id BIGINT, value TEXT)")
            spark = epochal.configure(SparkSession.builder.master("local[4]").config(map=conf)).getOrCreate()
            url = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"
            query = writer(spark, url, str(checkpoint), mode, settings).start()
            time.sleep(WARM_UP + settings.seconds)
            assert query.isActive, query.exception()
            found = connection.execute(
                "SELECT id, extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 FROM numbers"
            ).fetchall()
            commits = connection.execute("SELECT count(DISTINCT xmin::text) FROM numbers").fetchone()
            begin = started_at(checkpoint)
            query.stop()
    due = [(begin + -(-((row + 1) * 1000) // settings.rate), float(committed)) for row, committed in found]
    first = min(committed for _, committed in due) + WARM_UP * 1000
    late = sorted(committed - at for at, committed in due if at >= first)
    cuts = statistics.quantiles(late, n=1000)
    met = mode not in GOALS or (cuts[499] <= GOALS[mode][0] and cuts[989] <= GOALS[mode][1])
    print(
        f"{mode}, {settings.rate} rows/s in {settings.partitions} partitions, flush {settings.flush}:",
        f"{len(late)} rows, {commits[0] if commits else 0} transactions;",
        f"ms until committed: p50 {cuts[499]:.1f}, p90 {cuts[899]:.1f}, p99 {cuts[989]:.1f}, max {late[-1]:.1f}",
        "" if met else f"(goal: {GOALS[mode]})",
    )
    return met


def main(arguments: Sequence[str] = ()) -> bool:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", action="append", choices=["real-time", "continuous", "micro-batch"])
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--flush", default="10ms")
    parser.add_argument("--batch", default="5 minutes")
    settings = parser.parse_args(arguments)
    met = [measure(mode, settings) for mode in settings.mode or GOALS]
    return all(met)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
