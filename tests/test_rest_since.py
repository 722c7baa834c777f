"""``epochal-rest`` over records that change, into a table that follows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import Limits, jdbc, rest
from support.api import Answer, Api, Request, serve
from support.databases import Sqlite
from support.streams import finish, forget_last_commit, rows_by_batch
from support.waiting import until


@dataclass
class ChangesApi(Api):
    """Serves the records that have changed since ``since``, in no order, in pages by ``_start`` and ``_limit``.

    Attributes:
        asked: the values of ``since`` so far; it may be at ``/filter/since`` of a body.
    """

    asked: list[str] = field(default_factory=list)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        since = request.params["since"] if not request.body else json.loads(request.body)["filter"]["since"]
        self.asked.append(since)
        found = sorted((r for r in self.records if r["updated_at"] >= since), key=lambda r: r["id"] * 7 % 11)
        start, size = int(request.params["_start"]), int(request.params["_limit"])
        return 200, json.dumps(found[start : start + size]).encode(), {}

    def change(self, second: int, *ids: int) -> None:
        moment = f"2026-01-02T00:00:{second:02}Z"
        changed = [{"id": n, "name": f"name {n} of {second}", "updated_at": moment} for n in ids]
        self.records = [record for record in self.records if record["id"] not in ids] + changed


@pytest.fixture
def api() -> Iterator[ChangesApi]:
    api = ChangesApi()
    with serve(api):
        yield api


@pytest.fixture
def copy(spark: SparkSession, api: ChangesApi, sqlite: Sqlite, checkpoint: Path) -> Callable[..., list[int]]:
    """Writes what has changed into the table; returns the rows of each batch."""

    def copy(**place: Any) -> list[int]:
        place = place or {"param": "since"}
        issues = epochal.read.rest(
            spark,
            api.url,
            schema="id INT, name STRING, updated_at TIMESTAMP",
            pages=rest.Offset(size=4),
            poll=rest.Since("/updated_at", start="2026-01-01T00:00:00Z", key_columns=["id"], **place),
            limits=Limits(rows=8),
        )
        query = epochal.write.jdbc(
            issues,
            sqlite.url,
            table="issues",
            create_table=True,
            checkpoint=checkpoint,
            sink_id="issues",
            mode=jdbc.Upsert(key_columns=["id"], order_column="updated_at"),
            trigger="availableNow",
        )
        finish(query)
        return rows_by_batch(query)

    return copy


def test_a_table_follows_the_records_that_change(
    copy: Callable[..., list[int]], api: ChangesApi, sqlite: Sqlite, checkpoint: Path
) -> None:
    def rows() -> list[tuple[object, ...]]:
        return sqlite.query("SELECT id, name FROM issues ORDER BY id")

    def expected() -> list[tuple[object, ...]]:
        return sorted((record["id"], record["name"]) for record in api.records)

    api.change(1, *range(10))
    assert copy() == [8, 2]
    assert rows() == expected()
    api.change(1, 10)  # as late as the greatest value
    api.change(2, 3, 4)
    assert copy() == [3]
    assert rows() == expected()
    assert copy() == []

    # A batch whose commit Spark has lost is read from the journal, whatever the API has by then.
    forget_last_commit(checkpoint)
    api.change(3, 3)
    assert copy() == [3, 1]
    assert rows() == expected()
    assert copy() == []
    assert api.asked[-1] == "2026-01-02T00:00:03Z"


@pytest.mark.slow
def test_the_value_can_be_in_a_body(copy: Callable[..., list[int]], api: ChangesApi, sqlite: Sqlite) -> None:
    api.change(1, *range(10))
    assert copy(body="/filter/since") == [8, 2]
    api.change(2, 3)
    assert copy(body="/filter/since") == [1]
    assert sqlite.query("SELECT name FROM issues WHERE id = 3") == [("name 3 of 2",)]
    assert (api.asked[0], api.asked[-1]) == ("2026-01-01T00:00:00Z", "2026-01-02T00:00:01Z")


QUERY = """
query($since: DateTime, $after: String) {
  teams(since: $since, after: $after) {nodes {name changed} pageInfo {hasNextPage endCursor}}
}
"""


class TeamsApi(Api):
    """Serves by GraphQL the teams that have changed since a moment, and at a URL the members of a team."""

    @property
    def asked(self) -> list[str | None]:
        """The moments so far."""
        return [json.loads(request.body)["variables"].get("since") for request in self.requests if request.body]

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if not request.body:
            team = request.path.rpartition("/")[2]
            return 200, json.dumps([r for r in self.records if r["team"] == team]).encode(), {}
        since = self.asked[-1]
        teams = {r["team"]: r["updated_at"] for r in self.records}
        nodes = [{"name": team, "changed": at} for team, at in teams.items() if since is None or at >= since]
        found = {"nodes": nodes, "pageInfo": {"hasNextPage": False, "endCursor": None}}
        return 200, json.dumps({"data": {"teams": found}}).encode(), {}


@pytest.mark.slow
def test_the_value_can_be_a_variable_of_a_query_that_names_lists(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def member(number: int, team: str, day: int) -> dict[str, Any]:
        return {"id": number, "team": team, "updated_at": f"2026-01-{day:02}T00:00:00Z"}

    with serve(TeamsApi()) as api:
        teams = rest.Each(
            api.url,
            pages=rest.GraphQL(QUERY, connection="/data/teams"),
            poll=rest.Since("/changed", variable="since", key_columns=["name"], interval="100ms"),
            team="/name",
        )
        members = epochal.read.rest(
            spark,
            api.url.replace("comments", "teams/${team}"),
            each=teams,
            schema="id INT, team STRING",
            pages=rest.NoPages(key="/id"),
        )
        query = epochal.write.jdbc(members, sqlite.url, table="members", create_table=True, checkpoint=checkpoint)

        def rows() -> list[tuple[object, ...]]:
            return sqlite.query("SELECT id, team FROM members ORDER BY id") if "members" in sqlite.tables() else []

        api.records = [member(1, "red", 1), member(2, "blue", 2)]
        until(lambda: rows() == [(1, "red"), (2, "blue")], "the members of both teams")
        api.records += [member(3, "green", 3)]
        until(lambda: rows() == [(1, "red"), (2, "blue"), (3, "green")], "the member of a new team")
        until(lambda: api.asked[-1] == "2026-01-03T00:00:00Z", "a poll for later teams")
        query.stop()
        assert api.asked[0] is None


def test_the_value_has_one_place() -> None:
    places: list[tuple[dict[str, Any], str]] = [
        ({}, r"'param' of rest.Since is not given, nor is body"),
        ({"body": "/at"}, "body without start"),
        ({"param": "since", "variable": "since"}, "param, variable"),
    ]
    for place, says in places:
        with pytest.raises(epochal.OptionError, match=says):
            rest.Since("/at", key_columns=["id"], **place)


def test_a_parent_may_be_read_by_what_has_changed() -> None:
    since = rest.Since("/at", variable="since", key_columns=["id"])
    options = {one.option: one.text for one in rest.Each("https://api/repos", repo="/name", poll=since)._options()}
    assert options["parent.sinceField"] == "/at"
    assert options["parent.sinceVariable"] == "since"
    assert options["parent.keyColumns"] == "id"
