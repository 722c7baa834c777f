"""``epochal.read.cdc``: the changes of a PostgreSQL table, and a replica of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import epochal
from epochal import cdc, jdbc
from epochal.__main__ import main
from support import documents
from support.databases import Postgres
from support.snippets import statements
from support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: A text that is stored out of line.
LARGE = "(SELECT string_agg(md5(i::text || random()::text), '') FROM generate_series(1, 500) i)"


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[Postgres]:
    """A schema with ``orders`` of 100 rows; its slot is dropped at the end."""
    postgres.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT, amount NUMERIC(10, 2), document TEXT NOT NULL)",
        f"INSERT INTO orders SELECT i, 'note ' || i, i / 8.0, {LARGE} FROM generate_series(1, 100) i",
    )
    yield postgres
    postgres.drop_slot()


def changes(spark: SparkSession, shop: Postgres, **more: Any) -> DataFrame:
    arguments = {"table": f"{shop.schema}.orders", "user": shop.user, "slot": cdc.Slot(shop.schema)} | more
    return epochal.read.cdc(spark, shop.url, **arguments)


def copied(spark: SparkSession, shop: Postgres, place: Path, **more: Any) -> list[list[Any]]:
    """Rows of the table and of its replica, after a run over all changes."""
    query = epochal.write.jdbc(
        changes(spark, shop),
        shop.url,
        table="replica",
        mode=jdbc.Changes(key_columns=["id"]),
        create_table=True,
        user=shop.user,
        checkpoint=place,
        sink_id="replica",
        trigger="availableNow",
        **more,
    )
    with epochal.errors.named():
        query.awaitTermination()
    return shop.together(
        *(f"SELECT id, note, amount, document FROM {table} ORDER BY id" for table in ("orders", "replica"))
    )


def test_a_replica_is_equal_after_each_run(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    orders, replica = copied(spark, shop, tmp_path)
    assert len(orders) == 100
    assert replica == orders
    shop.execute(
        "UPDATE orders SET note = 'changed' WHERE id % 3 = 0",
        "DELETE FROM orders WHERE id <= 10",
        f"INSERT INTO orders VALUES (101, NULL, 1, {LARGE})",
        "UPDATE orders SET note = 'changed at once' WHERE id = 101",
    )
    shop.execute("UPDATE orders SET note = 'again', amount = NULL WHERE id > 95")
    orders, replica = copied(spark, shop, tmp_path)
    assert len(orders) == 91
    assert replica == orders


@pytest.mark.slow
def test_a_reader_of_a_replica_sees_no_part_of_a_transaction(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    shop.execute(
        "CREATE TABLE accounts (id INT PRIMARY KEY, amount INT, filler TEXT)",
        "INSERT INTO accounts SELECT i, 100, '' FROM generate_series(1, 1000) i",
    )
    query = epochal.write.jdbc(
        changes(spark, shop, table=f"{shop.schema}.accounts"),
        shop.url,
        table="replica",
        mode=jdbc.Changes(key_columns=["id"]),
        create_table=True,
        user=shop.user,
        checkpoint=tmp_path,
        sink_id="accounts",
        trigger="0 seconds",
    )

    def sums() -> set[int]:
        return {total for (total,) in shop.query("SELECT sum(amount) FROM replica")}

    try:
        until(lambda: "replica" in shop.tables() and sums() == {100_000}, "the snapshot")
        # The changes of each transaction are three megabytes, which arrive in parts.
        transfer = """UPDATE accounts SET amount = amount + CASE WHEN id <= 500 THEN 1 ELSE -1 END,
            filler = (SELECT string_agg(md5(random()::text || i), '') FROM generate_series(id, id + 94) i)"""
        seen = set()
        for _ in range(20):
            shop.execute(transfer)
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                seen |= sums()
        (last,) = shop.query("SELECT max(amount), min(amount) FROM accounts")
        until(lambda: shop.query("SELECT max(amount), min(amount) FROM replica") == [last], "the last change")
        assert last == (120, 80)
        assert seen == {100_000}
        epochs = [progress["numInputRows"] for progress in query.recentProgress]
        assert sum(rows > 0 for rows in epochs) > 2
    finally:
        query.stop()


def test_status_says_when_a_replica_is_too_far_behind(
    spark: SparkSession, shop: Postgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def status(*more: str) -> tuple[int, str]:
        code = main(["status", str(tmp_path), *more])
        return code, capsys.readouterr().out

    login = ("--url", shop.url.partition("?")[0], "--user", str(shop.user), "--schema", shop.schema)
    copied(spark, shop, tmp_path)
    run_end = datetime.now(timezone.utc)
    assert status("--max-behind", "10m", "--max-retained", "20GB", *login)[0] == 0
    (source,) = epochal.checkpoint(tmp_path).epochs[-1].sources
    assert source.stored_until is not None
    assert timedelta(0) <= run_end - source.stored_until < timedelta(minutes=1)
    # The query does not run: it falls behind, although nobody knows of a change.
    time.sleep(2)
    code, shown = status("--max-behind", "1.5s")
    assert code == 3
    assert re.search(rf"^Source 0 of {tmp_path} is .+ s behind, more than 1.5s$", shown, re.MULTILINE)
    assert f"all changes before {source.stored_until:%Y-%m-%d %H:%M:%S} UTC are stored" in shown
    code, shown = status("--max-retained", "0.0001kb", *login)
    assert code == 3
    assert re.search(rf"^The server keeps .+ of log for slot {shop.schema}, more than 0.0001kb$", shown, re.MULTILINE)
    # The run was killed before its first note.
    for file in tmp_path.glob("sources/0/cdc/stored-until/*"):
        file.unlink()
    code, shown = status("--max-behind", "10m", "--json")
    assert code == 3
    assert json.loads(shown)["exceeded"] == [
        f"Source 0 of {tmp_path} has not noted yet until when its changes are stored"
    ]
    rows = epochal.read.checkpoint_log(spark, tmp_path).collect()
    assert {row.stored_until for row in rows} == {None}


@pytest.mark.slow
def test_a_replica_whose_slot_was_lost_is_loaded_again_in_place(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    copied(spark, shop, tmp_path / "first")
    shop.drop_slot()
    shop.execute("DELETE FROM orders WHERE id <= 10", "UPDATE orders SET note = 'changed' WHERE id > 90")
    with pytest.raises(epochal.DataLossError, match="SLOT_LOST"):
        copied(spark, shop, tmp_path / "first")
    # As docs/cdc.md says.
    shop.drop_slot()
    with pytest.raises(epochal.SinkIdentityError, match="QUERY_CHANGED"):
        copied(spark, shop, tmp_path / "second")
    orders, replica = copied(spark, shop, tmp_path / "third", ledger=jdbc.Ledger(on_new_query="replace"))
    assert len(orders) == 90
    assert replica == orders
    shop.execute("UPDATE orders SET note = 'again' WHERE id = 50")
    orders, replica = copied(spark, shop, tmp_path / "third", ledger=jdbc.Ledger(on_new_query="replace"))
    assert replica == orders


def test_a_batch_of_changes_has_their_kinds_in_commit_order(
    spark: SparkSession, shop: Postgres, tmp_path: Path
) -> None:
    shop.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    slot = cdc.Slot(shop.schema, starting_offset="latest")
    frame = changes(spark, shop, slot=slot, preimages=True, on_truncate="emit", num_partitions=1)
    assert frame.columns[-4:] == ["_unchanged_columns", "_change_type", "_commit_version", "_commit_timestamp"]
    query = frame.writeStream.format("memory").queryName("kinds").option("checkpointLocation", str(tmp_path)).start()
    try:
        query.processAllAvailable()
        shop.execute("UPDATE orders SET note = 'new' WHERE id = 7", "DELETE FROM orders WHERE id = 8")
        shop.execute("TRUNCATE orders")
        wanted: list[tuple[Any, ...]] = [
            ("update_preimage", 7, "note 7"),
            ("update_postimage", 7, "new"),
            ("delete", 8, "note 8"),
        ]
        wanted += [("truncate", None, None)]
        found: list[Any] = []
        while len(found) < len(wanted) and query.isActive:
            found = spark.sql("SELECT _change_type, id, note, _commit_version FROM kinds").collect()
        assert [tuple(row)[:3] for row in found] == wanted
        versions = [row[3] for row in found]
        assert versions == sorted(versions)
        assert len({*versions}) == 3
    finally:
        query.stop()


def test_the_sql_of_the_error_mends_what_is_missing(spark: SparkSession, shop: Postgres, tmp_path: Path) -> None:
    shop.execute("CREATE TABLE keyless (id INT)")
    missing = cdc.Slot(shop.schema, create=False, create_publication=False)

    def started() -> Any:
        frame = changes(spark, shop, table=f"{shop.schema}.keyless", slot=missing)
        return frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()

    with pytest.raises(epochal.DatabaseError) as raised:
        started()
    assert raised.value.condition == "CAPTURE_NOT_READY"
    sql = str(raised.value).partition("run: ")[2]
    assert "REPLICA IDENTITY FULL" in sql
    with shop.connect() as connection:
        connection.autocommit = True
        for statement in re.sub(r"/\*.*?\*/", "", sql).rstrip(".").split(";"):
            if statement.strip():
                connection.execute(statement.encode())
    query = started()
    query.processAllAvailable()
    query.stop()


def test_the_sql_and_the_program_of_the_page_make_a_replica(
    spark: SparkSession, postgres: Postgres, tmp_path: Path
) -> None:
    page = documents.page("docs/cdc.md")
    rights, drop, requests, found, _ = (block.text for block in page.blocks("sql"))
    reload, verify = statements(requests)
    program = page.blocks("python")[0].text
    shop = Postgres(make_conninfo(postgres.server, dbname="shop"), "public")
    with psycopg.connect(postgres.server, autocommit=True) as server:
        server.execute("CREATE DATABASE shop")
        try:
            shop.execute("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)", "INSERT INTO orders VALUES (1, 'one')")
            for statement in statements(rights):
                shop.execute(statement)
            places = {
                "jdbc:postgresql://db.example.com/shop": shop.url,
                "jdbc:postgresql://warehouse.example.com/warehouse": postgres.url,
                '"loader"': f'"{postgres.user}"',
                'Secret.env("': 'Secret("',
                "/data/checkpoints": str(tmp_path),
                "query.awaitTermination()": "",
                'slot=cdc.Slot("orders"),': 'slot=cdc.Slot("orders"), verify=cdc.Verify(),',
            }
            names: dict[str, Any] = {}
            exec(documents.adapted(program, places), names)
            query = names["query"]
            try:
                until(lambda: "orders" in postgres.tables() and stored(postgres) == [(1, "one")], "the first row")
                shop.execute("UPDATE orders SET note = 'changed'", "INSERT INTO orders VALUES (2, 'two')")
                until(lambda: stored(postgres) == [(1, "changed"), (2, "two")], "the changes")
                postgres.execute("UPDATE orders SET note = 'by hand'")
                shop.execute(reload)
                until(lambda: stored(postgres) == [(1, "changed"), (2, "two")], "the reload")
                postgres.execute("UPDATE orders SET note = 'by hand' WHERE id = 2")
                shop.execute(verify)
                (answer,) = statements(found)
                difference = "1 row equal, 1 different, 0 missing, 0 extra; different: (id 2)"
                until(
                    lambda: (
                        "epochal_ledger_verification" in postgres.tables()
                        and [row[1] for row in postgres.query(answer)] == [difference]
                    ),
                    "the comparison",
                )
            finally:
                query.stop()
            for statement in statements(drop):
                shop.execute(statement)
        finally:
            server.execute("DROP DATABASE shop WITH (FORCE)")
            server.execute("DROP ROLE IF EXISTS capture")


@pytest.mark.slow
def test_the_program_of_the_page_makes_replicas_of_a_schema(
    spark: SparkSession, postgres: Postgres, tmp_path: Path
) -> None:
    page = documents.page("docs/cdc.md")
    shop = Postgres(make_conninfo(postgres.server, dbname="several"), "public")
    places = {
        "jdbc:postgresql://db.example.com/shop": shop.url,
        "jdbc:postgresql://warehouse.example.com/warehouse": postgres.url,
        '"capture"': f'"{shop.user}"',
        '"loader"': f'"{postgres.user}"',
        'Secret.env("': 'Secret("',
        "/data/": f"{tmp_path}/",
        'cdc.Slot("shop")': 'cdc.Slot("several")',
        'sink_id="shop",': 'sink_id="shop", trigger="availableNow",',
    }
    recipe = documents.adapted(page.blocks("python")[1].text, places)

    def run() -> None:
        names: dict[str, Any] = {"spark": spark, "epochal": epochal, "cdc": cdc, "Secret": epochal.Secret}
        exec(recipe, names)
        for query in ("SELECT id, note FROM orders ORDER BY id", "SELECT id, price FROM items ORDER BY id"):
            source, replica = shop.query(query), postgres.query(query)
            assert source
            assert replica == source

    with psycopg.connect(postgres.server, autocommit=True) as server:
        server.execute("CREATE DATABASE several")
        try:
            shop.execute(
                "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)",
                "CREATE TABLE items (id INT PRIMARY KEY, price NUMERIC(10, 2))",
                "INSERT INTO orders SELECT i, 'note ' || i FROM generate_series(1, 5) i",
                "INSERT INTO items VALUES (1, 0.10), (2, NULL)",
            )
            run()
            shop.execute(
                "UPDATE orders SET note = NULL WHERE id = 1",
                "UPDATE items SET id = 3, price = 12345678.90 WHERE id = 1",
                "DELETE FROM orders WHERE id > 3",
                "INSERT INTO items VALUES (4, -1.5)",
            )
            run()
            shop.query("SELECT pg_drop_replication_slot('several')")
        finally:
            server.execute("DROP DATABASE several WITH (FORCE)")


def test_the_catalog_of_the_page_has_a_table_and_its_changes(
    spark: SparkSession, postgres: Postgres, tmp_path: Path
) -> None:
    if not hasattr(spark.readStream, "changes"):
        pytest.skip("Spark 4.2 is the first with CHANGES")
    shop = Postgres(make_conninfo(postgres.server, dbname="catalog"), "public")
    (tmp_path / "password").write_text("secret\n", "utf-8")
    with psycopg.connect(postgres.server, autocommit=True) as server:
        server.execute("CREATE DATABASE catalog")
        try:
            shop.execute(
                "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)",
                "ALTER TABLE orders REPLICA IDENTITY FULL",
                "CREATE PUBLICATION orders FOR TABLE orders",
            )
            shop.query("SELECT pg_create_logical_replication_slot('audit', 'pgoutput')")
            ((begin,),) = shop.query(
                "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = 'audit'"
            )
            shop.execute("INSERT INTO orders VALUES (1, 'one')")
            shop.execute("UPDATE orders SET note = 'two'")
            places = {
                "jdbc:postgresql://db.example.com/shop": shop.url,
                '"capture"': f'"{shop.user}"',
                'passwordEnv", "DB_PASSWORD"': f'passwordFile", "{tmp_path}/password"',
                "0/16B3748": begin,
            }
            names: dict[str, Any] = {"spark": spark}
            exec(documents.adapted(documents.page("docs/cdc.md").blocks("python")[2].text, places), names)
            assert sorted(map(tuple, names["batch"].collect())) == [
                ("insert", "one", "two"),
                ("update_postimage", "two", "two"),
                ("update_preimage", "one", "two"),
            ]
            query = names["stream"].writeStream.format("memory").queryName("audited").trigger(availableNow=True)
            query.option("checkpointLocation", str(tmp_path / "audit")).start().awaitTermination()
            assert spark.sql("SELECT _change_type, id, note FROM audited").collect() == [("insert", 1, "two")]
            shop.query("SELECT pg_drop_replication_slot('audit')")
        finally:
            server.execute("DROP DATABASE catalog WITH (FORCE)")


def stored(postgres: Postgres) -> list[Any]:
    return postgres.query("SELECT id, note FROM orders ORDER BY id")


def test_digits_survive_the_recipe_of_the_page_as_decimals_not_as_strings(spark: SparkSession) -> None:
    wide = "12345678901234567890.123456789012345678"
    row = spark.sql(f"""SELECT from_json('{{"n":{wide}}}', 'n DECIMAL(38, 18)').n AS exact,
        from_json('{{"n":{wide}}}', 'n STRING').n AS text,
        from_json('{{"j":{{"n":1.50}}}}', 'j STRING').j AS json""").first()
    assert row
    assert str(row["exact"]) == wide
    assert (row["text"] == wide, row["json"] == '{"n":1.50}') == (False, False)
