"""A start that fails succeeds when its hint is followed: the text of the message is typed as it stands.

Each hint is followed in Python's words by the helpers, and in those of Spark's API by ``.option(…)``.
``test_hint_words.py`` checks the names in all other hints, which are not provoked here.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import ingest, jdbc, rest
from epochal.__main__ import main
from support.api import Answer, Request, serve
from support.databases import Sqlite
from support.hint_world import INGEST, JDBC, REST, Says, World, says
from support.hints import Caller, instructions, typed
from support.places import ROOT

pytestmark = pytest.mark.slow

CONDITIONS = json.loads((ROOT / "python/src/epochal/conditions.json").read_text("utf-8"))


@pytest.fixture
def world(spark: SparkSession, sqlite: Sqlite, tmp_path: Path) -> Iterator[World]:
    records = [{"id": number, "name": f"name {number}"} for number in range(5)]
    with serve(Says(records=records)) as api, closing(socket.create_server(("127.0.0.1", 0))) as used:
        yield World(spark, api, sqlite, tmp_path, used.getsockname()[1])


@dataclass(frozen=True)
class Scene:
    """A start that fails with a condition.

    Attributes:
        follow: a part of each instruction of the hint that is followed, each in a world of its own; an instruction that
            leaves the value to the user is followed by a value. Of a hint that is made in code, the whole instruction.
        kinds: classes of the values that the start is given, which decide the spelling of an option.
        leave_out: arguments that the hint says to leave out.
    """

    condition: str
    form: str
    start: Callable[[World, Caller], None]
    follow: tuple[str, ...]
    prepare: Callable[[World], None] = lambda world: None
    kinds: tuple[type, ...] = field(default=(rest.NoPages, rest.Json))
    leave_out: tuple[str, ...] = ()


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


OFFSET = rest.Offset(size=2)
NEXT = rest.NextUrl(next="/next")
ITEMS = rest.Json("/items")
SOME = "IF(id < 5, NULL, id)"
LEDGER = "DELETE FROM epochal_ledger"
RECREATE = ("DROP TABLE t", "CREATE TABLE t (id BIGINT, value TEXT)")

SCENES = [
    Scene("SCHEMA_REQUIRED", REST, lambda w, c: w.read(c, schema=None), ("{schema:", "inferSchema=true")),
    Scene(
        "SCHEMA_INFERENCE_FAILED",
        REST,
        lambda w, c: w.read(c, schema=None, infer_schema=True),
        ("{schema:",),
        lambda w: w.api.records.clear(),
        leave_out=("infer_schema",),
    ),
    Scene(
        "SCHEMA_CHANGED",
        REST,
        lambda w, c: w.copy(c, schema=None, infer_schema=True),
        ("{schema:",),
        copied(lambda w: w.api.records[0].update(more=1), schema=None, infer_schema=True),
        leave_out=("infer_schema",),
    ),
    Scene(
        "RECORDS_NOT_FOUND",
        REST,
        lambda w, c: w.read(c, records=rest.Json("/rows")),
        ("records=/data/items", "missingRecords=empty"),
        reply(lambda api, request: says({"data": {"items": api.records}})),
    ),
    Scene(
        "CSV_HEADER_MISMATCH",
        REST,
        lambda w, c: w.read(c, records=rest.Csv()),
        ("header=false",),
        reply(lambda api, request: (200, b"1,a\n2,b\n", {"Content-Type": "text/csv"})),
        (rest.NoPages, rest.Csv),
    ),
    Scene(
        "PAGINATION_LOOP",
        REST,
        lambda w, c: w.read(c, pages=NEXT, records=ITEMS),
        ("endOfList=repeated",),
        reply(lambda api, request: says({"items": api.records, "next": api.url})),
        (rest.NextUrl, rest.Json),
    ),
    Scene(
        "CONTINUATION_MISSING",
        REST,
        lambda w, c: w.read(c, pages=NEXT, records=ITEMS),
        ("endOfList=assumed",),
        reply(lambda api, request: says({"items": api.records})),
        (rest.NextUrl, rest.Json),
    ),
    Scene(
        "LIST_INCOMPLETE",
        REST,
        lambda w, c: w.read(c, records=ITEMS),
        ("endOfList=assumed",),
        reply(lambda api, request: says({"items": api.records, "next": f"{api.url}?page=2"})),
    ),
    Scene(
        "LIST_SHIFTED",
        REST,
        lambda w, c: w.copy(c, pages=OFFSET),
        ("keyField=/id", "onDrift=warn", "onDrift=restart"),
        copied(gain_a_field, pages=OFFSET),
        (rest.Offset, rest.Json),
    ),
    Scene(
        "PAGE_REFUSED",
        REST,
        lambda w, c: w.read(c, pages=OFFSET),
        ("ignoreStatuses=",),
        reply(two_pages_at_most),
        (rest.Offset, rest.Json),
    ),
    Scene(
        "RECORD_INVALID",
        REST,
        lambda w, c: w.read(c),
        ("mode=PERMISSIVE", "mode=DROPMALFORMED"),
        lambda w: w.api.records.append({"id": "x"}),
    ),
    Scene(
        "COLUMNS_MISSING",
        REST,
        lambda w, c: w.read(c, schema="id INT, nme STRING", records=rest.Json(require_columns=True)),
        ("requireColumns=false",),
    ),
    Scene(
        "SOURCE_CHANGED",
        REST,
        lambda w, c: w.copy(c, url=f"{w.api.url}/all"),
        ("'{option:sourceId}' to",),
        copied(lambda w: None),
    ),
    Scene(
        "DATA_LOSS",
        REST,
        lambda w, c: w.copy(c, pages=OFFSET),
        ("failOnDataLoss=false",),
        copied(lose_records, pages=OFFSET),
        (rest.Offset, rest.Json),
    ),
    Scene(
        "TOO_MANY_PAGES",
        REST,
        lambda w, c: w.read(c, pages=rest.NextUrl(next="/next", max_pages=1), records=ITEMS),
        ("{option:maxPages}=5",),
        reply(
            lambda api, request: says({"items": api.records, "next": None if request.params else f"{api.url}?page=2"})
        ),
        (rest.NextUrl, rest.Json),
    ),
    Scene(
        "HTTP_RESPONSE_TOO_LARGE",
        REST,
        lambda w, c: w.read(c, http=epochal.Http(max_response_bytes=10)),
        ("{option:maxResponseBytes}=1m",),
    ),
    Scene("PORT_UNAVAILABLE", INGEST, lambda w, c: w.listen(c, port=w.port), ("port=0",), kinds=(ingest.Tcp,)),
    Scene(
        "LISTENER_EXPOSED",
        INGEST,
        lambda w, c: w.listen(c, port=0, host="0.0.0.0"),
        ("host=127.0.0.1",),
        kinds=(ingest.Tcp,),
    ),
    Scene("TABLE_MISSING", JDBC, lambda w, c: w.store(c), ("createTable=true",)),
    Scene(
        "COLUMN_MISSING",
        JDBC,
        lambda w, c: w.store(c),
        ("{option:addColumns=true}",),
        lambda w: w.database.execute("CREATE TABLE t (id BIGINT)"),
    ),
    Scene(
        "KEY_COLUMNS_REQUIRED",
        JDBC,
        lambda w, c: w.store(c, output_mode="update"),
        ("keyColumns=id",),
        lambda w: w.database.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, value TEXT)"),
    ),
    Scene(
        "DUPLICATE_KEYS",
        JDBC,
        lambda w, c: w.store(c, id="id % 2", create_table=True, mode=jdbc.Upsert(key_columns=["id"])),
        ("{option:orderColumn}=value",),
        kinds=(jdbc.Upsert,),
    ),
    Scene(
        "BAD_ROW",
        JDBC,
        lambda w, c: w.store(c, id=SOME),
        ("{option:deadLetterTable}=bad",),
        lambda w: w.database.execute("CREATE TABLE t (id BIGINT NOT NULL, value TEXT)"),
    ),
    Scene(
        "TOO_MANY_BAD_ROWS",
        JDBC,
        lambda w, c: w.store(c, id=SOME, dead_letters=jdbc.DeadLetters(table="bad", max_rows=1)),
        ("{option:maxBadRows}=100",),
        lambda w: w.database.execute("CREATE TABLE t (id BIGINT NOT NULL, value TEXT)"),
    ),
    Scene(
        "KEY_COMPARISON_MISMATCH",
        JDBC,
        lambda w, c: w.store(c, mode=jdbc.Upsert(key_columns=["value"])),
        ("keyComparison=database",),
        lambda w: w.database.execute("CREATE TABLE t (id BIGINT, value TEXT COLLATE NOCASE PRIMARY KEY)"),
        (jdbc.Upsert,),
    ),
    Scene(
        "EPOCH_TOO_LARGE",
        JDBC,
        lambda w, c: w.store(c, create_table=True, transport=jdbc.Transport(kind="inline", inline_max_bytes="20")),
        ("",),
        leave_out=("transport",),
    ),
    Scene(
        "QUERY_CHANGED",
        JDBC,
        lambda w, c: w.store(c, checkpoint="b"),
        ("onNewQuery=append:", "onNewQuery=replace"),
        lambda w: w.stored(),
    ),
    Scene(
        "LEDGER_EMPTY",
        JDBC,
        lambda w, c: w.store(c, 30),
        ("onLedgerEmpty=skip:", "onLedgerEmpty=write:"),
        lambda w: w.stored(LEDGER, count=20),
    ),
    Scene(
        "TARGET_SHARED",
        JDBC,
        lambda w, c: w.store(c, checkpoint="b", sink_id="other"),
        ("onNewQuery=append:",),
        lambda w: w.stored(),
    ),
    Scene(
        "TARGET_SHARED",
        JDBC,
        lambda w, c: w.store(c, 20, sink_id="other"),
        ("{option:sinkId} to",),
        lambda w: w.stored(),
    ),
    Scene("TARGET_CHANGED", JDBC, lambda w, c: w.store(c, 20), ("onNewQuery=append:",), lambda w: w.stored(*RECREATE)),
    Scene(
        "ORDER_NOT_REPEATABLE",
        "epochal-rest sink",
        lambda w, c: c.write(
            "epochal-rest sink", w.rows().repartition(2), url=w.api.url, checkpoint=w.place / "sent", sink_id="s"
        ),
        ("idempotencyHeader=none",),
        reply(lambda api, request: says({})),
    ),
]
FOLLOWED = [
    pytest.param(scene, part, id=f"{scene.condition} {part.strip(chr(39)).removeprefix('{option:')}".strip())
    for scene in SCENES
    for part in scene.follow
]


def failed(scene: Scene, world: World, caller: Caller) -> epochal.EpochalError:
    with pytest.raises(epochal.EpochalError) as caught, epochal.errors.named():
        scene.start(world, caller)
    assert caught.value.condition == scene.condition
    return caught.value


@pytest.mark.parametrize("python", [True, False], ids=["python", "options"])
@pytest.mark.parametrize(("scene", "part"), FOLLOWED)
def test_a_start_succeeds_when_its_hint_is_followed(scene: Scene, part: str, python: bool, world: World) -> None:
    scene.prepare(world)
    caller = Caller(world.spark, python)
    error = failed(scene, world, caller)
    name, chosen, value = part.partition("}=")
    given = instructions(CONDITIONS[scene.condition]["hint"])
    if chosen:
        assert f"{name}}}" in given
        assert caller.spelled(f"{name}}}", scene.form, scene.kinds) in error.hint
        caller.type(scene.form, caller.spelled(f"{name}={value}}}", scene.form, scene.kinds))
    elif part:
        (template,) = [one for one in given if part in one] or [part]
        caller.type(scene.form, typed(error.hint, caller.spelled(template, scene.form, scene.kinds)))
    caller.leave_out(*scene.leave_out)
    scene.start(world, caller)


def test_the_statement_of_a_hint_makes_the_index(world: World) -> None:
    world.database.execute("CREATE TABLE t (id BIGINT, value TEXT)")
    scene = Scene("KEY_NOT_UNIQUE", JDBC, lambda w, c: w.store(c, mode=jdbc.Upsert(key_columns=["id"])), ())
    error = failed(scene, world, Caller(world.spark, python=True))
    match = re.search(r"(CREATE .*)\.$", error.hint)
    assert match, error.hint
    world.database.execute(match[1])
    scene.start(world, Caller(world.spark, python=True))


def test_the_command_of_a_hint_rewinds_the_checkpoint(world: World) -> None:
    world.stored("CREATE TABLE saved AS SELECT * FROM epochal_ledger", count=20)
    world.store(Caller(world.spark, python=True), 40)
    world.database.execute("DELETE FROM t WHERE id >= 20", LEDGER, "INSERT INTO epochal_ledger SELECT * FROM saved")
    world.database.execute("DELETE FROM epochal_ledger_history WHERE epoch > 1")
    scene = Scene("EPOCH_GAP", JDBC, lambda w, c: w.store(c, 50), ())
    error = failed(scene, world, Caller(world.spark, python=True))
    match = re.search(r"epochal (checkpoint rewind .*)$", error.hint)
    assert match, error.hint
    command = shlex.split(match[1].replace("CHECKPOINT", str(world.place / "a")))
    assert main([*command, "--yes", "--stopped"]) == 0
    scene.start(world, Caller(world.spark, python=True))
    assert world.database.query("SELECT count(*), count(DISTINCT id) FROM t") == [(50, 50)]
