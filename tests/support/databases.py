"""SQLite and PostgreSQL behind one face, looked into from Python and not through Spark."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

Row = tuple[Any, ...]


class Database(Protocol):
    """An empty database of the test's own."""

    url: str
    user: str | None

    def query(self, sql: str) -> list[Row]:
        """All rows of a statement; it commits."""

    def execute(self, *statements: str) -> None:
        """Runs statements in one transaction."""

    def tables(self) -> set[str]:
        """The names of all tables."""


@dataclass(frozen=True)
class Sqlite:
    """A file."""

    path: Path
    user: str | None = None

    @property
    def url(self) -> str:
        return f"jdbc:sqlite:{self.path}"

    def query(self, sql: str) -> list[Row]:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            with connection:
                return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def execute(self, *statements: str) -> None:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            with connection:
                for statement in statements:
                    connection.execute(statement)
        finally:
            connection.close()

    def tables(self) -> set[str]:
        if not self.path.exists():
            return set()
        return {name for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'table'")}


@dataclass(frozen=True)
class Postgres:
    """A database of the tests' server."""

    dsn: str
    user: str | None = "postgres"

    @property
    def url(self) -> str:
        where = conninfo_to_dict(self.dsn)
        return f"jdbc:postgresql://{where['host']}:{where['port']}/{where['dbname']}"

    def query(self, sql: str) -> list[Row]:
        with psycopg.connect(self.dsn) as connection:
            return list(connection.execute(sql.encode()).fetchall())

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.dsn) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def tables(self) -> set[str]:
        found = self.query(
            "SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        return {name for (name,) in found}


def new_postgres(server: str, name: str) -> Postgres:
    """Makes the database ``name`` on a server."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return Postgres(make_conninfo(server, dbname=name))
