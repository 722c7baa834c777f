"""A PostgreSQL server behind a network with a delay: round trips and time of an epoch, and of a capture's first run."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from statistics import median
from uuid import uuid4

from jdbc import Target
from pyspark.sql import DataFrame, SparkSession
from steady import session

import epochal
from epochal import cdc
from support import postgres

DELAY = 0.02
EPOCHS = 12
ROWS = 100
SNAPSHOT_ROWS = 2000


class DelayProxy:
    """A proxy that forwards bytes after a delay in each direction, and counts round trips.

    Attributes:
        trips: how often a client sent something first, or after a response.
        connections: number of connections so far.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._loop = asyncio.new_event_loop()
        self.trips = 0
        self.connections = 0
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        opening = asyncio.start_server(self._connect, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _connect(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        starts_trip = [True]
        await asyncio.gather(
            self._pump(client, to_server, starts_trip, True), self._pump(server, to_client, starts_trip, False)
        )

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, starts_trip: list[bool], is_client: bool
    ) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                self.trips += is_client and starts_trip[0]
                starts_trip[0] = not is_client
                self._loop.call_later(DELAY, sink.write, data)
        self._loop.call_later(DELAY, sink.close)


@contextmanager
def table_of(target: Target) -> Iterator[str]:
    name = f"far_{uuid4().hex[:8]}"
    target.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, value text)")
    yield name
    target.execute(f"DROP TABLE {name}")


def rows(spark: SparkSession) -> DataFrame:
    source = epochal.read.random(spark, rows_per_batch=ROWS, max_rows=ROWS * EPOCHS)
    return source.selectExpr("id", "value", "'insert' AS op")


def epochs(spark: SparkSession, proxy: DelayProxy, url: str, target: Target, mode: str) -> None:
    """Prints the median of an epoch, without the first three."""
    keys = {"keyColumns": "id"} | ({"opColumn": "op"} if mode == "changes" else {})
    frame = rows(spark) if mode == "changes" else rows(spark).drop("op")
    with table_of(target) as table, tempfile.TemporaryDirectory() as checkpoint:
        query = epochal.write.jdbc(
            frame,
            url,
            table=table,
            checkpoint=checkpoint,
            trigger="availableNow",
            options={} if mode == "append" else keys,
        )
        marks: list[tuple[int, float]] = []
        while query.isActive:
            stored_epochs = target.value(f"SELECT count(*) / {ROWS} FROM {table}")
            if stored_epochs > len(marks):
                marks.append((proxy.trips, time.perf_counter()))
            time.sleep(0.002)
        query.awaitTermination()
        trips = [later[0] - earlier[0] for earlier, later in pairwise(marks[3:])]
        times = [later[1] - earlier[1] for earlier, later in pairwise(marks[3:])]
        print(f"{mode}: {median(trips):.0f} round trips, {median(times) * 1000:.0f} ms an epoch")


def first_runs(spark: SparkSession, proxy: DelayProxy, url: str, target: Target) -> None:
    """Prints what a capture's first run takes, without and with a snapshot: the difference is the snapshot's."""
    for starting in ("latest", "initial"):
        with table_of(target) as table, tempfile.TemporaryDirectory() as checkpoint:
            target.execute(f"INSERT INTO {table} SELECT i, 'a' FROM generate_series(1, {SNAPSHOT_ROWS}) i")
            trips, connections, begun = proxy.trips, proxy.connections, time.perf_counter()
            changes = epochal.read.cdc(spark, url, table=table, slot=cdc.Slot(table, starting_offset=starting))
            feed = changes.writeStream.format("noop").option("checkpointLocation", checkpoint)
            feed.trigger(availableNow=True).start().awaitTermination()
            print(
                f"first run, {starting}: {proxy.trips - trips} round trips"
                f" over {proxy.connections - connections} connections, {time.perf_counter() - begun:.1f} s"
            )
            target.execute(f"SELECT pg_drop_replication_slot('{table}')")
            target.execute(f"DROP PUBLICATION {table}")


def main() -> bool:
    """No goal: the suites of the jar limit the round trips."""
    spark = session()
    try:
        with postgres.server() as server:
            target = Target(server.dsn)
            port = target.url.partition("//")[2].partition(":")[2].partition("/")[0]
            proxy = DelayProxy(int(port))
            url = target.url.replace(f":{port}/", f":{proxy.port}/")
            print(f"PostgreSQL at {DELAY * 2000:.0f} ms a round trip, epochs of {ROWS} rows")
            for mode in ("append", "upsert", "changes"):
                epochs(spark, proxy, url, target, mode)
            print(f"A capture of a table of {SNAPSHOT_ROWS} rows")
            first_runs(spark, proxy, url, target)
    finally:
        spark.stop()
    return True
