"""The main job on the installed Spark: REST → SQLite, killed halfway, resumed; the tables of the PostgreSQL catalog.

One jar supports all versions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest

from support.api import Api
from support.data import as_rows, comments, create_comments, ledger, stored
from support.databases import Postgres, Sqlite
from support.jobs import Job
from support.sessions import in_a_jvm_of_its_own
from support.waiting import until

pytestmark = pytest.mark.matrix


def test_a_job_killed_halfway_ends_with_every_row_once(api: Api, sqlite: Sqlite, tmp_path: Path) -> None:
    print(f"pyspark {pyspark.__version__}")
    create_comments(sqlite)
    api.records = comments(1, 300)
    target = {
        "url": sqlite.url,
        "table": "comments",
        "sinkId": "comments",
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    settings = {"api": api.url, "rows_per_batch": 10, "available_now": False, "targets": [target]}

    def half_way() -> bool:
        first.assert_runs()
        return len(stored(sqlite)) >= 150

    first = Job(settings)
    try:
        first.go()
        until(half_way, "half of the rows")
    finally:
        first.kill()
    committed = len(stored(sqlite))
    assert 0 < committed < 300
    assert stored(sqlite) == as_rows(api.records[:committed])

    second = Job(settings | {"available_now": True})
    try:
        second.go()
        second.wait()
    finally:
        second.kill()
    assert stored(sqlite) == as_rows(api.records)
    (line,) = ledger(sqlite)
    assert line["generation"] == 2


def test_the_catalog_has_the_tables_of_postgresql(postgres: Postgres) -> None:
    """Also where Spark lacks the interfaces of ``CHANGES``."""
    from pyspark.sql import SparkSession

    postgres.execute("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)", "INSERT INTO orders VALUES (1, 'one')")
    catalog = {"": "io.epochal.cdc.EpochalPostgresCatalog", ".url": postgres.url, ".user": postgres.user}
    settings: dict[str, Any] = {f"spark.sql.catalog.pg{name}": value for name, value in catalog.items()}
    builder = SparkSession.builder.master("local[1]").config(map=settings | {"spark.ui.enabled": False})
    with in_a_jvm_of_its_own(builder) as spark:
        assert spark.table(f"pg.{postgres.schema}.orders").collect() == [(1, "one")]
        assert [row.tableName for row in spark.sql(f"SHOW TABLES IN pg.{postgres.schema}").collect()] == ["orders"]
