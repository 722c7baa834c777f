"""A start that fails succeeds when its hint is followed: the text of the message is typed as it stands.

Each hint is followed in Python's words by the helpers, and in those of Spark's API by ``.option(…)``.
``test_hint_words.py`` checks the names in all other hints, which are not provoked here.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import ingest, jdbc, rest
from epochal.__main__ import main
from epochal._declarations import FORMS
from support.api import Answer, Request, serve
from support.databases import Sqlite
from support.hint_world import INGEST, JDBC, REST, REST_SINK, Says, World, says
from support.hints import Caller, instructions, typed
from support.places import ROOT

pytestmark = pytest.mark.slow

CONDITIONS = json.loads((ROOT / "python/src/epochal/conditions.json").read_text("utf-8"))


@pytest.fixture
def world(spark: SparkSession, sqlite: Sqlite, tmp_path: Path) -> Iterator[World]:
    records = [{"id": number, "name": f"name {number}"} for number in range(5)]
    with serve(Says(records=records)) as api, closing(socket.create_server(("127.0.0.1", 0))) as used:
        yield World(spark, api, sqlite, tmp_path, used.getsockname()[1])


#: Forms of the starts that are not of a REST source.
OTHER_FORMS: Mapping[Callable[..., None], str] = {World.listen: INGEST, World.store: JDBC, World.send: REST_SINK}


@dataclass(frozen=True)
class Scene:
    """A start that fails with a condition.

    Attributes:
        start: a method of the world.
        follow: a part of each instruction of the hint that is followed, each in a world of its own; an instruction that
            leaves the value to the user is followed by a value. Of a hint that is made in code, the whole instruction.
        leave_out: arguments that the hint says to leave out.
        given: arguments of the start; what the world decides, as a function of it.
    """

    condition: str
    start: Callable[..., None]
    follow: tuple[str, ...]
    prepare: Callable[[World], None]
    leave_out: tuple[str, ...]
    given: Mapping[str, Any]

    @property
    def form(self) -> str:
        return OTHER_FORMS.get(self.start, REST)

    def kinds(self, world: World) -> tuple[type, ...]:
        """Classes of the values that the start is given, which decide the spelling of an option."""
        form, given = FORMS[self.form], self.arguments(world)
        known = {name: value for name, value in given.items() if name in form.plain or name in form.values}
        return form.kinds(form.options(known, None).get)

    def arguments(self, world: World) -> dict[str, Any]:
        return {name: value(world) if callable(value) else value for name, value in self.given.items()}

    def run(self, world: World, caller: Caller) -> None:
        self.start(world, caller, **self.arguments(world))


def scene(
    condition: str,
    start: Callable[..., None],
    *follow: str,
    prepare: Callable[[World], None] = lambda world: None,
    leave_out: tuple[str, ...] = (),
    **given: Any,
) -> Scene:
    return Scene(condition, start, follow, prepare, leave_out, given)


def reply(answer: Callable[[Says, Request], Answer]) -> Callable[[World], None]:
    def set_reply(world: World) -> None:
        world.api.reply = answer

    return set_reply


def copied(change: Callable[[World], None], **given: Any) -> Callable[[World], None]:
    """Delivers the API's records once, then changes the world."""

    def prepare(world: World) -> None:
        world.copy(Caller(world.spark, python=True), **given)
        change(world)

    return prepare


def gain_a_field(world: World) -> None:
    world.api.records[-1] = {**world.api.records[-1], "more": 1}


def lose_records(world: World) -> None:
    del world.api.records[2:]


def two_pages_at_most(api: Says, request: Request) -> Answer:
    return says(api.page(request.params)) if int(request.params["_start"]) < 4 else (400, b"no such page", {})


def create(columns: str) -> Callable[[World], None]:
    return lambda world: world.database.execute(f"CREATE TABLE t ({columns})")


def stored(*statements: str, count: int = 10) -> Callable[[World], None]:
    return lambda world: world.stored(*statements, count=count)


OFFSET = rest.Offset(size=2)
NEXT = rest.NextUrl(next="/next")
ITEMS = rest.Json("/items")
SOME = "IF(id < 5, NULL, id)"
LEDGER = "DELETE FROM epochal_ledger"
RECREATE = ("DROP TABLE t", "CREATE TABLE t (id BIGINT, value TEXT)")
INFERRED: dict[str, Any] = {"schema": "infer"}
read, copy, store = World.read, World.copy, World.store

