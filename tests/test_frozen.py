"""Queries resume, with each row once, from checkpoints and ledgers that killed drivers of earlier releases left.

``frozen/README.md`` describes the sets and how a release adds its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark
import pytest
from _pytest.mark.structures import ParameterSet
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from frozen.packing import HOME, restore_postgres, schema, unpack
from frozen.running import DRIVERS, Remote, Writer, h2, h2_tool
from frozen.scenario import PARTS, REAL_TIME, Place, Scenario, query_id
from frozen.scenarios import SCENARIOS, lines
from frozen.systems import behind_proxy, send
from support import mysql, orders
from support.api import serve
from support.databases import Database, Row, Sqlite
from support.http_writers import free_port, listens
from support.orders import Orders, Sent
from support.places import is_required
from support.streams import numbers
from support.waiting import until

SETS = sorted(HOME.glob("*/*.tar.xz"))
#: Sets of APIs in `make test`.
QUICK = ("random", "rest-cursor", "ingest-http", "sqlite-inline-append", "postgres-inline-append", "api-by-columns")
SHORTEST = "spark.sql.streaming.realTimeMode.minBatchDuration"


def named(archive: Path) -> str:
    return f"{archive.parent.name}/{archive.name.removesuffix('.tar.xz')}"


@pytest.fixture
def short(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that allows short batches in real-time queries."""
    spark.conf.set(SHORTEST, "500ms")
    yield spark
    spark.conf.unset(SHORTEST)


class Thawed:
    """The restored content of an archive."""

    def __init__(self, archive: Path, directory: Path, request: pytest.FixtureRequest, stack: ExitStack) -> None:
        self.scenario: Scenario = SCENARIOS[archive.name.removesuffix(".tar.xz")]
        if self.scenario.trigger == REAL_TIME and pyspark.__version__ < "4.1":
            pytest.skip("Spark 4.0 has no real-time mode")
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
        match self.scenario.target:
            case "postgres":
                server = request.getfixturevalue("postgres_server")
                self.database = restore_postgres(server, self.scenario, self.dump())
            case "mariadb" | "mysql" as kind:
                name, there = schema(self.scenario), request.getfixturevalue(f"{kind}_server")
                there.client(sql=f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}")
                there.client(name, sql=self.dump())
                self.database = Remote(there.url(name), "root", request.getfixturevalue("with_drivers"))
            case "h2":
                self.database = replace(h2(directory), through=request.getfixturevalue("with_drivers"))
                h2_tool(self.database, "RunScript", "-script", str(directory / "target.sql"))
        self.place = replace(self.place, url=self.database.url, user=self.database.user)

    def dump(self) -> str:
        return (self.directory / "target.sql").read_text("utf-8")

    def rows(self) -> list[Row]:
        """All rows of the target; for an API the applied ids, with repetitions."""
        if self.scenario.target == "api":
            return sorted((number,) for number in self.orders.applied.elements())
        return sorted(self.database.query(self.scenario.look), key=repr)

    def expected(self, spark: SparkSession) -> list[Row]:
        rows = self.scenario.rows(spark)
        return sorted(row[:1] for row in rows) if self.scenario.target == "api" else sorted(rows, key=repr)

    def history(self) -> list[Row]:
        """The applied epochs."""
        if self.scenario.target == "api":
            return []
        return self.database.query("SELECT * FROM epochal_ledger_history ORDER BY number")

    def plans(self) -> dict[int, bytes]:
        """The logged epochs; none if a replayed epoch may have another end."""
        logged = [] if self.scenario.is_endless else numbers(self.place.checkpoint, "offsets")
        return {epoch: (self.place.checkpoint / "offsets" / str(epoch)).read_bytes() for epoch in logged}

    def resume(self, spark: SparkSession) -> None:
        """Runs the query until all rows are stored."""
        rows = len(self.expected(spark))
        if isinstance(self.database, Remote):
            assert self.database.through
            self.database.through.start({self.scenario.name: self.place}, wait=self.scenario.ends)
            self.await_rows(rows, self.database.through.assert_runs)
            return
        query = self.scenario.start(spark, self.place)
        try:
            with epochal.errors.named():
                if self.scenario.ends:
                    assert query.awaitTermination(120)
                    return
                if self.scenario.receives:
                    self.receive(query)
                self.await_rows(rows, lambda: runs(query))
        finally:
            query.stop()

    def await_rows(self, rows: int, check: Callable[[], object]) -> None:
        def there() -> bool:
            check()
            return len(self.rows()) >= rows and self.commits() > self.state.logged

        until(there, f"{rows} rows and an epoch more", 120)

    def receive(self, query: StreamingQuery) -> None:
        """Sends new records, and over HTTP also repeats an earlier request."""
        until(lambda: runs(query) and listens(self.place.port), "a listener", 60)
        try:
            if self.scenario.name == "ingest-http":
                assert send(self.scenario, self.place.port, lines(0)[:5]) == {"records": 5, "duplicate": True}
            send(self.scenario, self.place.port, lines(2, since=PARTS[1]))
        except OSError:
            until(lambda: not runs(query), "why the listener is gone", 60)

    def commits(self) -> int:
        return max(numbers(self.place.checkpoint, "commits"), default=-1)


