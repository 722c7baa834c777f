"""Replicas follow their tables: columns that are added, dropped or altered, and new tables."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import epochal
from epochal import cdc
from support.databases import Postgres, Sqlite
from support.replicas import KEYS, names, replicate, two_tables
from support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

shop = pytest.fixture(two_tables)

#: Statements of a table's owner, in order.
CHANGES = (
    "ALTER TABLE orders ADD COLUMN size INT NOT NULL DEFAULT 5, ADD COLUMN code VARCHAR(3)",
    "ALTER TABLE items ADD COLUMN number INT GENERATED ALWAYS AS IDENTITY",
    "UPDATE orders SET code = 'abc' WHERE id < 10",
    "ALTER TABLE orders DROP COLUMN note",
    "ALTER TABLE orders ALTER COLUMN size TYPE BIGINT, ALTER COLUMN code TYPE VARCHAR(9)",
    "UPDATE orders SET size = 1::bigint << 40, code = '123456789' WHERE id > 90",
    "ALTER TABLE items ALTER COLUMN price TYPE NUMERIC(12, 4), ALTER COLUMN price DROP NOT NULL",
    "UPDATE items SET price = CASE WHEN id > 50 THEN id / 8.0 END WHERE id % 5 = 0",
    "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'",
    "INSERT INTO items (id, line, mood) VALUES (200, 1, 'blue')",
    "ALTER TABLE orders DROP COLUMN document",
    "INSERT INTO orders (id, size) VALUES (200, 7)",
    "ALTER TABLE orders ADD COLUMN document TEXT DEFAULT 'new'",
)


def columns(shop: Postgres, table: str) -> str:
    """The columns of a table, as texts."""
    found = shop.query(
        f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped"
        " ORDER BY 1"
    )
    return ", ".join(f"CAST({name} AS TEXT)" for (name,) in found)


def require_equal(shop: Postgres) -> None:
    for table in KEYS:
        query = f"SELECT {columns(shop, table)} FROM {{}} ORDER BY {KEYS[table]}"
        rows, replica = shop.together(query.format(table), query.format(f"replica_{table}"))
        assert rows == replica


def test_replicas_follow_each_change_that_came_between_two_runs(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    replicate(spark, shop, tmp_path, history="{table}_history")
    for change in CHANGES:
        shop.execute(change)
        replicate(spark, shop, tmp_path, history="{table}_history")
        require_equal(shop)
    latest = (
        "SELECT id, size, code, document FROM (SELECT *, rank() OVER (PARTITION BY id ORDER BY _commit_version DESC) n"
        " FROM orders_history) h WHERE n = 1 AND _change_type <> 'truncate' ORDER BY id"
    )
    assert shop.query(latest) == shop.query("SELECT id, size, code, document FROM orders ORDER BY id")


def test_replicas_of_sqlite_follow_changes(spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path) -> None:
    replicate(spark, shop, tmp_path / "checkpoint", sqlite, into="{table}")
    for change in CHANGES:
        shop.execute(change)
        replicate(spark, shop, tmp_path / "checkpoint", sqlite, into="{table}")
    for table, selection in {"orders": "id, size, code, document", "items": "id, line, number, price, mood"}.items():
        query = f"SELECT {selection.replace('price', 'CAST(price AS TEXT)')} FROM {table} ORDER BY {KEYS[table]}"
        assert sqlite.query(query) == shop.query(query)


def test_replicas_follow_changes_while_the_query_runs(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    query = epochal.replicate(
        spark,
        shop.url,
        shop.url,
        tables=f"{shop.schema}.orders,{shop.schema}.items",
        into="replica_{table}",
        user=shop.user,
        target_user=shop.user,
        slot=cdc.Slot(shop.schema),
        checkpoint=tmp_path,
        options={"heartbeatInterval": "200ms"},
    )
    try:
        until(lambda: shop.tables() >= {"replica_orders", "replica_items"}, "the replicas")
        first = query.id, query.runId
        for change in CHANGES:
            shop.execute(change)
        until(lambda: not query.isActive or is_equal(shop), "the last change")
        assert query.exception() is None
        assert query.id == first[0]
        assert query.runId != first[1]
    finally:
        query.stop()
    assert not query.isActive
    query.awaitTermination()


def is_equal(shop: Postgres) -> bool:
    try:
        require_equal(shop)
    except Exception:  # a column is missing still, or differs
        return False
    return True


def test_a_new_table_is_followed(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    tables: dict[str, Any] = {"tables": f"{shop.schema}.*", "into": f"{shop.schema}_replica.{{table}}"}
    shop.execute(f"CREATE SCHEMA {shop.schema}_replica")
    try:
        replicate(spark, shop, tmp_path, **tables)
        shop.execute("CREATE TABLE more (id INT PRIMARY KEY)", "INSERT INTO more VALUES (1)")
        replicate(spark, shop, tmp_path, **tables)
        assert shop.query(f"SELECT id FROM {shop.schema}_replica.more") == [(1,)]
    finally:
        shop.execute(f"DROP SCHEMA {shop.schema}_replica CASCADE")


def test_a_type_that_the_replica_cannot_take_ends_the_query_with_what_to_do(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    replicate(spark, shop, tmp_path)
    shop.execute("ALTER TABLE orders ALTER COLUMN note TYPE INT USING length(note)")
    with pytest.raises(epochal.TableError, match="'note'") as error:
        replicate(spark, shop, tmp_path)
    assert error.value.condition == "COLUMN_TYPE_MISMATCH"
    shop.execute("UPDATE orders SET note = 5 WHERE id = 5")
    shop.execute("ALTER TABLE replica_orders ALTER COLUMN note TYPE integer USING NULL")
    replicate(spark, shop, tmp_path)
    require_equal(shop)


def test_a_renamed_column_is_refused_until_it_is_accepted(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    replicate(spark, shop, tmp_path)
    shop.execute("ALTER TABLE orders RENAME COLUMN note TO remark", "UPDATE orders SET remark = 'x' WHERE id = 1")
    with pytest.raises(epochal.DataLossError, match="note, which is now remark") as error:
        replicate(spark, shop, tmp_path)
    token = str(error.value.hint).partition('accept_change="')[2][:8]
    shop.execute("ALTER TABLE replica_orders RENAME COLUMN note TO remark")
    replicate(spark, shop, tmp_path, slot=cdc.Slot(shop.schema, accept_change=token))
    require_equal(shop)
    replicate(spark, shop, tmp_path)


def test_replicas_with_foreign_keys_follow_a_wider_key(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    shop.execute(
        "CREATE TABLE lines (id INT PRIMARY KEY, order_id INT REFERENCES orders DEFERRABLE INITIALLY DEFERRED)",
        "INSERT INTO lines SELECT i, i FROM generate_series(1, 50) i",
    )
    tables: dict[str, Any] = {"tables": names(shop, "orders", "lines")}
    replicate(spark, shop, tmp_path, **tables)
    shop.execute(
        "ALTER TABLE replica_lines ADD FOREIGN KEY (order_id) REFERENCES replica_orders DEFERRABLE INITIALLY DEFERRED"
    )
    shop.execute(
        "ALTER TABLE orders ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE lines ALTER COLUMN order_id TYPE BIGINT",
    )
    shop.execute(
        "INSERT INTO orders VALUES (1::bigint << 40, '', '')", "INSERT INTO lines VALUES (51, 1::bigint << 40)"
    )
    replicate(spark, shop, tmp_path, **tables)
    query = "SELECT id, order_id FROM {} ORDER BY id"
    assert shop.query(query.format("replica_lines")) == shop.query(query.format("lines"))
    assert shop.query("SELECT max(id) FROM replica_orders") == [(1 << 40,)]


def test_a_query_that_is_stopped_before_it_starts_again_has_no_error() -> None:
    class Run:
        id = runId = "0"  # noqa: N815 - as Spark's

        def awaitTermination(self) -> None:  # noqa: N802
            raise outdated

        def stop(self) -> None:
            stopped.append(self)

    outdated = epochal.TableError("QUERY_OUTDATED", "The columns have changed.", "Run the program again.")
    stopped: list[Run] = []
    begun = threading.Event()

    def start() -> Any:
        if begun.is_set():  # the second start waits for a database, until it is stopped
            raise epochal.DatabaseError("DATABASE_UNREACHABLE", "It does not answer.", "Start it.")
        begun.set()
        return Run()

    query = epochal.Replication(start)
    assert query.awaitTermination(0.1) is False
    query.stop()
    assert not query.isActive
    assert query.awaitTermination(0) is True
    assert query.exception() is None


def test_the_error_of_a_start_ends_the_query() -> None:
    class Run:
        id = runId = "0"  # noqa: N815

        def awaitTermination(self) -> None:  # noqa: N802
            raise epochal.TableError("QUERY_OUTDATED", "The columns have changed.", "Run the program again.")

    refusal = epochal.TableError("COLUMN_TYPE_MISMATCH", "It does not fit.", "Alter it.")
    runs: list[Run] = []

    def start() -> Any:
        if runs:
            raise refusal
        runs.append(Run())
        return runs[0]

    query = epochal.Replication(start)
    with pytest.raises(epochal.TableError, match="does not fit"):
        query.awaitTermination()
    assert query.exception() is refusal
