"""Shared code of the benchmarks: a Spark session, servers, the steady state of a query, and alternating rounds."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import epochal


def session(**conf: str) -> SparkSession:
    """A session on two cores with the jar, quiet and without the web UI."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("bench")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
    )
    for name, value in conf.items():
        builder = builder.config(name.replace("_", "."), value)
    spark = epochal.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@contextmanager
def java_server(program: str, *arguments: int, path: str = "") -> Iterator[str]:
    """Runs a server, a Java file beside this one, in a JVM that ends with this process; yields its URL."""
    command = ["java", str(Path(__file__).with_name(program)), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}{path}"
        finally:
            server.terminate()


def steady_state(df: DataFrame, batches: int) -> float:
    """Rows a second of a streaming frame into noop: rows / (triggerExecution - walCommit - commitOffsets).

    The first two batches are not counted.
    """
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint:
        query = df.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        try:
            while True:
                done = [p for p in query.recentProgress if p["numInputRows"]]
                if len(done) >= batches or query.awaitTermination(1):
                    break
        finally:
            query.stop()
        counted = done[2:batches]
        rows = sum(p["numInputRows"] for p in counted)
        millis = sum(
            p["durationMs"]["triggerExecution"]
            - p["durationMs"].get("walCommit", 0)
            - p["durationMs"].get("commitOffsets", 0)
            for p in counted
        )
        return 1000 * rows / millis


@dataclass
class Contest:
    """Contenders that are measured in alternating rounds.

    Args:
        contenders: the measurement of each contender, in ``unit``.
        goals: minimum ratio of the first of a pair to the second; None without a goal. The ratio is the median over the
            rounds.
        warm_up: rounds before the counted ones.
    """

    title: str
    contenders: Mapping[str, Callable[[], float]]
    goals: Mapping[tuple[str, str], float | None]
    unit: str = "rows/s"
    rounds: int = 5
    warm_up: int = 2
    figures: dict[str, list[float]] = field(default_factory=dict)

    def run(self) -> bool:
        """Measures and prints; returns whether every goal is met."""
        for _ in range(self.warm_up):
            for measure in self.contenders.values():
                measure()
        self.figures = {name: [] for name in self.contenders}
        for _ in range(self.rounds):
            for name, measure in self.contenders.items():
                self.figures[name].append(measure())
        return self._report()

    def _report(self) -> bool:
        print(f"\n{self.title}: medians of {self.rounds} rounds in turn")
        for name, values in self.figures.items():
            spread = f"({min(values):,.0f} .. {max(values):,.0f})"
            print(f"  {name:<40} {statistics.median(values):>12,.0f} {self.unit}   {spread}")
        met = True
        for (one, other), goal in self.goals.items():
            ratio = statistics.median(a / b for a, b in zip(self.figures[one], self.figures[other], strict=True))
            verdict = "" if goal is None else f"   goal {goal:.2f}: {'met' if ratio >= goal else 'MISSED'}"
            met = met and (goal is None or ratio >= goal)
            print(f"  {one} / {other}: {ratio:.2f}{verdict}", flush=True)
        return met
