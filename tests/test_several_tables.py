"""Replicas of several tables by one slot and one query."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import epochal
from epochal import cdc, jdbc
from epochal.__main__ import main
from support.databases import Postgres, Sqlite
from support.replicas import KEYS, LARGE, names, replicate, require_equal, two_tables
from support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

shop = pytest.fixture(two_tables)


@pytest.mark.line
def test_one_query_keeps_replicas_of_two_tables(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    replicate(spark, shop, tmp_path)
    require_equal(shop)
    types = "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attnum > 0"
    types += " AND attname <> 'mood' AND attrelid = '{}'::regclass ORDER BY 1"
    for table in KEYS:
        one, other = (shop.query(types.format(name)) for name in (table, f"replica_{table}"))
        assert one == other
    shop.execute(
        "UPDATE orders SET note = 'changed' WHERE id % 3 = 0",
        "DELETE FROM items WHERE id <= 10",
        "UPDATE items SET line = line + 100 WHERE id = 20",
        # Neither sends the document.
        "UPDATE orders SET id = -id WHERE id = 5",
        "UPDATE orders SET note = NULL WHERE id = 6",
        f"INSERT INTO orders SELECT 101, '', {LARGE}, now()",
    )
    replicate(spark, shop, tmp_path)
    require_equal(shop)
    shop.execute("TRUNCATE items", "INSERT INTO items VALUES (1, 1, 1, NULL, 'null', '{}', '', 'sad')")
    replicate(spark, shop, tmp_path)
    require_equal(shop)


def test_an_epoch_that_is_sent_again_changes_nothing(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    replicate(spark, shop, tmp_path)
    shop.execute("UPDATE orders SET note = 'twice'", "DELETE FROM items WHERE id = 1")
    replicate(spark, shop, tmp_path)
    shop.execute("UPDATE replica_orders SET note = 'by hand'")
    commits = tmp_path / "commits"
    last = max(commits.glob("[0-9]*"), key=lambda file: int(file.name))
    for file in (last, commits / f".{last.name}.crc"):
        file.unlink(missing_ok=True)
    replicate(spark, shop, tmp_path)
    assert shop.query("SELECT DISTINCT note FROM replica_orders") == [("by hand",)]


def test_a_reader_of_the_replicas_sees_states_of_the_source_only(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    shop.execute(
        "CREATE TABLE here (id INT PRIMARY KEY, amount INT)",
        "CREATE TABLE there (id INT PRIMARY KEY, amount INT)",
        "INSERT INTO here SELECT i, 10 FROM generate_series(1, 500) i",
        "INSERT INTO there SELECT i, 0 FROM generate_series(1, 500) i",
    )
    query = epochal.replicate(
        spark,
        shop.url,
        shop.url,
        tables=names(shop, "here", "there"),
        into="replica_{table}",
        user=shop.user,
        target_user=shop.user,
        slot=cdc.Slot(shop.schema),
        checkpoint=tmp_path,
    )
    both = "SELECT (SELECT sum(amount) FROM replica_here) + (SELECT sum(amount) FROM replica_there)"
    until(
        lambda: shop.tables() >= {"replica_here", "replica_there"} and shop.query(both) == [(5000,)], "the first rows"
    )
    seen: set[int] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(shop.query(both)[0][0])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with psycopg.connect(shop.server, autocommit=True) as connection:
            connection.execute(f"SET search_path TO {shop.schema}".encode())
            for i in range(1, 60):
                with connection.transaction():
                    connection.execute("UPDATE here SET amount = amount - 1 WHERE id %% 60 = %s", (i,))
                    connection.execute("UPDATE there SET amount = amount + 1 WHERE id %% 60 = %s", (i,))
        moved = "SELECT sum(amount) FROM replica_there"
        until(lambda: shop.query(moved) == shop.query(moved.replace("replica_", "")), "the last change")
        # Rows that differ, with the same sum.
        wrong = "SELECT count(*) FROM replica_here WHERE id > 1000"
        shop.execute(
            "UPDATE replica_here SET id = id + 1000",
            "UPDATE replica_there SET id = id + 1000",
        )
        cdc.reload(shop.url, table=names(shop, "here", "there"), user=shop.user)
        for table in ("here", "there"):
            until(lambda wrong=wrong, table=table: shop.query(wrong.replace("here", table)) == [(0,)], "the reload")  # type: ignore[misc]
    finally:
        done.set()
        reader.join()
        query.stop()
    assert seen == {5000}


def test_the_replicas_of_sqlite_have_all_rows(
    spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path
) -> None:
    replicate(spark, shop, tmp_path / "checkpoint", sqlite, into="{schema}_{table}")
    shop.execute("DELETE FROM orders WHERE id > 50", "UPDATE orders SET id = -id, note = 'moved' WHERE id = 5")
    replicate(spark, shop, tmp_path / "checkpoint", sqlite, into="{schema}_{table}")
    for table, columns in {"orders": "id, note, document", "items": "id, line, mood"}.items():
        replica = sqlite.query(f"SELECT {columns} FROM {shop.schema}_{table} ORDER BY {KEYS[table]}")
        assert replica == shop.query(f"SELECT {columns} FROM {table} ORDER BY {KEYS[table]}")


def test_foreign_keys_between_the_replicas_hold_at_the_end_of_each_epoch(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    reference = (
        "ALTER TABLE replica_orders ADD CONSTRAINT item FOREIGN KEY (id, line) REFERENCES replica_items (id, line)"
    )
    shop.execute(
        "DROP TABLE orders, items",
        "CREATE TABLE items (id INT, line INT, PRIMARY KEY (id, line))",
        "CREATE TABLE orders (number INT PRIMARY KEY, id INT, line INT, FOREIGN KEY (id, line) REFERENCES items)",
        "CREATE TABLE replica_items (LIKE items INCLUDING INDEXES)",
        "CREATE TABLE replica_orders (LIKE orders INCLUDING INDEXES)",
        "INSERT INTO items SELECT i, i FROM generate_series(1, 20) i",
        "INSERT INTO orders SELECT i, i, i FROM generate_series(1, 20) i",
        f"{reference} ON DELETE CASCADE",
    )
    with pytest.raises(epochal.ModeError, match="at once") as refusal:
        replicate(spark, shop, tmp_path)
    shop.execute(str(refusal.value.hint).partition(". The")[0], reference)
    with pytest.raises(epochal.ModeError, match="is checked before") as refusal:
        replicate(spark, shop, tmp_path)
    shop.execute(str(refusal.value.hint).rstrip("."))
    replicate(spark, shop, tmp_path)
    shop.execute(
        "DELETE FROM orders WHERE id = 1",
        "DELETE FROM items WHERE id = 1",
        "INSERT INTO items VALUES (21, 1)",
        "INSERT INTO orders VALUES (21, 21, 1)",
        "UPDATE orders SET id = 21, line = 1 WHERE id = 2",
        "DELETE FROM items WHERE id = 2",
    )
    replicate(spark, shop, tmp_path)
    for table, key in {"items": "id", "orders": "number"}.items():
        rows, replica = shop.together(*(f"SELECT * FROM {name}{table} ORDER BY {key}" for name in ("", "replica_")))
        assert rows == replica


@pytest.mark.parametrize("again", ["", "CREATE TABLE replica_items (LIKE items INCLUDING INDEXES)"])
def test_a_replica_that_was_dropped_is_refused_until_all_are_loaded_again(
    again: str, spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    replicate(spark, shop, tmp_path)
    shop.execute("DROP TABLE replica_items", *filter(None, [again]), "UPDATE orders SET note = NULL WHERE id = 1")
    with pytest.raises(epochal.SinkError, match="replica_items"):
        replicate(spark, shop, tmp_path)
    shop.drop_slot()
    shop.execute("INSERT INTO replica_orders SELECT -1, '', '', now()")
    replicate(spark, shop, tmp_path / "new", ledger=jdbc.Ledger(on_new_query="replace"))
    require_equal(shop)


def test_a_history_keeps_every_change(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    replicate(spark, shop, tmp_path, history="{table}_history")
    shop.execute("UPDATE items SET price = 1 WHERE id = 1", "DELETE FROM items WHERE id = 2", "TRUNCATE orders")
    replicate(spark, shop, tmp_path, history="{table}_history")
    require_equal(shop)
    kinds = "SELECT _change_type, count(*), max(id) FROM {} GROUP BY 1 ORDER BY 1"
    assert shop.query(kinds.format("items_history")) == [
        ("delete", 1, 2),
        ("insert", 100, 100),
        ("update_postimage", 1, 1),
    ]
    assert shop.query(kinds.format("orders_history")) == [("insert", 100, 100), ("truncate", 1, None)]
    exact = "SELECT exact::text, data::text FROM {} WHERE id = 3"
    assert shop.query(exact.format("items_history")) == shop.query(exact.format("items"))


def test_a_query_filters_rows_and_leaves_a_table_out(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    items = f"{shop.schema}.items"
    rows = epochal.read.cdc(
        spark, shop.url, table=names(shop), rows="typed", user=shop.user, slot=cdc.Slot(shop.schema)
    )
    query = epochal.write.jdbc(
        rows.where(f"_table <> '{items}'").drop(items),
        shop.url,
        table="replica_{table}",
        mode=jdbc.Changes(table_column="_table"),
        create_table=True,
        user=shop.user,
        checkpoint=tmp_path,
        trigger="availableNow",
    )
    with epochal.errors.named():
        query.awaitTermination()
    require_equal(shop, "orders")
    assert "replica_items" not in shop.tables()


def test_the_command_copies_a_schema_into_a_file_that_is_new(
    spark: SparkSession, shop: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["replicate", shop.url, "replica.db", "--tables", f"{shop.schema}.*", "--slot", shop.schema, "--once"]
    for rows in (100, 90):
        assert main([*words, "--user", str(shop.user)]) == 0
        assert Sqlite(tmp_path / "replica.db").query("SELECT count(*) FROM items") == [(rows,)]
        shop.execute("DELETE FROM items WHERE id <= 10")
    assert main(["replicate", shop.url, "jdbc:sqlite:other.db", "--tables", "public.*"]) == 1


def test_tables_that_are_created_or_dropped_later_follow_after_the_next_start(
    spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path
) -> None:
    def run() -> None:
        replicate(spark, shop, tmp_path / "checkpoint", sqlite, tables=f"{shop.schema}.*", into="{table}")

    run()
    shop.execute(
        "CREATE TABLE later (id INT PRIMARY KEY, at INTERVAL)",
        "INSERT INTO later SELECT i, '1 hour' FROM generate_series(1, 10) i",
        "CREATE TABLE passing (id INT PRIMARY KEY)",
        "INSERT INTO passing VALUES (1)",
        "DELETE FROM items WHERE id <= 10",
    )
    shop.execute("DROP TABLE passing")
    run()
    assert sqlite.query("SELECT count(*), max(at) FROM later") == [(10, "01:00:00")]
    shop.execute("INSERT INTO later VALUES (11, '2 hours')", "INSERT INTO orders VALUES (-1, '', '', now())")
    shop.execute("DELETE FROM items WHERE id <= 20", "DROP TABLE items")
    run()
    assert sqlite.query("SELECT count(*) FROM later") == [(11,)]
    assert sqlite.query("SELECT count(*) FROM orders WHERE id = -1") == [(1,)]
    assert sqlite.query("SELECT count(*) FROM items") == [(90,)]


def test_a_table_is_added_and_dropped_with_the_same_slot(
    spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path
) -> None:
    """Its earlier rows come first, and no change without them."""
    run = partial(replicate, spark, shop, tmp_path / "checkpoint", sqlite, into="{table}")
    run(tables=names(shop, "orders"))
    shop.execute("UPDATE items SET price = 7 WHERE id < 10")
    with pytest.raises(epochal.DatabaseError, match=r"lacks .*items") as refusal:
        run()
    shop.execute(str(refusal.value.hint).partition("run: ")[2], "UPDATE items SET price = 8 WHERE id > 90")
    run()
    columns = "id, line, mood, CAST(price AS DOUBLE PRECISION) FROM items"
    assert sqlite.query(f"SELECT {columns} ORDER BY line, id") == shop.query(f"SELECT {columns} ORDER BY line, id")
    with pytest.raises(epochal.CheckpointError, match="items was left out") as left:
        run(tables=names(shop, "orders"))
    shop.execute(str(left.value.hint).partition("start again: ")[2])
    shop.execute("DELETE FROM items WHERE id < 10", "DELETE FROM orders WHERE id < 10")
    run(tables=names(shop, "orders"))
    assert sqlite.query("SELECT count(*) FROM items") == [(100,)]
    assert sqlite.query("SELECT count(*) FROM orders") == [(91,)]


def test_a_column_that_was_added_follows_with_adopt(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    replicate(spark, shop, tmp_path)
    shop.execute("ALTER TABLE items ADD COLUMN size INT", "UPDATE items SET size = id WHERE id < 10")
    with pytest.raises(epochal.TableError, match="size"):
        replicate(spark, shop, tmp_path, on_schema_change="fail")
    more: dict[str, Any] = {"on_schema_change": "adopt", "columns": jdbc.Columns(add=True)}
    replicate(spark, shop, tmp_path, **more)
    require_equal(shop)
    shop.execute("UPDATE items SET size = -id WHERE id > 90")
    replicate(spark, shop, tmp_path, **more)
    require_equal(shop)


def test_the_tables_themselves_are_no_replicas(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    with pytest.raises(epochal.ModeError, match="the table that they come from"):
        replicate(spark, shop, tmp_path, into="{table}")
