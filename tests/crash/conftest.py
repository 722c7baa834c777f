"""What the crash tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from crash.queries import Queries
from support import postgres
from support.postgres import Server


@pytest.fixture
def here(spark: SparkSession) -> Iterator[Queries]:
    """Queries of this process's session."""
    queries = Queries(spark)
    yield queries
    queries.stop_queries()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that the test may stop."""
    with postgres.server() as server:
        yield server
