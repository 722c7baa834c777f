"""One Spark session and one PostgreSQL server per pytest process; one database or schema per test."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support import api as api_support
from support.places import over_connect, prepare_environment

prepare_environment()

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.cluster import Cluster
    from support.databases import Database, Postgres, Sqlite


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the jar, in UTC, on two cores: classic, or over Connect if ``EPOCHAL_TEST_CONNECT`` is set."""
    from pyspark.sql import SparkSession

    import epochal

    settings: dict[str, Any] = {
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.log.level": os.environ.get("EPOCHAL_TEST_LOG_LEVEL", "OFF"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    if over_connect():
        from support import connect_server

        allowed = {"spark.epochal.allowedFiles": str(tmp_path_factory.getbasetemp())}
        conf = {name: str(value).lower() if value is False else str(value) for name, value in settings.items()}
        with connect_server.running(epochal.jar_path(), conf | allowed) as address:
            client = epochal.configure(SparkSession.builder.remote(address)).getOrCreate()
            yield client
            client.stop()
        return
    builder = SparkSession.builder.master("local[2]").appName("epochal tests")
    session = epochal.configure(builder.config(map=settings)).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _no_query_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stops queries that a failed test left running."""
    yield
    if "spark" in request.fixturenames:
        for query in request.getfixturevalue("spark").streams.active:
            query.stop()


@pytest.fixture
def api() -> Iterator[api_support.Api]:
    """An API without records."""
    with api_support.serve(api_support.Api()) as served:
        yield served


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Connection string of the tests' PostgreSQL."""
    from support import postgres

    with postgres.server() as server:
        yield server.dsn


@pytest.fixture
def postgres(postgres_server: str) -> Postgres:
    """An empty schema in PostgreSQL. Transactions that killed drivers of earlier tests left prepared are rolled back:
    the creation of a replication slot would wait for them.
    """
    import psycopg

    from support.databases import new_postgres

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        prepared = "FROM pg_prepared_xacts WHERE database = current_database()"
        for (statement,) in connection.execute(f"SELECT format('ROLLBACK PREPARED %L', gid) {prepared}").fetchall():
            connection.execute(statement.encode())
    return new_postgres(postgres_server, f"test_{uuid.uuid4().hex[:12]}")


@pytest.fixture
def sqlite(tmp_path: Path) -> Sqlite:
    """An SQLite file that does not exist yet."""
    from support.databases import Sqlite

    return Sqlite(tmp_path / "test.db")


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Cluster]:
    """A standalone cluster."""
    from support.cluster import cluster

    with cluster() as made:
        yield made


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.slow), "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    """An empty database, of each kind in turn; in `make test` PostgreSQL, beside the tests that request ``sqlite``."""
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Directory for a checkpoint."""
    return tmp_path / "checkpoint"
