"""Replicas that are reloaded, and compared with their tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import epochal
from epochal import cdc
from epochal.__main__ import main
from support.databases import Postgres, Sqlite
from support.replicas import names, replicate, require_equal, two_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

shop = pytest.fixture(two_tables)


def test_a_reload_makes_a_replica_equal_again(
    spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``epochal cdc reload``, with the query stopped: it finds the request in the log."""
    replicate(spark, shop, tmp_path / "postgres", history="{table}_history")
    replicate(spark, shop, tmp_path / "sqlite", sqlite, into="{table}", slot=cdc.Slot(f"{shop.schema}_2"))
    different = [
        "UPDATE {orders} SET note = 'by hand' WHERE id < 10",
        "DELETE FROM {orders} WHERE id > 90",
        "INSERT INTO {orders} (id, note, document) VALUES (1000, '', '')",
    ]
    for statement in different:
        shop.execute(statement.format(orders="replica_orders"))
        sqlite.execute(statement.format(orders="orders"))
    assert main(["cdc", "reload", shop.url, "--user", str(shop.user), "--table", f"{shop.schema}.orders"]) == 0
    assert f"requested: {shop.schema}.orders; slots of this database: " in capsys.readouterr().out
    shop.execute("UPDATE orders SET note = 'later' WHERE id = 3", "DELETE FROM items WHERE id = 1")
    # The change comes first, in an epoch of its own.
    differences = "orders: 82 rows equal, 8 different, 10 missing, 1 extra"
    assert differences in replicate(spark, shop, tmp_path / "postgres", history="{table}_history")
    assert differences in replicate(
        spark, shop, tmp_path / "sqlite", sqlite, into="{table}", slot=cdc.Slot(f"{shop.schema}_2")
    )
    require_equal(shop)
    assert sqlite.query("SELECT id, note, document FROM orders ORDER BY id") == shop.query(
        "SELECT id, note, document FROM orders ORDER BY id"
    )
    kinds = "SELECT _change_type, count(*) FROM orders_history GROUP BY 1 ORDER BY 1"
    assert shop.query(kinds) == [("insert", 200), ("truncate", 1), ("update_postimage", 1)]
    shop.drop_slot(f"{shop.schema}_2")


#: Values of a table, and others that are hard to tell from them.
KINDS = {
    "number NUMERIC": ("1.10", "1.1"),
    "double FLOAT8": ("0.0", "'-0.0'"),
    "blank TEXT": ("'a'", "'a '"),
    "fixed CHAR(3)": ("'a'", "'b'"),
    "letter TEXT": ("'é'", "'e\u0301'"),
    "at TIMESTAMPTZ": ("'2026-03-29 02:30:00+01'", "'2026-03-29 02:30:00+02'"),
    "local TIMESTAMP": ("'2026-03-29 02:30:00'", "'2026-03-29 02:30:00.000001'"),
    "data JSONB": ("NULL", "'null'"),
    "list INT[]": ("'{1,NULL}'", "'[0:1]={1,NULL}'"),
    "raw BYTEA": ("'\\x00'", "'\\x0000'"),
    "empty TEXT": ("''", "NULL"),
}