SCENES = [
    scene("SCHEMA_REQUIRED", read, "{schema:", "inferSchema=true", schema=None),
    scene(
        "SCHEMA_INFERENCE_FAILED",
        read,
        "{schema:",
        prepare=lambda w: w.api.records.clear(),
        leave_out=("schema",),
        **INFERRED,
    ),
    scene(
        "SCHEMA_CHANGED",
        copy,
        "{schema:",
        prepare=copied(lambda w: w.api.records[0].update(more=1), **INFERRED),
        leave_out=("schema",),
        **INFERRED,
    ),
    scene(
        "RECORDS_NOT_FOUND",
        read,
        "records=<array>",
        "missingRecords=empty",
        prepare=reply(lambda api, request: says({"tags": [], "data": api.records})),
        records=rest.Json("/rows"),
    ),
    scene(
        "CSV_HEADER_MISMATCH",
        read,
        "header=false",
        prepare=reply(lambda api, request: (200, b"1,a\n2,b\n", {"Content-Type": "text/csv"})),
        records=rest.Csv(),
    ),
    scene(
        "PAGINATION_LOOP",
        read,
        "endOfList=repeated",
        prepare=reply(lambda api, request: says({"items": api.records, "next": api.url})),
        pages=NEXT,
        records=ITEMS,
    ),
    scene(
        "CONTINUATION_MISSING",
        read,
        "endOfList=assumed",
        prepare=reply(lambda api, request: says({"items": api.records})),
        pages=NEXT,
        records=ITEMS,
    ),
    scene(
        "LIST_INCOMPLETE",
        read,
        "endOfList=assumed",
        prepare=reply(lambda api, request: says({"items": api.records, "next": f"{api.url}?page=2"})),
        records=ITEMS,
    ),
    scene(
        "LIST_SHIFTED",
        copy,
        "keyField=/id",
        "onDrift=warn",
        "onDrift=restart",
        prepare=copied(gain_a_field, pages=OFFSET),
        pages=OFFSET,
    ),
    scene("PAGE_REFUSED", read, "ignoreStatuses=", prepare=reply(two_pages_at_most), pages=OFFSET),
    scene(
        "RECORD_INVALID",
        read,
        "mode=PERMISSIVE",
        "mode=DROPMALFORMED",
        prepare=lambda w: w.api.records.append({"id": "x"}),
    ),
    scene(
        "COLUMNS_MISSING",
        read,
        "requireColumns=false",
        schema="id INT, nme STRING",
        records=rest.Json(require_columns=True),
    ),
    scene(
        "SOURCE_CHANGED",
        copy,
        "'{option:sourceId}' to",
        prepare=copied(lambda w: None),
        url=lambda w: f"{w.api.url}/all",
    ),
    scene("DATA_LOSS", copy, "failOnDataLoss=false", prepare=copied(lose_records, pages=OFFSET), pages=OFFSET),
    scene(
        "TOO_MANY_PAGES",
        read,
        "{option:maxPages}=5",
        prepare=reply(
            lambda api, request: says({"items": api.records, "next": None if request.params else f"{api.url}?page=2"})
        ),
        pages=rest.NextUrl(next="/next", max_pages=1),
        records=ITEMS,
    ),
    scene("HTTP_RESPONSE_TOO_LARGE", read, "{option:maxResponseBytes}=1m", http=epochal.Http(max_response_bytes=10)),
    scene("PORT_UNAVAILABLE", World.listen, "port=0", protocol=lambda w: ingest.Tcp(port=w.port)),
    scene("LISTENER_EXPOSED", World.listen, "host=127.0.0.1", protocol=ingest.Tcp(port=0, host="0.0.0.0")),
    scene("TABLE_MISSING", store, "createTable=true"),
    scene("COLUMN_MISSING", store, "{option:addColumns=true}", prepare=create("id BIGINT")),
    scene(
        "KEY_COLUMNS_REQUIRED",
        store,
        "keyColumns=id",
        prepare=create("id BIGINT PRIMARY KEY, value TEXT"),
        output_mode="update",
    ),
    scene(
        "DUPLICATE_KEYS",
        store,
        "{option:orderColumn}=value",
        id="id % 2",
        create_table=True,
        mode=jdbc.Upsert(key_columns=["id"]),
    ),
    scene("BAD_ROW", store, "{option:deadLetterTable}=bad", prepare=create("id BIGINT NOT NULL, value TEXT"), id=SOME),
    scene(
        "TOO_MANY_BAD_ROWS",
        store,
        "{option:maxBadRows}=100",
        prepare=create("id BIGINT NOT NULL, value TEXT"),
        id=SOME,
        dead_letters=jdbc.DeadLetters(table="bad", max_rows=1),
    ),
    scene(
        "KEY_COMPARISON_MISMATCH",
        store,
        "keyComparison=database",
        prepare=create("id BIGINT, value TEXT COLLATE NOCASE PRIMARY KEY"),
        mode=jdbc.Upsert(key_columns=["value"]),
    ),
    scene(
        "EPOCH_TOO_LARGE",
        store,
        "",
        leave_out=("transport",),
        create_table=True,
        transport=jdbc.Transport(kind="inline", inline_max_bytes="20"),
    ),
    scene("QUERY_CHANGED", store, "onNewQuery=append:", "onNewQuery=replace", prepare=stored(), checkpoint="b"),
    scene(
        "LEDGER_EMPTY",
        store,
        "onLedgerEmpty=skip:",
        "onLedgerEmpty=write:",
        prepare=stored(LEDGER, count=20),
        count=30,
    ),
    scene("TARGET_SHARED", store, "onNewQuery=append:", prepare=stored(), checkpoint="b", sink_id="other"),
    scene("TARGET_SHARED", store, "{option:sinkId} to", prepare=stored(), count=20, sink_id="other"),
    scene("TARGET_CHANGED", store, "onNewQuery=append:", prepare=stored(*RECREATE), count=20),
    scene(
        "ORDER_NOT_REPEATABLE",
        World.send,
        "idempotencyHeader=none",
        prepare=reply(lambda api, request: says({})),
    ),
]
FOLLOWED = [
    pytest.param(scene, part, id=f"{scene.condition} {part.strip(chr(39)).removeprefix('{option:')}".strip())
    for scene in SCENES
    for part in scene.follow
]


