"""Starts that the tests of hints make: an API, a database and a port, and the jobs between them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import ingest, jdbc
from support.api import Answer, Api, Request
from support.databases import Sqlite
from support.hints import Caller

REST, JDBC, INGEST, REST_SINK = "epochal-rest", "epochal-jdbc", "epochal-ingest", "epochal-rest sink"
NUMBERS = itertools.count()


@dataclass
class Says(Api):
    """Responds with ``reply``, if that is set."""

    reply: Callable[[Says, Request], Answer] | None = None

    def answer(self, request: Request) -> Answer:
        return super().answer(request) if self.reply is None else self.reply(self, request)


def says(value: Any) -> Answer:
    return 200, json.dumps(value).encode(), {}


@dataclass
class World:
    """A source with five records, an empty database, and a port that is in use."""

    spark: SparkSession
    api: Says
    database: Sqlite
    place: Path
    port: int

    def read(self, caller: Caller, **given: Any) -> None:
        """Reads the API from the beginning."""
        self.copy(caller, f"read_{next(NUMBERS)}", **given)

    def copy(self, caller: Caller, checkpoint: str = "copy", **given: Any) -> None:
        """Writes what the API has since the last time."""
        rows = caller.read(REST, streaming=True, **{"url": self.api.url, **given})
        self.keep(caller, rows, checkpoint)

    def listen(self, caller: Caller, protocol: ingest.Tcp) -> None:
        rows = caller.read(INGEST, streaming=True, schema=None, protocol=protocol)
        self.keep(caller, rows.select("value"), f"listen_{next(NUMBERS)}")

    def send(self, caller: Caller) -> None:
        rows = self.rows().repartition(2)
        caller.write(REST_SINK, rows, url=self.api.url, checkpoint=self.place / "sent", sink_id="s")

    def keep(self, caller: Caller, rows: DataFrame, name: str) -> None:
        """Writes rows with a checkpoint of this name into a table of this name."""
        place: dict[str, Any] = {"url": self.database.url, "table": name, "checkpoint": self.place / name}
        caller.write(JDBC, rows, **place, sink_id=name, create_table=True, columns=jdbc.Columns(add=True))

    def rows(self, count: int = 10, id: str = "id") -> DataFrame:
        rows = epochal.read.random(self.spark, rows_per_batch=10, max_rows=count, num_partitions=1)
        return rows.selectExpr(f"{id} AS id", "CAST(id AS STRING) AS value")

    def store(self, caller: Caller, count: int = 10, checkpoint: str = "a", id: str = "id", **given: Any) -> None:
        place = {"url": self.database.url, "table": "t", "checkpoint": self.place / checkpoint}
        caller.write(JDBC, self.rows(count, id), **{**place, "sink_id": "s", **given})

    def stored(self, *statements: str, count: int = 10) -> None:
        """Writes rows, then runs statements."""
        self.store(Caller(self.spark, python=True), count, create_table=True)
        if statements:
            self.database.execute(*statements)