def test_a_comparison_finds_whatever_differs(
    spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = ", ".join(one for one, _ in KINDS.values())
    shop.execute(
        f"CREATE TABLE kinds (id INT, part TEXT, {', '.join(KINDS)}, PRIMARY KEY (part, id))",
        f"INSERT INTO kinds SELECT i, 'p', {values} FROM generate_series(1, 100) i",
    )
    arguments: dict[str, Any] = {"tables": names(shop, "kinds"), "history": "{table}_history"}
    second = {"tables": names(shop, "kinds"), "into": "{table}", "slot": cdc.Slot(f"{shop.schema}_2")}

    def verify() -> tuple[str, str]:
        assert main(["cdc", "verify", shop.url, "--user", str(shop.user), "--table", f"{shop.schema}.kinds"]) == 0
        assert f"requested: {shop.schema}.kinds; slots of this database: " in capsys.readouterr().out
        return (
            replicate(spark, shop, tmp_path / "postgres", **arguments),
            replicate(spark, shop, tmp_path / "sqlite", sqlite, **second),
        )

    replicate(spark, shop, tmp_path / "postgres", **arguments)
    replicate(spark, shop, tmp_path / "sqlite", sqlite, **second)
    for found in verify():
        assert found.endswith("kinds: 100 rows equal, 0 different, 0 missing, 0 extra")
    for i, (column, (_, other)) in enumerate(KINDS.items()):
        shop.execute(f"UPDATE replica_kinds SET {column.split()[0]} = {other} WHERE id = {i + 1}")
    different = [
        "UPDATE {kinds} SET blank = 'a ' WHERE id = 50",
        "UPDATE {kinds} SET empty = NULL WHERE id = 51",
        "DELETE FROM {kinds} WHERE id IN (60, 61)",
        "INSERT INTO {kinds} (id, part) VALUES (62, 'P')",
    ]
    for statement in different:
        shop.execute(statement.format(kinds="replica_kinds"))
        sqlite.execute(statement.format(kinds="kinds"))
    before = shop.query("SELECT t::text FROM replica_kinds t ORDER BY id, part")
    shop.execute("UPDATE kinds SET blank = 'later' WHERE id = 70")
    of_postgres, of_sqlite = verify()
    assert of_postgres.endswith(f"kinds: 85 rows equal, {len(KINDS) + 2} different, 2 missing, 1 extra")
    assert of_sqlite.endswith("kinds: 96 rows equal, 2 different, 2 missing, 1 extra")
    found = "SELECT found FROM epochal_ledger_verification WHERE target LIKE '%kinds'"
    assert "; different: (id 1, part p) (id 2, part p)" in str(shop.query(found))
    assert sqlite.query(found) == [
        (
            "96 rows equal, 2 different, 2 missing, 1 extra; different: (id 50, part p) (id 51, part p); "
            "missing: (id 60, part p) (id 61, part p); extra: (id 62, part P)",
        )
    ]
    assert len(before) == 99
    changed = set(before).symmetric_difference(shop.query("SELECT t::text FROM replica_kinds t ORDER BY id, part"))
    assert len(changed) == 2
    record = (
        "SELECT position = equal_position, different_rows FROM epochal_ledger_verification WHERE target LIKE '%kinds'"
    )
    assert shop.query(record) == [(False, len(KINDS) + 2)]
    repairs = cdc.Repair(every="1 ms")
    # The interval begins.
    assert not replicate(spark, shop, tmp_path / "postgres", verify=repairs, **arguments)
    assert "different, 2 missing, 1 extra" in replicate(spark, shop, tmp_path / "postgres", verify=repairs, **arguments)
    rows, replica = shop.together(*(f"SELECT t::text FROM {name} t ORDER BY id" for name in ("kinds", "replica_kinds")))
    assert rows == replica
    replicas = epochal.ledger(shop.url, user=shop.user).sink("shop").replicas
    (of_kinds,) = (one for one in replicas if one.target.endswith("kinds"))
    assert (of_kinds.corrected, of_kinds.differing, of_kinds.equal) == (True, 0, False)
    kinds = "SELECT _change_type, count(*) FROM kinds_history GROUP BY 1 ORDER BY 1"
    assert shop.query(kinds) == [("insert", 100), ("update_postimage", 1)]
    shop.drop_slot(f"{shop.schema}_2")


def test_tables_are_loaded_and_compared_in_chunks(
    spark: SparkSession, shop: Postgres, sqlite: Sqlite, tmp_path: Path
) -> None:
    """One query keeps replicas in PostgreSQL, another in SQLite; items has a key of two columns, in another order."""
    shop.execute(
        "CREATE TABLE places (id UUID PRIMARY KEY, note TEXT)",
        "INSERT INTO places SELECT md5(i::text)::uuid, i FROM generate_series(1, 100) i",
    )
    tables = ("orders", "items", "places")
    sizes: dict[str, Any] = {"snapshot": "chunks", "chunk_rows": 30}
    places: list[dict[str, Any]] = [
        {"place": tmp_path / "postgres", "slot": cdc.Slot(shop.schema, **sizes)},
        {
            "place": tmp_path / "sqlite",
            "slot": cdc.Slot(f"{shop.schema}_2", **sizes),
            "target": sqlite,
            "into": "{table}",
        },
    ]

    def run() -> list[str]:
        return [replicate(spark, shop, **place, tables=names(shop, *tables)) for place in places]

    run()
    require_equal(shop, "orders", "items")
    assert sqlite.query("SELECT id, note FROM places ORDER BY id") == [
        (str(row[0]), row[1]) for row in shop.query("SELECT id, note FROM places ORDER BY id")
    ]

    def compared(*found: str) -> None:
        for place in places:
            shop.execute(f"SELECT pg_logical_emit_message(true, 'epochal', 'verify slot {place['slot'].name}')")
        run()
        texts = "SELECT found FROM epochal_ledger_verification WHERE until_key IS NULL AND target LIKE '%{}' ORDER BY 1"
        for table, text in zip(tables, found, strict=True):
            for target in (shop, sqlite):
                assert target.query(texts.format(table)) == [(text,)]
        for target in (shop, sqlite):
            ledger = epochal.ledger(target.url, user=target.user)
            assert ledger == epochal.ledger(target.url, user=target.user, spark=spark)
            replicas = ledger.sink("shop").replicas
            assert sorted(replica.result for replica in replicas) == sorted(found)
            assert [replica.equal for replica in replicas] == [replica.result == equal for replica in replicas]
        status = main(["status", str(places[1]["place"]), "--url", sqlite.url])
        assert status == (0 if {*found} == {equal} else 3)

    equal = "100 rows equal, 0 different, 0 missing, 0 extra"
    compared(equal, equal, equal)
    for target, into in ((shop, "replica_"), (sqlite, "")):
        target.execute(
            f"UPDATE {into}orders SET note = 'by hand' WHERE id IN (10, 90)",
            f"DELETE FROM {into}orders WHERE id = 30",
            f"INSERT INTO {into}orders (id, document) VALUES (-1, ''), (1000, '')",
            f"DELETE FROM {into}items WHERE id = 50",
            f"UPDATE {into}places SET note = 'by hand' WHERE note = '7'",
        )
    shop.execute("UPDATE orders SET note = 'later' WHERE id = 50")
    ((different,),) = shop.query("SELECT md5('7')::uuid::text")
    compared(
        "97 rows equal, 2 different, 1 missing, 2 extra; different: (id 10); missing: (id 30); extra: (id -1); "
        "different: (id 90); extra: (id 1000)",
        "99 rows equal, 0 different, 1 missing, 0 extra; missing: (id 50, line 1)",
        f"99 rows equal, 1 different, 0 missing, 0 extra; different: (id {different})",
    )
    shop.drop_slot(f"{shop.schema}_2")
