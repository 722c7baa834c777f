"""Runs the programs of a document, with local servers in place of its hosts."""

from __future__ import annotations

import contextlib
import io
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from epochal._options import instant
from support.api import Api
from support.databases import Database, Postgres, Sqlite
from support.documents import Block
from support.shapes import Server
from support.streams import drain

#: Setup in the transaction of an SQL block: roles and tables for the documents' GRANTs, and a ledger.
TABLES = """
CREATE ROLE loader;
CREATE SCHEMA warehouse;
SET LOCAL search_path = warehouse, public;
CREATE TABLE public.comments (id integer PRIMARY KEY, body text);
CREATE TABLE comments (id integer PRIMARY KEY, body text);
CREATE TABLE bad (row_json text);
CREATE TABLE epochal_ledger (sink_id text PRIMARY KEY, target text, query_id text, last_epoch bigint,
  total_rows bigint, generation bigint, updated_at timestamptz);
CREATE TABLE epochal_ledger_retired (LIKE epochal_ledger);
CREATE TABLE epochal_ledger_history (sink_id text, number bigint, epoch bigint, generation bigint, rows bigint,
  committed_at timestamptz);
CREATE TABLE epochal_ledger_verification (target text, found text, verified_at timestamptz, equal_at timestamptz,
  equal_position text);
CREATE TABLE epochal_prepared (gid text PRIMARY KEY, sink_id text NOT NULL, epoch bigint NOT NULL);
"""


def here(text: str, api: Server | Api, database: Postgres, directory: Path) -> str:
    """The program with ``api`` and ``database`` as servers, files in ``directory``, and no waits."""
    (directory / "secret").write_text("secret\n", encoding="utf-8")
    hosts = api.url.removesuffix("/comments")
    hours_ago = instant(datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=3))
    for pattern, replacement in {
        r"https://[\w.-]+(?=[/\"'])": hosts,
        r"jdbc:postgresql:[^\"']*(?=\")": database.url,
        r"(url ')jdbc:postgresql:[^']*": rf"\1{database.url}&user={database.user}",
        r"jdbc:sqlite:(?!/)": f"jdbc:sqlite:{directory}/",
        r"(user\"?[=:] ?)\"loader\"": rf'\1"{database.user}"',
        r"table=\"warehouse[.]": f'table="{database.schema}.',
        r"((?:checkpoint|path)=\")(?!/)": rf"\g<1>{directory}/",
        r"\"/data/": f'"{directory}/data/',
        r"Secret[.](?:env|file)\(\"[^\"]*\"\)": f'Secret.file("{directory}/secret")',
        r"start=\"2026[^\"]*\"": f'start="{hours_ago}"',
        r"trigger=\"\d+ \w+\"": 'trigger="100 ms"',
    }.items():
        text = re.sub(pattern, replacement, text)
    return text


def run_python(blocks: list[Block], spark: SparkSession, api: Server, database: Postgres, directory: Path) -> None:
    """Runs blocks as one program. An endless query is stopped when it has written the available rows.

    The output must match the comments after ``print(…)`` calls.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        program = "\n" * (block.line - 1) + here(block.text, api, database, directory)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(program, str(block), "exec"), names)
        for expected in re.findall(r"^ *print\(.*\)  # (.+)$", block.text, re.MULTILINE):
            assert expected in output.getvalue().splitlines(), f"{block} does not print {expected}"
        for query in spark.streams.active:
            drain(query)


def empty_tables(blocks: list[Block], database: Postgres, directory: Path) -> list[str]:
    """Tables that the programs should have written and that are missing or empty."""
    written = re.findall(r"\btable=\"(?:\w+[.])?(\w+)\"", "".join(block.text for block in blocks))
    databases: list[Database] = [database, *(Sqlite(path) for path in directory.glob("*.db"))]
    return [
        name
        for name in written
        if not any(name in found.tables() and found.query(f'SELECT 1 FROM "{name}" LIMIT 1') for found in databases)
    ]


def run_in_spark(block: Block, spark: SparkSession, api: Server, database: Postgres, directory: Path) -> None:
    """Runs an SQL block in Spark, with a view of comments."""
    spark.sql("SELECT 1 AS id, 'first' AS body").createOrReplaceTempView("received")
    database.execute("CREATE TABLE comments (id integer, body text)")
    for statement in statements(here(block.text, api, database, directory)):
        spark.sql(statement)


def run_in_postgres(block: Block, database: Postgres) -> None:
    """Runs an SQL block in a transaction that is rolled back."""
    with database.connect() as connection:
        connection.execute(TABLES.encode())
        for statement in statements(block.text):
            connection.execute(statement.encode())
        connection.rollback()


def statements(sql: str) -> list[str]:
    lines = [line.partition("--")[0] for line in sql.splitlines()]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]
