"""Every program of ``docs/rest-recipes.md``, against a stub of the API's shape and its records' fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import Limits, Secret, rest
from epochal._options import instant
from support import shapes
from support.api import Record
from support.databases import Sqlite
from support.documents import page
from support.streams import finish, rows_by_batch

#: By stub, from ``<!-- needs: github -->``.
RECIPES = {block.needs[0]: block.text for block in page("docs/rest-recipes.md").blocks("python") if block.needs}

TIME = "2026-01-02T03:04:05Z"
#: By stub, a record with fields and types as in the API's own documentation.
RECORDS: dict[str, Callable[[int], Record]] = {
    "github": lambda n: {
        "id": 3_000_000_000 + n,
        "node_id": f"I_{n}",
        "number": n,
        "title": f"Title {n}",
        "state": "open",
        "user": {"login": f"user{n}", "id": n},
        "labels": [{"name": "bug"}],
        "created_at": TIME,
        "closed_at": None,
    },
    "stripe": lambda n: {
        "id": f"ch_{n:04}",
        "object": "charge",
        "amount": 2000,
        "currency": "usd",
        "status": "succeeded",
        "created": 1_700_000_000 + n,
        "metadata": {},
    },
    "shopify": lambda n: {
        "id": 5_000_000_000_000 + n,
        "name": f"#{n}",
        "email": "bob@example.com",
        "total_price": "409.94",
        "currency": "USD",
        "created_at": "2026-01-02T03:04:05-05:00",
        "line_items": [],
    },
    "json_api": lambda n: {
        "type": "articles",
        "id": f"{n:04}",
        "attributes": {"title": f"Title {n}", "created": TIME},
        "relationships": {},
    },
    "odata": lambda n: {
        "UserName": f"user{n:04}",
        "FirstName": "Russell",
        "LastName": "Whyte",
        "Emails": ["russell@example.com"],
        "Gender": "Male",
    },
    "github_graphql": lambda n: {
        "number": n,
        "title": f"Title {n}",
        "state": "OPEN",
        "createdAt": TIME,
        "author": {"login": f"user{n}"},
    },
    "notion": lambda n: {
        "object": "page",
        "id": f"{n:04}",
        "url": f"https://www.notion.so/{n}",
        "created_time": "2026-01-02T03:04:00.000Z",
        "last_edited_time": "2026-01-02T03:04:00.000Z",
        "properties": {},
    },
    "prices": lambda n: {"currency": f"C{n:02}", "rate": "1.0845", "updated": TIME},
    "elasticsearch": lambda n: {"id": 3_000_000_000 + n, "author": "me", "created": TIME},
    "slack": lambda n: {
        "id": f"W{n:04}",
        "team_id": "T012AB3C4",
        "name": f"user{n}",
        "deleted": False,
        "updated": 1_502_138_686,
        "profile": {"real_name": "Egon Spengler", "email": "spengler@example.com", "avatar_hash": "ge3b51ca72de"},
    },
    "airtable": lambda n: {"id": f"{n:04}", "Name": f"Task {n}", "Status": "Done"},
    "zendesk": lambda n: {
        "id": 35_000_000_000 + n,
        "subject": "Help",
        "status": "open",
        "priority": None,
        "requester_id": 20_978_392_000,
        "created_at": TIME,
        "updated_at": TIME,
    },
    "jsonplaceholder": lambda n: {"postId": 1, "id": n, "name": f"name {n}", "email": "a@example.com", "body": "text"},
    "since_until": lambda n: {"id": f"evt_{n:04}", "type": "order.created", "created_at": TIME},
}

#: Windows begin a few seconds ago and are short, because they must have ended when a recipe is read.
START = instant(datetime.now(timezone.utc).replace(microsecond=0) - timedelta(seconds=10))


class Environment:
    """Replaces an environment variable that the driver does not have."""

    @staticmethod
    def env(name: str) -> Secret:
        assert name == "TOKEN"
        return Secret("secret")


def frame(spark: SparkSession, recipe: str, server: shapes.Server, rows: int = 7) -> DataFrame:
    """The rows that a recipe reads from ``server`` in place of the API's host, ``rows`` per batch; pages have ten."""
    there = f"http://{server.url.split('/')[2]}/"
    program = re.sub(r"https://[^/\"]+/", there, recipe).replace("\n)", f"\n    limits=Limits(rows={rows}),\n)", 1)
    program = re.sub(r"((?:per_page|limit|pageSize|size)(?:\": \"?|=))\d{3,4}", r"\g<1>10", program)
    program = program.replace("first: 100", "first: 10")
    program = re.sub(r'start="2026[^"]*"', f'start="{START}"', program)
    program = program.replace('"15m"', '"1s"').replace('"5m"', '"1s"').replace('"1h"', '"1m"')
    names: dict[str, Any] = {"epochal": epochal, "spark": spark, "Secret": Environment, "rest": rest, "Limits": Limits}
    exec(program, names)
    (found,) = [value for value in names.values() if isinstance(value, DataFrame)]
    return found


#: Recipes of several levels, which have a test of their own.
TREES = {"github_tree"}


def test_every_recipe_has_a_stub() -> None:
    assert RECIPES.keys() == RECORDS.keys() | TREES


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in {"github", "github_graphql"} else [pytest.mark.slow]) for name in RECORDS],
)
def test_a_recipe_reads_each_record_once_and_resumes(
    name: str, spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def copy() -> list[int]:
        rows = frame(spark, RECIPES[name], server)
        columns[:] = rows.columns
        query = epochal.write.jdbc(
            rows,
            sqlite.url,
            table="records",
            checkpoint=checkpoint,
            create_table=True,
            sink_id="recipe",
            trigger="availableNow",
        )
        finish(query)
        return rows_by_batch(query)

    columns: list[str] = []
    with shapes.serving(getattr(shapes, name)) as server:
        server.records = [RECORDS[name](n) for n in range(1, 25)]
        assert copy() == [7, 7, 7, 3]
        server.records += [RECORDS[name](n) for n in range(25, 42)]
        assert copy() == [7, 7, 3]
        assert copy() == []
        key = "id" if "id" in columns else columns[0]
        ids = [f"rec{record[key]}" if name == "airtable" else record[key] for record in server.records]
    assert [row[0] for row in sqlite.query(f"SELECT {key} FROM records ORDER BY {key}")] == ids
    assert [column for column in columns if sqlite.query(f'SELECT 1 FROM records WHERE "{column}" IS NULL')] == []


def test_comments_of_all_issues_of_all_repositories_are_read_once(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def comment(n: int) -> Record:
        place = {"repo": f"repo{n % 3}", "number": n % 7}
        return place | {"id": n, "user": {"login": "me"}, "body": "text", "created_at": TIME}

    def copy() -> int:
        query = epochal.write.jdbc(
            frame(spark, RECIPES["github_tree"], server, 100),
            sqlite.url,
            table="comments",
            checkpoint=checkpoint,
            create_table=True,
            sink_id="comments",
            trigger="availableNow",
        )
        finish(query)
        return sum(rows_by_batch(query))

    with shapes.serving(shapes.github_tree) as server:
        server.records = [comment(n) for n in range(250)]
        assert copy() == 250
        server.records += [comment(n) for n in range(250, 260)]
        assert copy() == 10
    found = sqlite.query("SELECT id, owner, repo, number FROM comments ORDER BY id")
    assert found == [(n, "apache", f"repo{n % 3}", n % 7) for n in range(260)]
