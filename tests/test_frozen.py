"""Queries that drivers of earlier releases were running when they were killed: resumed, each row is there once.

``frozen/README.md`` says what each set holds, and how a release adds its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from frozen.packing import HOME, restore, unpack
from frozen.scenarios import PARTS, SCENARIOS, TABLE, Place, Scenario, lines
from frozen.systems import behind_proxy, send
from support import orders
from support.api import serve
from support.databases import Database, Row, Sqlite
from support.http_writers import free_port
from support.orders import Orders, Sent
from support.streams import numbers
from support.waiting import until

SETS = sorted(HOME.glob("*/*.tar.xz"))
SHORTEST = "spark.sql.streaming.realTimeMode.minBatchDuration"


def named(archive: Path) -> str:
    return f"{archive.parent.name}/{archive.name.removesuffix('.tar.xz')}"


@pytest.fixture
def short(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which the batches of a real-time query may be short."""
    spark.conf.set(SHORTEST, "500ms")
    yield spark
    spark.conf.unset(SHORTEST)


class Thawed:
    """What an archive has, put back."""

    def __init__(self, archive: Path, directory: Path, request: pytest.FixtureRequest, stack: ExitStack) -> None:
        self.scenario: Scenario = SCENARIOS[archive.name.removesuffix(".tar.xz")]
        self.state = unpack(archive, directory)
        self.directory = directory
        self.place = Place(str(directory), part=2, port=free_port())
        self.orders = Orders()
        self.database: Database = Sqlite(directory / "target.db")
        if self.scenario.api:
            api = stack.enter_context(serve(self.scenario.api()))
            self.place = replace(self.place, api=behind_proxy(api))
            api.records = [
                one | ({"name": "changed since"} if one["id"] in self.state.journalled else {})
                for one in self.scenario.records(2)
            ]
        if self.scenario.target == "api":
            self.orders = before(json.loads((directory / "requests.json").read_text("utf-8")))
            self.place = replace(self.place, api=stack.enter_context(orders.serve(self.orders)).url)
        if self.scenario.target == "postgres":
            server = request.getfixturevalue("postgres_server")
            self.database = restore(server, self.scenario, (directory / "target.sql").read_text("utf-8"))
        self.place = replace(self.place, url=self.database.url, user=self.database.user)

    def rows(self) -> list[Row]:
        """All rows of the target; of an API the ids that it has applied, as often as it has."""
        if self.scenario.target == "api":
            return sorted((number,) for number in self.orders.applied.elements())
        return sorted(self.database.query(f"SELECT * FROM {TABLE}"), key=repr)

    def expected(self, spark: SparkSession) -> list[Row]:
        rows = self.scenario.rows(spark)
        return sorted(row[:1] for row in rows) if self.scenario.target == "api" else sorted(rows, key=repr)

    def history(self) -> list[Row]:
        """The epochs that were applied."""
        if self.scenario.target == "api":
            return []
        return self.database.query("SELECT epoch, rows, digest FROM epochal_ledger_history ORDER BY number")

    def plans(self) -> dict[int, bytes]:
        """The logged epochs; none where an epoch that runs again may end elsewhere."""
        logged = [] if self.scenario.is_endless else numbers(self.place.checkpoint, "offsets")
        return {epoch: (self.place.checkpoint / "offsets" / str(epoch)).read_bytes() for epoch in logged}

    def resume(self, spark: SparkSession) -> None:
        """Runs the query until all rows are there."""
        rows = len(self.expected(spark))
        query = self.scenario.start(spark, self.place)
        try:
            with epochal.errors.named():
                if self.scenario.ends:
                    assert query.awaitTermination(120)
                    return
                if self.scenario.receives:
                    self.receive()
                until(lambda: ended(query) or len(self.rows()) >= rows, f"{rows} rows", 120)
                until(lambda: ended(query) or self.commits() > self.state.logged, "an epoch more", 60)
        finally:
            query.stop()

    def receive(self) -> None:
        """Clients send what is new, and over HTTP a request that they had sent before."""
        if self.scenario.name == "ingest-http":
            assert send(self.scenario, self.place.port, lines(0)[:5]) == {"records": 5, "duplicate": True}
        send(self.scenario, self.place.port, lines(2, since=PARTS[1]))

    def commits(self) -> int:
        return max(numbers(self.place.checkpoint, "commits"), default=-1)


def before(sent: list[dict[str, Any]]) -> Orders:
    """An API that knows the keys of the requests that it had."""
    found = Orders()
    for one in sent:
        found.answer(Sent(**one))
    return found


def ended(query: StreamingQuery) -> bool:
    """Never true: an error of the query, where it has one, or an AssertionError."""
    if (error := query.exception()) is not None:
        raise error
    assert query.isActive
    return False


@pytest.fixture
def thaw(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Thawed]]:
    with ExitStack() as stack:
        yield lambda archive: Thawed(archive, tmp_path, request, stack)


@pytest.mark.parametrize("archive", SETS, ids=named)
def test_a_query_of_an_earlier_release_is_resumed_with_each_row_once(
    archive: Path, short: SparkSession, thaw: Callable[[Path], Thawed]
) -> None:
    thawed = thaw(archive)
    expected, stored = thawed.expected(short), thawed.rows()
    history, plans = thawed.history(), thawed.plans()
    assert len(stored) < len(expected)
    thawed.resume(short)
    assert thawed.rows() == expected
    assert thawed.commits() > thawed.state.logged
    assert {epoch: thawed.plans()[epoch] for epoch in plans} == plans
    assert thawed.history()[: len(history)] == history
    epochs = [epoch for epoch, *_ in thawed.history()]
    assert epochs == list(range(len(epochs)))


def test_every_scenario_is_in_the_set_of_the_first_release_or_of_a_later_one() -> None:
    assert {named(archive).split("/")[1] for archive in SETS} == set(SCENARIOS)
