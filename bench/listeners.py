"""Shared code of the epochal-ingest benchmarks: listeners, load from Java clients, and the result table."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

SECONDS = float(os.environ.get("EPOCHAL_BENCH_SECONDS", "10"))
LATENCY_GOAL = 20.0


@dataclass(frozen=True)
class Load:
    """The results of a client: records a second, and percentiles of the acknowledgement in milliseconds."""

    rate: float
    median: float
    p99: float
    slowest: float


@dataclass(frozen=True)
class Contest:
    """Listeners under full load, and under a tenth of the goal.

    Args:
        program: the client, a Java file beside this one; its arguments are port, connections, records in a write or
            request, seconds, and records a second (0: as fast as they are acknowledged).
        goal: records a second.
        connections: number of connections of the client.
        at_once: records per write or request under full load.
        at_once_calm: records per write or request at a tenth of the goal.
    """

    program: str
    goal: int
    connections: int
    at_once: int
    at_once_calm: int

    def load(self, port: int, at_once: int, rate: int) -> Load:
        command = ["java", str(Path(__file__).with_name(self.program)), str(port), str(self.connections)]
        done = subprocess.run([*command, str(at_once), str(SECONDS), str(rate)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return Load(*(float(text) for text in done.stdout.split()))

    def run(self, title: str, contenders: Mapping[str, Callable[[], AbstractContextManager[int]]]) -> bool:
        """Measures and prints; returns whether the first contender meets the goals."""
        found: dict[str, tuple[Load, Load]] = {}
        print(f"\n{title}; load average at the start {os.getloadavg()[0]:.1f}", flush=True)
        for name, listener in contenders.items():
            with listener() as port:
                found[name] = (self.load(port, self.at_once, 0), self.load(port, self.at_once_calm, self.goal // 10))
        calm = f"p50, p99 at {self.goal // 10:,}/s"
        print(f"  {'':<28} {'records/s':>10} {'ratio':>6} {'ack p50':>9} {'p99':>9}   {calm}")
        (first, quiet), *_ = found.values()
        for name, (fast, slow) in found.items():
            waits = f"{fast.median:>6.1f} ms {fast.p99:>6.1f} ms   {slow.median:.1f} ms, {slow.p99:.1f} ms"
            print(f"  {name:<28} {fast.rate:>10,.0f} {first.rate / fast.rate:>6.2f} {waits}")
        met = first.rate >= self.goal and quiet.p99 < LATENCY_GOAL
        print(f"  goal {self.goal:,} records/s and p99 below {LATENCY_GOAL:.0f} ms: {'met' if met else 'MISSED'}")
        return met


@contextmanager
def ours(spark: SparkSession, directory: str, **options: str) -> Iterator[int]:
    """Runs a query that receives records and drops its rows; checks that it has delivered all acknowledged records."""
    port = free_port()
    rows = spark.readStream.format("epochal-ingest").options(port=port, maxJournalBytes="8g", **options).load()
    writer = rows.select("value").writeStream.format("noop").option("checkpointLocation", f"{directory}/checkpoint")
    query = writer.start()
    try:
        await_listener(port)
        yield port
        begun = time.monotonic()
        query.processAllAvailable()
        took = time.monotonic() - begun
        progress = json.loads(query.lastProgress.json)  # type: ignore[union-attr]
        source = progress["sources"][0]
        delivered, acknowledged = source["endOffset"]["row"], int(source["metrics"]["acknowledged"])
        if delivered != acknowledged:
            raise RuntimeError(f"{delivered} rows of {acknowledged} acknowledged records")
        print(f"  the query has delivered all {delivered:,} records, {took:.1f} s after the last one")
    finally:
        query.stop()


@contextmanager
def program(text: str, *arguments: str) -> Iterator[int]:
    """Runs a Python program; yields the port, which is its first argument."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-c", text, str(port), *arguments]) as server:
        try:
            await_listener(port)
            yield port
        finally:
            server.terminate()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def await_listener(port: int) -> None:
    for _ in range(1500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"nothing listens on port {port}")