def before(sent: list[dict[str, Any]]) -> Orders:
    """An API that remembers the keys of earlier requests."""
    found = Orders()
    for one in sent:
        found.answer(Sent(**one))
    return found


def runs(query: StreamingQuery) -> bool:
    """True; raises the error of a query that has ended."""
    if (error := query.exception()) is not None:
        raise error
    assert query.isActive
    return True


def serving(kind: str) -> Iterator[mysql.Server]:
    if (why := mysql.missing(kind)) and not is_required(kind):
        pytest.skip(f"{kind}: {why}")
    with mysql.server(kind) as server:
        yield server


@pytest.fixture(scope="module")
def mariadb_server() -> Iterator[mysql.Server]:
    yield from serving("mariadb")


@pytest.fixture(scope="module")
def mysql_server() -> Iterator[mysql.Server]:
    yield from serving("mysql")


@pytest.fixture(scope="module")
def with_drivers() -> Iterator[Writer]:
    """A driver whose session has third-party JDBC drivers."""
    if not DRIVERS and not is_required("mariadb"):
        pytest.skip("build/drivers is empty: run make test-python")
    writer = Writer()
    yield writer
    writer.kill()


@pytest.fixture
def thaw(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Thawed]]:
    with ExitStack() as stack:
        yield lambda archive: Thawed(archive, tmp_path, request, stack)


def assert_resumed(thawed: Thawed, spark: SparkSession) -> None:
    """Resumes a query; asserts that each row is there once, and that committed and planned epochs are unchanged."""
    expected, history, plans = thawed.expected(spark), thawed.history(), thawed.plans()
    assert thawed.rows() != expected
    thawed.resume(spark)
    assert thawed.rows() == expected
    assert thawed.commits() > thawed.state.logged
    assert {epoch: thawed.plans()[epoch] for epoch in plans} == plans
    assert thawed.history()[: len(history)] == history
    query = query_id(thawed.place.checkpoint)
    epochs = [epoch for _, _, epoch, of, *_ in thawed.history() if of == query]
    assert (sorted(set(epochs)) if thawed.scenario.is_endless else epochs) == list(range(len(set(epochs))))


def set_of(archive: Path) -> ParameterSet:
    """Marks all archives but one of each kind as slow."""
    name = archive.name.removesuffix(".tar.xz")
    return pytest.param(archive, id=named(archive), marks=() if name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("archive", [set_of(archive) for archive in SETS])
def test_a_query_of_an_earlier_release_is_resumed_with_each_row_once(
    archive: Path, short: SparkSession, thaw: Callable[[Path], Thawed]
) -> None:
    assert_resumed(thaw(archive), short)


def start_earlier(thawed: Thawed) -> None:
    """Moves the end of the last committed epoch back by a record."""
    logged = thawed.place.checkpoint / "offsets" / str(thawed.state.committed)
    rewritten(logged, b'"records":25', b'"records":24')


def other_plan(thawed: Thawed) -> None:
    """Moves the end of the applied epoch back."""
    rewritten(thawed.place.checkpoint / "offsets" / str(thawed.state.logged), b'"rows":60', b'"rows":59')


def other_page(thawed: Thawed) -> None:
    """Changes the text of a journalled page."""
    rewritten(max(thawed.place.checkpoint.glob("sources/0/journal/*.seg")), b"name 27", b"name 72")


def other_arrival(thawed: Thawed) -> None:
    """Changes an acknowledged line."""
    for file in thawed.place.checkpoint.glob("sources/0/ingest/*.ack"):
        rewritten(file, b"line 27", b"line 72")


def no_feed(thawed: Thawed) -> None:
    """Removes received data whose rows are stored."""
    for file in thawed.place.checkpoint.glob("sources/0/journal/*.feed"):
        file.unlink()


def rewritten(file: Path, old: bytes, new: bytes) -> None:
    file.write_bytes(file.read_bytes().replace(old, new))
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


#: Damage and expected error, by scenario.
DAMAGES: dict[str, tuple[Callable[[Thawed], None], str]] = {
    "rest-offset": (start_earlier, "name 25"),
    "sqlite-inline-append": (other_plan, "EPOCH_OFFSETS_CHANGED"),
    "rest-cursor": (other_page, "DATA_LOSS"),
    "ingest-tcp": (other_arrival, "DATA_LOSS"),
    "rest-continuous": (no_feed, "ROWS_NOT_REPEATED"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_set_is_not_resumed(name: str, short: SparkSession, thaw: Callable[[Path], Thawed]) -> None:
    thawed = thaw(HOME / "0.1.0" / f"{name}.tar.xz")
    damage, said = DAMAGES[name]
    damage(thawed)
    with pytest.raises((AssertionError, epochal.EpochalError), match=said):
        assert_resumed(thawed, short)


def test_each_scenario_is_in_a_frozen_set() -> None:
    assert {named(archive).split("/")[1] for archive in SETS} == set(SCENARIOS)
