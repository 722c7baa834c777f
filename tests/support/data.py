"""Records that an API serves, and the expected rows."""

from __future__ import annotations

from support.api import Record
from support.databases import Database, Row

SCHEMA = "postId INT, id INT, name STRING, email STRING, body STRING"
COLUMNS = ("postId", "id", "name", "email", "body")


def comments(first: int, count: int) -> list[Record]:
    """Comments with the ids ``first``, ``first + 1`` …"""
    return [
        {
            "postId": (number - 1) // 5 + 1,
            "id": number,
            "name": f"name {number}",
            "email": f"someone.{number}@example.org",
            "body": f'line one of {number}\nline two: "quoted", it\'s \\ {number}\t€ 😀',
        }
        for number in range(first, first + count)
    ]


def as_rows(records: list[Record]) -> list[Row]:
    """Expected rows of a table of comments, by id."""
    return [tuple(record[column] for column in COLUMNS) for record in records]


def stored(database: Database, table: str = "comments") -> list[Row]:
    """Rows of a table of comments, by id."""
    columns = ", ".join(f'"{column}"' for column in COLUMNS)
    return database.query(f'SELECT {columns} FROM "{table}" ORDER BY "id"')


def create_comments(database: Database, table: str = "comments", key: str = "") -> None:
    """Creates the table; ``key`` completes the definition of the column ``id``."""
    database.execute(
        f'CREATE TABLE "{table}" ("postId" INTEGER, "id" INTEGER {key}, "name" TEXT, "email" TEXT, "body" TEXT)'
    )


def ledger(database: Database) -> list[dict[str, object]]:
    """The ledger's rows, by sink id."""
    names = ("sink_id", "query_id", "last_epoch", "digest", "generation", "epochs", "total_rows")
    found = database.query(f"SELECT {', '.join(names)} FROM epochal_ledger ORDER BY sink_id")
    return [dict(zip(names, row, strict=True)) for row in found]
