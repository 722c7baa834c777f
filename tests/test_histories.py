"""The history of a table: the view of the page that has a range of time for each version of a row."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from epochal import cdc
from support import documents
from support.databases import Database, Postgres, Sqlite
from support.replicas import LARGE, names, replicate
from support.snippets import statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The statements of some transactions.
TRANSACTIONS = (
    ("UPDATE orders SET note = 'skipped' WHERE id = 1", "UPDATE orders SET note = 'changed' WHERE id = 1"),
    ("UPDATE orders SET id = 9 WHERE id = 2",),
    ("DELETE FROM orders WHERE id = 3",),
    ("INSERT INTO orders VALUES (3, 'again', '')", "INSERT INTO orders VALUES (5, 'brief', '')"),
    ("INSERT INTO orders VALUES (6, 'skipped', '')", "DELETE FROM orders WHERE id IN (5, 6)"),
    ("UPDATE orders SET note = 'skipped' WHERE id = 4", "TRUNCATE orders", "INSERT INTO orders VALUES (1, 'new', '')"),
    ("UPDATE orders SET note = NULL WHERE id = 1",),
)
#: Key and note of each version, and in which of them it began and ended; the reload, which comes last, is one, too.
VERSIONS = [
    (1, "changed", 1, 6),
    (1, "new", 6, 7),
    (1, "one", 0, 1),
    (1, None, 7, 8),
    (1, None, 8, None),
    (2, "two", 0, 2),
    (3, "again", 4, 6),
    (3, "three", 0, 3),
    (4, "four", 0, 6),
    (5, "brief", 4, 5),
    (9, "two", 2, 6),
]


@pytest.fixture
def shop(postgres: Postgres) -> Iterator[Postgres]:
    """A schema with a table of four rows; its slot is dropped at the end."""
    postgres.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT, document TEXT NOT NULL)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        f"INSERT INTO orders SELECT i, (ARRAY['one', 'two', 'three', 'four'])[i], {LARGE} FROM generate_series(1, 4) i",
    )
    yield postgres
    postgres.drop_slot()


def utc(time: str) -> str:
    """SQL of a time of PostgreSQL, as a text of SQLite."""
    return f"""to_char({time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def test_the_view_of_the_page_has_a_range_for_each_version(
    spark: SparkSession, shop: Postgres, database: Database, tmp_path: Path
) -> None:
    def run() -> None:
        replicate(spark, shop, tmp_path, database, tables=names(shop, "orders"), history="{table}_history")

    states: dict[str, list[Any]] = {}

    def note_state() -> None:
        ((moment,),) = shop.query(f"SELECT {utc('clock_timestamp()')}")
        states[moment] = shop.query("SELECT id, note, length(document) FROM orders ORDER BY id")

    run()
    note_state()
    for transaction in TRANSACTIONS:
        shop.execute(*transaction)
        note_state()
    cdc.reload(shop.url, table=names(shop, "orders"), user=shop.user)
    run()

    # The page's view, which has the document, too.
    (block,) = (block for block in documents.page("docs/cdc.md").blocks("sql") if "_valid_until" in block.text)
    places = {"SELECT id, note,": "SELECT id, note, document,"}
    if isinstance(database, Sqlite):
        places[' COLLATE "C"'] = ""
    view, question = statements(documents.adapted(block.text, places))
    database.execute(view)
    begin, end = (name if isinstance(database, Sqlite) else utc(name) for name in ("_valid_from", "_valid_until"))
    moments = sorted(states)
    versions = [
        (id, note, bisect(moments, begin), end and bisect(moments, end))
        for id, note, begin, end in database.query(f"SELECT id, note, {begin}, {end} FROM orders_versions")
    ]
    assert sorted(versions, key=str) == VERSIONS
    for moment, rows in states.items():
        at = documents.adapted(question, {"2026-06-01T12:00:00.000000Z": moment})
        assert sorted((id, note, len(document)) for id, note, document, *_ in database.query(at)) == rows
