"""Every program of ``docs/rest-recipes.md``, against a stub of the API's shape and its records' fields."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import Budget, Http, Limits, Secret, rest
from epochal._options import instant
from support import shapes, vendors
from support.api import Record
from support.databases import Sqlite
from support.documents import page
from support.streams import finish, rows_by_batch
from support.variants import variants

#: By stub, from ``<!-- needs: github -->``.
RECIPES = {block.needs[0]: block.text for block in page("docs/rest-recipes.md").blocks("python") if block.needs}

TIME = "2026-01-02T03:04:05Z"


class Windows:
    """Windows begin a few seconds ago and are short, because they must have ended when a recipe is read."""

    begin = datetime.now(timezone.utc)


def created(n: int) -> int:
    """Seconds since 1970: for the first records a while ago, for others now."""
    return int(Windows.begin.timestamp()) + n % 5 if n < 25 else int(time.time())


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
    "github_since": lambda n: {
        "id": 3_000_000_000 + n,
        "number": n,
        "title": f"Title {n}",
        "state": "open",
        "created_at": TIME,
        "updated_at": TIME,
    },
    "stripe": lambda n: {
        "id": f"ch_{n:04}",
        "object": "charge",
        "customer": f"cus_{n % 3}",
        "amount": 2000,
        "currency": "usd",
        "status": "succeeded",
        "created": created(n),
        "metadata": {},
    },
    "hubspot": lambda n: {
        "id": f"{n:04}",
        "properties": {"email": "bob@example.com", "lastname": "Bob", "hs_object_id": f"{n:04}"},
        "createdAt": "2026-01-02T03:04:05.123Z",
        "archived": False,
    },
    "hubspot_search": lambda n: {
        "id": f"{n:04}",
        "properties": {"email": "bob@example.com"},
        "createdAt": instant(datetime.fromtimestamp(created(n), timezone.utc)),
    },
    "jira": lambda n: {
        "id": f"{n:04}",
        "key": f"EX-{n}",
        "fields": {"summary": "Help", "created": "2026-01-02T03:04:05.000+0000"},
    },
    "jira_data_center": lambda n: {"id": f"{n:04}", "key": f"EX-{n}", "fields": {"summary": "Help"}},
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
    "gcs": lambda n: {"name": f"logs/{n:04}", "size": "1024", "timeCreated": "2026-01-02T03:04:05.123Z"},
    "jsonplaceholder": lambda n: {"postId": 1, "id": n, "name": f"name {n}", "email": "a@example.com", "body": "text"},
    "since_until": lambda n: {"id": f"evt_{n:04}", "type": "order.created", "created_at": TIME},
}


class Secrets:
    """Replaces an environment variable and a file that the driver does not have."""

    @staticmethod
    def env(name: str) -> Secret:
        assert name == "TOKEN"
        return Secret("secret")

    @staticmethod
    def file(path: str) -> Secret:
        assert path.startswith("/run/secrets/")
        return Secret("secret")


def frame(spark: SparkSession, recipe: str, server: shapes.Server, rows: int = 7) -> DataFrame:
    """The rows that a recipe reads from ``server`` in place of the API's host, ``rows`` per batch; pages have ten."""
    there = f"http://{server.url.split('/')[2]}/"
    program = re.sub(r"https://[^/\"]+/", there, recipe).replace("\n)", f"\n    limits=Limits(rows={rows}),\n)", 1)
    program = re.sub(r"((?:per_page|limit|pageSize|size|maxResults)(?:\": \"?|=))\d{3,4}", r"\g<1>10", program)
    program = program.replace("first: 100", "first: 10").replace("requests_per_second=2", "requests_per_second=50")
    program = re.sub(r'start="2026[^"]*", length="\w+"', f'start="{instant(Windows.begin)}", length="1s"', program)
    program = program.replace('"5m"', '"1s"').replace('overlap="1h"', 'overlap="1m"')
    names: dict[str, Any] = {"epochal": epochal, "spark": spark, "Secret": Secrets, "rest": rest, "Limits": Limits}
    names |= {"Http": Http, "Budget": Budget}
    exec(program, names)
    (found,) = [value for value in names.values() if isinstance(value, DataFrame)]
    return found


#: Recipes of several levels, which have a test of their own.
TREES = {"github_tree", "stripe_charges"}
#: In `make test`.
FEW = {"github"}
#: Recipes that read windows of time by the time in a record.
WINDOWS = {"hubspot_search", "stripe"}


@pytest.fixture(autouse=True)
def windows() -> None:
    Windows.begin = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(seconds=10)


def serving(name: str) -> Any:
    """The stub of a recipe. Its third request is one too many, if the API limits their rate."""
    stub = getattr(vendors, name, None) or getattr(shapes, name)
    return shapes.serving(stub, limited=3)


def copied(rows: DataFrame, database: Sqlite, checkpoint: Path) -> list[int]:
    """Runs a query to its end; the rows of its batches."""
    query = epochal.write.jdbc(
        rows,
        database.url,
        table="records",
        checkpoint=checkpoint,
        create_table=True,
        sink_id="recipe",
        trigger="availableNow",
    )
    finish(query)
    return rows_by_batch(query)


def test_every_recipe_has_a_stub() -> None:
    assert RECIPES.keys() == RECORDS.keys() | TREES


