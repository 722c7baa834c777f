"""Common interface of SQLite and PostgreSQL, for queries from Python without Spark."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict

from support.waiting import until

Row = tuple[Any, ...]


class Database(Protocol):
    """The test's database, initially empty."""

    @property
    def url(self) -> str: ...

    @property
    def user(self) -> str | None: ...

    @abstractmethod
    def query(self, sql: str) -> list[Row]:
        """Executes a statement, commits, and returns all rows."""

    @abstractmethod
    def together(self, *queries: str) -> list[list[Row]]:
        """The rows of several queries, from one snapshot."""

    def execute(self, *statements: str) -> None:
        """Runs statements in one transaction."""

    @abstractmethod
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

    def together(self, *queries: str) -> list[list[Row]]:
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            connection.execute("BEGIN")
            return [connection.execute(query).fetchall() for query in queries]
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
    """A schema on the tests' server: much cheaper to create than a database."""

    server: str
    schema: str
    user: str | None = "postgres"

    @property
    def url(self) -> str:
        where = conninfo_to_dict(self.server)
        return f"jdbc:postgresql://{where['host']}:{where['port']}/{where['dbname']}?currentSchema={self.schema}"

    def connect(self) -> psycopg.Connection[Row]:
        return psycopg.connect(self.server, options=f"-c search_path={self.schema}")

    def query(self, sql: str) -> list[Row]:
        with self.connect() as connection:
            return connection.execute(sql.encode()).fetchall()

    def together(self, *queries: str) -> list[list[Row]]:
        with self.connect() as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            return [connection.execute(query.encode()).fetchall() for query in queries]

    def execute(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def drop_slot(self, name: str = "") -> None:
        """Drops a replication slot, by default that with the name of the schema, once its reader has ended."""
        slot = f"FROM pg_replication_slots WHERE slot_name = '{name or self.schema}'"
        until(lambda: not self.query(f"SELECT 1 {slot} AND active"), "the end of the slot's reader", 60)
        self.query(f"SELECT pg_drop_replication_slot(slot_name) {slot}")

    def tables(self) -> set[str]:
        return {name for (name,) in self.query(f"SELECT tablename FROM pg_tables WHERE schemaname = '{self.schema}'")}


def new_postgres(server: str, schema: str) -> Postgres:
    """Creates a schema on a server."""
    made = Postgres(server, schema)
    made.execute(f"CREATE SCHEMA {schema}")
    return made
