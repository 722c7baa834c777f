"""Shows a crash that duplicates the rows of foreachBatch with JDBC, but not those of epochal-jdbc.

python examples/doubled_rows.py

Each of the two jobs writes 1,000 rows in ten batches into an SQLite file. It is killed (SIGKILL) when its fifth batch
is in the database but Spark has not committed it yet. Then it is restarted on its checkpoint, and the rows are counted.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import epochal

KILLED_IN = 4  # the number of the fifth batch


def foreach_batch(rows: DataFrame, url: str, checkpoint: str, moment: Path) -> None:
    """The job, as often written."""

    def write(batch: DataFrame, epoch: int) -> None:
        batch.write.format("jdbc").options(url=url, dbtable="orders", driver="org.sqlite.JDBC").mode("append").save()
        if epoch == KILLED_IN and moment.exists():
            moment.write_text("the batch is in the database")
            time.sleep(600)  # until SIGKILL

    query = rows.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()


def epochal_jdbc(rows: DataFrame, url: str, checkpoint: str, moment: Path) -> None:
    """The same job with Epochal. A JVM property for tests stops it at the same moment."""
    epochal.write.jdbc(
        rows, url, table="orders", sink_id="orders", checkpoint=checkpoint, trigger="availableNow"
    ).awaitTermination()


JOBS = {"foreachBatch": foreach_batch, "epochal-jdbc": epochal_jdbc}


def run_job(name: str, place: Path) -> None:
    """Runs a job; the example calls it in a separate process."""
    moment = place / "moment"
    jvm = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Depochal.failpoints=commit.after=hold:{moment}@{KILLED_IN + 1}"
    quick: dict[str, Any] = {"spark.ui.enabled": False, "spark.driver.extraJavaOptions": jvm}
    spark = epochal.configure(SparkSession.builder.master("local[2]").config(map=quick)).getOrCreate()
    rows = epochal.read.random(spark, rows_per_batch=100, max_rows=1000, num_partitions=1).select("id", "value")
    JOBS[name](rows, f"jdbc:sqlite:{place}/orders.db", str(place / "checkpoint"), moment)


def play(name: str, place: Path) -> tuple[int, int]:
    """Runs a job, kills it, and runs it again to its end.

    Returns:
        The number of rows in the table, and of distinct rows; both should be 1,000.
    """
    moment, log = place / "moment", place / "log"
    command = [sys.executable, __file__, name, str(place)]
    connection = sqlite3.connect(place / "orders.db")
    connection.execute("CREATE TABLE orders (id INTEGER, value TEXT)")
    moment.touch()
    with log.open("wb") as output:
        job = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        while job.poll() is None and not moment.read_text():
            time.sleep(0.01)
        if job.poll() is not None:
            raise RuntimeError(f"the job ended before it was killed:\n{log.read_text()}")
        os.killpg(job.pid, signal.SIGKILL)  # Python and the JVM
        job.wait()
        moment.unlink()
        subprocess.run(command, stdout=output, stderr=output, check=True)
    counts: tuple[int, int] = connection.execute("SELECT count(*), count(DISTINCT id) FROM orders").fetchone()
    connection.close()
    return counts


def main() -> None:
    for name in JOBS:
        with tempfile.TemporaryDirectory(prefix="epochal-", ignore_cleanup_errors=True) as place:
            stored, different = play(name, Path(place))
        print(f"{name}: {stored:,} rows in the table, {different:,} different ones")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run_job(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