def failed(scene: Scene, world: World, caller: Caller) -> epochal.EpochalError:
    with pytest.raises(epochal.EpochalError) as caught, epochal.errors.named():
        scene.run(world, caller)
    assert caught.value.condition == scene.condition
    return caught.value


@pytest.mark.parametrize("python", [True, False], ids=["python", "options"])
@pytest.mark.parametrize(("scene", "part"), FOLLOWED)
def test_a_start_succeeds_when_its_hint_is_followed(scene: Scene, part: str, python: bool, world: World) -> None:
    scene.prepare(world)
    caller = Caller(world.spark, python)
    error = failed(scene, world, caller)
    kinds = scene.kinds(world)
    name, chosen, value = part.partition("}=")
    given = instructions(CONDITIONS[scene.condition]["hint"])
    if chosen:
        assert f"{name}}}" in given
        assert caller.spelled(f"{name}}}", scene.form, kinds) in error.hint
        caller.type(scene.form, caller.spelled(f"{name}={value}}}", scene.form, kinds))
    elif part:
        (template,) = [one for one in given if part in one] or [part]
        caller.type(scene.form, typed(error.hint, caller.spelled(template, scene.form, kinds)))
    caller.leave_out(*scene.leave_out)
    scene.run(world, caller)


def test_the_statement_of_a_hint_makes_the_index(world: World) -> None:
    world.database.execute("CREATE TABLE t (id BIGINT, value TEXT)")
    known = scene("KEY_NOT_UNIQUE", store, mode=jdbc.Upsert(key_columns=["id"]))
    error = failed(known, world, Caller(world.spark, python=True))
    match = re.search(r"(CREATE .*)\.$", error.hint)
    assert match, error.hint
    world.database.execute(match[1])
    known.run(world, Caller(world.spark, python=True))


def test_the_command_of_a_hint_rewinds_the_checkpoint(world: World) -> None:
    world.stored("CREATE TABLE saved AS SELECT * FROM epochal_ledger", count=20)
    world.store(Caller(world.spark, python=True), 40)
    world.database.execute("DELETE FROM t WHERE id >= 20", LEDGER, "INSERT INTO epochal_ledger SELECT * FROM saved")
    world.database.execute("DELETE FROM epochal_ledger_history WHERE epoch > 1")
    known = scene("EPOCH_GAP", store, count=50)
    error = failed(known, world, Caller(world.spark, python=True))
    match = re.search(r"epochal (checkpoint rewind .*)$", error.hint)
    assert match, error.hint
    command = shlex.split(match[1].replace("CHECKPOINT", str(world.place / "a")))
    assert main([*command, "--yes", "--stopped"]) == 0
    known.run(world, Caller(world.spark, python=True))
    assert world.database.query("SELECT count(*), count(DISTINCT id) FROM t") == [(50, 50)]
