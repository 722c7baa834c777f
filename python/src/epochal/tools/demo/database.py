"""Queries the target database over a connection that is independent of Spark."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from epochal.errors import ConfigurationError
from epochal.tools.demo.comments import COLUMNS

#: PostgreSQL schema of the demo; dropped when a demo starts.
SCHEMA = "epochal_demo"

Row = tuple[Any, ...]


class Target(Protocol):
    """The database that the demo writes to."""

    @property
    @abstractmethod
    def url(self) -> str:
        """JDBC URL, without a password."""

    @property
    def user(self) -> str | None: ...

    @property
    def password(self) -> str | None: ...

    def clear(self) -> None:
        """Removes the tables of earlier demos."""

    @abstractmethod
    def query(self, sql: str) -> list[Row]:
        """All rows; empty if the table does not exist yet."""


@dataclass(frozen=True)
class SqliteTarget:
    """An SQLite file; ``clear`` removes it."""

    path: Path

    @property
    def url(self) -> str:
        return f"jdbc:sqlite:{self.path}"

    user: None = None
    password: None = None

    def clear(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def query(self, sql: str) -> list[Row]:
        if not self.path.exists():
            return []
        connection = sqlite3.connect(self.path, timeout=10)
        try:
            return connection.execute(sql).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            connection.close()


@dataclass(frozen=True)
class PostgresTarget:
    """A PostgreSQL database; the demo uses only the schema ``epochal_demo``."""

    host: str
    port: int
    database: str
    user: str | None
    password: str | None
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        query = urlencode(dict(self.parameters) | {"currentSchema": SCHEMA})
        return f"jdbc:postgresql://{self.host}:{self.port}/{self.database}?{query}"

    def clear(self) -> None:
        with self._connect() as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
            connection.execute(f"CREATE SCHEMA {SCHEMA}")

    def query(self, sql: str) -> list[Row]:
        import psycopg

        with self._connect() as connection:
            try:
                return list(connection.execute(sql).fetchall())
            except psycopg.errors.UndefinedTable:
                return []

    def _connect(self) -> Any:
        import psycopg

        return psycopg.connect(
            host=self.host,
            port=self.port,
            dbname=self.database,
            user=self.user,
            password=self.password,
            sslmode=dict(self.parameters).get("sslmode"),
            options=f"-c search_path={SCHEMA}",
            connect_timeout=10,
            autocommit=True,
        )


def target(url: str, user: str | None, password: str | None) -> Target:
    """The database that a URL names: ``jdbc:sqlite:…``, ``jdbc:postgresql://…`` or ``postgresql://…``.

    Raises:
        ConfigurationError: the database is not supported, or its Python driver is missing.
    """
    plain = url.removeprefix("jdbc:")
    if plain.startswith("sqlite:"):
        return SqliteTarget(Path(plain.removeprefix("sqlite:")).absolute())
    parts = urlsplit(plain)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ConfigurationError(
            "DATABASE_UNSUPPORTED",
            f"The demo cannot write to {parts.scheme or 'this URL'}.",
            "Use jdbc:postgresql://host:port/database, or leave --database-url out for SQLite.",
        )
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "DRIVER_MISSING",
            "The demo reads PostgreSQL with psycopg, which is not installed.",
            "pip install 'psycopg[binary]'",
        ) from error
    parameters = dict(parse_qsl(parts.query))
    server = PostgresTarget(
        host=parts.hostname or "localhost",
        port=parts.port or 5432,
        database=parts.path.lstrip("/") or "postgres",
        user=unquote(parts.username) if parts.username else parameters.pop("user", None),
        password=unquote(parts.password) if parts.password else parameters.pop("password", None),
    )
    return replace(
        server, user=user or server.user, password=password or server.password, parameters=tuple(parameters.items())
    )


def rows(target: Target, table: str) -> list[Row]:
    """The rows of the table ordered by id, with the columns of a comment."""
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    return target.query(f'SELECT {names} FROM "{table}" ORDER BY "id"')


def count(target: Target, table: str) -> int:
    counts = target.query(f'SELECT count(*) FROM "{table}"')
    return int(counts[0][0]) if counts else 0
