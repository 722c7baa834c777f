"""The latency from the time a row is due to its write in a task, at 1,000 rows a second: continuous and real-time."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter
from steady import session

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from support.epoch_files import FORMAT, build, epochs

RATE = 1000
SECONDS = 30
#: Time for the JVM to compile.
WARM_UP_SECONDS = 10

Trigger = Callable[[DataStreamWriter], DataStreamWriter]


def continuous(writer: DataStreamWriter) -> DataStreamWriter:
    return writer.trigger(continuous="1 second")


def real_time(writer: DataStreamWriter) -> DataStreamWriter:
    return writer.outputMode("update").option("asyncProgressTrackingEnabled", False).trigger(realTime="5 seconds")


def latencies(rows: DataFrame, trigger: Trigger, due: Callable[[int, Path], int]) -> list[float]:
    """The latency of each row of the committed epochs after the warm-up, in milliseconds.

    Args:
        rows: a stream with one numeric column.
        due: computes the time a row was due from its number and the checkpoint, in microseconds since 1970.
    """
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as place:
        path, checkpoint = Path(place, "rows"), Path(place, "checkpoint")
        path.mkdir()
        writer = rows.writeStream.format(FORMAT).option("path", str(path)).option("checkpointLocation", str(checkpoint))
        query = trigger(writer).start()
        time.sleep(WARM_UP_SECONDS + SECONDS)
        query.stop()
        written = sorted((at, number) for rows_ in epochs(path).values() for number, at in rows_)
        counts_from = written[0][0] + WARM_UP_SECONDS * 1_000_000
        return sorted((at - due(number, checkpoint)) / 1000 for at, number in written if at >= counts_from)


def due_of_random() -> Callable[[int, Path], int]:
    started: dict[Path, int] = {}

    def due(number: int, checkpoint: Path) -> int:
        if checkpoint not in started:
            logged = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
            started[checkpoint] = json.loads(logged.read_text().splitlines()[-1])["startedAt"]
        return (started[checkpoint] + (number + 1) * 1000 // RATE) * 1000

    return due


def main() -> bool:
    with tempfile.TemporaryDirectory(prefix="bench-jar-") as place:
        jar = build(Path(place))
        spark = session(spark_jars=str(jar))
        spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", False)
        options = {"rowsPerSecond": RATE, "numPartitions": 1}
        random = spark.readStream.format("epochal-random").options(**options).load().select("id")
        rate = spark.readStream.format("rate").options(**options).load().selectExpr("unix_micros(timestamp) AS due")
        measured = {
            "epochal-random, continuous": latencies(random, continuous, due_of_random()),
            "rate, continuous": latencies(rate, continuous, lambda number, _: number),
            "epochal-random, real-time": latencies(random, real_time, due_of_random()),
        }
        spark.stop()
    print(f"\nFrom due to written, {RATE} rows/s, one task, {SECONDS} s: milliseconds")
    for name, found in measured.items():
        cuts = statistics.quantiles(found, n=1000)
        print(
            f"  {name:<30} p50 {cuts[499]:8.2f}   p90 {cuts[899]:8.2f}   p99 {cuts[989]:8.2f}"
            f"   p99.9 {cuts[998]:8.2f}   largest {found[-1]:8.2f}   ({len(found)} rows)"
        )
    return True