@pytest.mark.parametrize("name", variants(RECORDS, FEW))
def test_a_recipe_reads_each_record_once_and_resumes(
    name: str, spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def copy() -> list[int]:
        rows = frame(spark, RECIPES[name], server)
        columns[:] = rows.columns
        return copied(rows, sqlite, checkpoint)

    columns: list[str] = []
    with serving(name) as server:
        server.records = [RECORDS[name](n) for n in range(1, 25)]
        assert copy() == [7, 7, 7, 3]
        server.records += [RECORDS[name](n) for n in range(25, 42)]
        if name in WINDOWS:
            time.sleep(2.1)
        assert copy() == [7, 7, 3]
        assert copy() == []
        key = "id" if "id" in columns else columns[0]
        ids = [f"rec{record[key]}" if name == "airtable" else record[key] for record in server.records]
    assert [row[0] for row in sqlite.query(f"SELECT {key} FROM records ORDER BY {key}")] == ids
    assert [column for column in columns if sqlite.query(f'SELECT 1 FROM records WHERE "{column}" IS NULL')] == []


@pytest.mark.slow
def test_newer_charges_before_the_first_are_read_once(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    def copy() -> int:
        charges = epochal.read.rest(
            spark,
            f"{server.url}/v1/charges",
            pages=rest.Cursor(next="/data/0/id", param="ending_before", first="ch_0001"),
            params={"limit": "10"},
            records=rest.Json("/data"),
            schema="id STRING",
            limits=Limits(rows=7),
        )
        return sum(copied(charges, sqlite, checkpoint))

    with serving("stripe") as server:
        for until, rows in ((24, 22), (24, 0), (25, 1), (60, 35)):
            server.records = [RECORDS["stripe"](n) for n in range(1, until)]
            assert copy() == rows
        expected = [(record["id"],) for record in server.records[1:]]
    assert sqlite.query("SELECT id FROM records ORDER BY id") == expected


@pytest.mark.slow
def test_each_change_of_a_ticket_is_exported_once_although_it_leaves_its_place(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def change(n: int, hour: int) -> Record:
        return RECORDS["zendesk"](n) | {"updated_at": f"2026-01-02T{hour:02}:00:00Z"}

    def copy() -> int:
        return sum(copied(frame(spark, RECIPES["zendesk"], server), sqlite, checkpoint))

    with serving("zendesk") as server:
        server.records = [change(n, 0) for n in range(1, 25)]
        assert copy() == 24
        for hour, tickets in enumerate([(3, 22, 24), (24,), (), (21, 25)], 1):
            server.records += [change(n, hour) for n in tickets]
            assert copy() == len(tickets)
        expected = sorted((record["id"], int(record["updated_at"][11:13])) for record in server.records)
    found = sqlite.query("SELECT id, updated_at FROM records")
    assert sorted((key, int(str(at)[11:13])) for key, at in found) == expected


@pytest.mark.slow
def test_shopify_is_also_read_by_the_key_that_its_recipe_names(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    section = page("docs/rest-recipes.md").source.partition("## Shopify")[2]
    (other,) = re.findall(r"`(rest\.Keyset\(.+\))`", section.partition("## ")[0])
    recipe = RECIPES["shopify"].replace('rest.Link(end_of_list="assumed")', other)
    recipe = recipe.replace(', "order": "created_at asc"', "")
    with serving("shopify") as server:
        for until in (24, 41):
            server.records = [RECORDS["shopify"](n) for n in range(1, until)]
            assert sum(copied(frame(spark, recipe, server), sqlite, checkpoint)) == (23 if until == 24 else 17)
        assert [row[0] for row in sqlite.query("SELECT id FROM records ORDER BY id")] == [
            record["id"] for record in server.records
        ]


@pytest.mark.slow
def test_charges_of_all_customers_are_read_once(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    def copy() -> int:
        return sum(copied(frame(spark, RECIPES["stripe_charges"], server, 100), sqlite, checkpoint))

    with serving("stripe_charges") as server:
        server.records = [RECORDS["stripe"](n) for n in range(1, 25)]
        assert copy() == 24
        server.records += [RECORDS["stripe"](n) | {"customer": f"cus_{n % 5}"} for n in range(25, 60)]
        time.sleep(2.1)
        assert copy() == 35
        expected = [(record["id"], record["customer"]) for record in server.records]
    assert sqlite.query("SELECT id, customer FROM records ORDER BY id") == expected


@pytest.mark.slow
def test_comments_of_all_issues_of_all_repositories_are_read_once(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def comment(n: int) -> Record:
        place = {"repo": f"repo{n % 3}", "number": n % 7}
        return place | {"id": n, "user": {"login": "me"}, "body": "text", "created_at": TIME}

    def copy() -> int:
        return sum(copied(frame(spark, RECIPES["github_tree"], server, 100), sqlite, checkpoint))

    with serving("github_tree") as server:
        server.records = [comment(n) for n in range(250)]
        assert copy() == 250
        server.records += [comment(n) for n in range(250, 260)]
        assert copy() == 10
    found = sqlite.query("SELECT id, owner, repo, number FROM records ORDER BY id")
    assert found == [(n, "apache", f"repo{n % 3}", n % 7) for n in range(260)]
