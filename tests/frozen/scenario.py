"""A query of a frozen set, and where it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from support.api import Api, Record
from support.data import as_rows, comments
from support.databases import Row

TABLE = "t"
#: Records, rows or lines at the end of each part.
PARTS = (25, 45, 70)
CONTINUOUS, REAL_TIME = "continuous 1 second", "realTime 1 second"
#: The API's own address, which is a part of offsets; the proxy that is asked for it is the stub.
API = "http://api.example.com/comments"


@dataclass(frozen=True)
class Place:
    """Where a query runs: its directory, the part that it reads now, and the addresses of its systems."""

    directory: str
    part: int = 0
    url: str = ""
    user: str | None = None
    api: str = ""
    port: int = 0

    @property
    def checkpoint(self) -> Path:
        return Path(self.directory) / "checkpoint"

    @property
    def end(self) -> int:
        return PARTS[self.part]


Read = Callable[[SparkSession, Place], DataFrame]


@dataclass(frozen=True)
class Scenario:
    """A query, and the state in which its set stops it.

    Attributes:
        name: for good.
        freezes: the formats.
        read: its rows.
        rows: what its table has in the end.
        api: serves ``records``, by part.
        write: further arguments of the sink's helper.
        look: the query that gives ``rows``.
        columns: of a table that is there before the query.
        target: where it writes: a kind of database, or ``api``.
        trigger: as helpers take it; one that does not end by itself is stopped when all rows are there.
        step: where the driver was killed. Empty: after the sink's last commit, before Spark's.
        at_once: whether the first epoch is the one that is begun.
    """

    name: str
    freezes: str
    read: Read
    rows: Callable[[SparkSession], Sequence[Row]] = lambda spark: as_rows(comments(1, PARTS[2]))
    api: Callable[[], Api] | None = None
    records: Callable[[int], list[Record]] = lambda part: comments(1, PARTS[part])
    write: Mapping[str, Any] | Callable[[Place], Mapping[str, Any]] = field(default_factory=dict)
    look: str = f"SELECT * FROM {TABLE}"
    columns: str = ""
    target: str = "sqlite"
    trigger: str = "availableNow"
    step: str = "commit.before"
    at_once: bool = False

    @property
    def ends(self) -> bool:
        """Whether a run ends by itself."""
        return self.trigger == "availableNow"

    @property
    def is_endless(self) -> bool:
        """Whether an epoch ends where its run happens to be."""
        return self.trigger in (CONTINUOUS, REAL_TIME)

    @property
    def receives(self) -> bool:
        """Whether clients send the rows."""
        return self.name.startswith("ingest")

    def start(self, spark: SparkSession, place: Place) -> StreamingQuery:
        """Starts the query."""
        more = self.write(place) if callable(self.write) else self.write
        given: dict[str, Any] = {"checkpoint": place.checkpoint, "trigger": self.trigger} | dict(more)
        rows = self.read(spark, place)
        if self.target == "api":
            query = epochal.write.rest(rows, place.api, query_name=self.name, **given)
        else:
            query = epochal.write.jdbc(
                rows, place.url, table=TABLE, user=place.user, query_name=self.name, create_table=True, **given
            )
        assert query is not None
        return query


def query_id(checkpoint: Path) -> str:
    return str(json.loads((checkpoint / "metadata").read_text("utf-8"))["id"])
