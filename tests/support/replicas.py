"""Tables, and replicas of them by ``epochal.replicate``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import epochal
from epochal import cdc
from support.databases import Database, Postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A text that is stored out of line.
LARGE = "(SELECT string_agg(md5(i::text || random()::text), '') FROM generate_series(1, 500) i)"
KEYS = {"orders": "id", "items": "id, line"}


def two_tables(postgres: Postgres) -> Iterator[Postgres]:
    """A schema with two tables of 100 rows; its slot is dropped at the end."""
    postgres.execute(
        "CREATE TYPE mood AS ENUM ('ok', 'sad')",
        "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT, document TEXT NOT NULL, at TIMESTAMPTZ(3))",
        "CREATE TABLE items (id BIGINT, line INT, price NUMERIC(10, 2) NOT NULL, exact NUMERIC, data JSONB,"
        " tags TEXT[], raw BYTEA, mood mood, PRIMARY KEY (line, id))",
        f"INSERT INTO orders SELECT i, 'note ' || i, {LARGE}, now() FROM generate_series(1, 100) i",
        "INSERT INTO items SELECT i, i % 7, i / 8.0, 1e30 + i / 3.0, CASE i WHEN 1 THEN 'null'::jsonb WHEN 2 THEN NULL"
        " ELSE jsonb_build_object('n', 1.10) END, ARRAY['a', NULL, '{}'], 'x', 'ok' FROM generate_series(1, 100) i",
    )
    yield postgres
    postgres.drop_slot()


def names(shop: Postgres, *tables: str) -> list[str]:
    return [f"{shop.schema}.{table}" for table in tables or KEYS]


def replicate(spark: SparkSession, shop: Postgres, place: Path, target: Database | None = None, **more: Any) -> str:
    """Runs the query until it has delivered what was committed before. Returns what comparisons have found."""
    into = target or shop
    arguments: dict[str, Any] = {"tables": names(shop), "into": "replica_{table}", "sink_id": "shop"}
    arguments |= {"slot": cdc.Slot(shop.schema)} | more
    query = epochal.replicate(
        spark,
        shop.url,
        into.url,
        user=shop.user,
        target_user=into.user,
        checkpoint=place,
        trigger="availableNow",
        **arguments,
    )
    with epochal.errors.named():
        query.awaitTermination()
    found = (progress.sink.metrics.get(name) for name in ("replaced", "verified") for progress in query.recentProgress)
    return "; ".join(filter(None, found))


def require_equal(shop: Postgres, *tables: str) -> None:
    """Requires that the replicas have the texts of all values of the tables."""
    for table in tables or KEYS:
        rows, replica = shop.together(
            *(f"SELECT t::text FROM {name} t ORDER BY {KEYS[table]}" for name in (table, f"replica_{table}"))
        )
        assert rows == replica, table
