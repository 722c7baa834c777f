"""Fixtures of the crash tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from crash.queries import Queries
from support import postgres
from support.postgres import Server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs each module on one worker (``--dist loadgroup``), because its tests share processes; a phase is divided."""
    for item in items:
        call = getattr(item, "callspec", None)
        if "crash" in item.path.parts and "share" not in (call.params if call else {}):
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope="session", autouse=True)
def _killed_drivers_leave_nothing() -> Iterator[None]:
    """Removes the directories that killed drivers leave, each with a copy of the jar."""
    with (
        tempfile.TemporaryDirectory(prefix="epochal-crash-", ignore_cleanup_errors=True) as directory,
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("SPARK_LOCAL_DIRS", directory)
        yield


@pytest.fixture
def here(spark: SparkSession) -> Iterator[Queries]:
    """Queries in this process's session."""
    queries = Queries(spark)
    yield queries
    queries.stop_queries()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that the test may stop."""
    with postgres.server() as server:
        yield server
