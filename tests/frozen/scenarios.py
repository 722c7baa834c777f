"""The queries that a frozen set holds, one for each durable format.

A name stays for good, and so does what its query reads and writes: sets of earlier releases are resumed by it. A source
grows in three parts: the first is committed before the driver is killed, the second is begun then, and the third is new
when the query is resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import epochal
from crash.cases import PARTITIONS, SHAPES, TRANSPORTS, frame
from epochal import Http, Limits, Proxy, ingest, rest
from frozen.scenario import API, CONTINUOUS, PARTS, REAL_TIME, TABLE, Place, Read, Scenario, query_id
from support.api import Api, Record
from support.data import SCHEMA, as_rows, comments
from support.databases import Row
from support.pages import POSTS, ChainedApi, PostsApi, posts


def listed(
    pages: Any, records: Any = None, *, schema: str | None = SCHEMA, size: int = 7, select: str = "*", **more: Any
) -> Read:
    """The records of an API, seven in each micro-batch; the API's pages have ten. ``pages`` may depend on the place."""

    def read(spark: SparkSession, place: Place) -> DataFrame:
        chosen: Any = pages(place) if callable(pages) else pages
        rows = epochal.read.rest(
            spark,
            API,
            schema=schema,
            pages=chosen,
            records=records or rest.Json("/data"),
            limits=Limits(rows=size),
            http=Http(proxy=Proxy(url=place.api)),
            num_partitions=2,
            **more,
        )
        return rows.selectExpr(*select.split(", "))

    return read


def dated() -> Api:
    """One record every 120 days from the year 2000 on."""
    start = datetime(2000, 1, 1, tzinfo=timezone.utc)
    return ChainedApi(moments=[int((start + timedelta(days=120 * n)).timestamp() * 1000) for n in range(PARTS[2])])


def whole(part: int) -> list[Record]:
    return comments(1, PARTS[2])


def windows(place: Place) -> rest.TimeWindow:
    """Four years each. The clock of the day on which a set is resumed decides nothing: the last record is of 2022."""
    return rest.TimeWindow(
        start="2000-01-01T00:00:00Z",
        length="1461d",
        lag=("3600d", "2500d", "1m")[place.part],
        overlap="500d",
        key_columns=["id"],
        format="epoch-millis",
        pages=CURSOR,
    )


def timed(part: int) -> list[Record]:
    return [one | {"at": f"2026-01-01T12:00:{one['id'] % 60:02}Z"} for one in comments(1, PARTS[part])]


def replaced(part: int) -> list[Record]:
    """From part 1 on another list."""
    return comments(1, PARTS[0]) if part == 0 else comments(101, PARTS[part])


def numbers(**more: Any) -> Read:
    """``epochal-random``, in two partitions."""

    def read(spark: SparkSession, place: Place) -> DataFrame:
        given: dict[str, Any] = {"max_rows": place.end, "num_partitions": PARTITIONS} | more
        rows = epochal.read.random(spark, seed=7, **given)
        return rows.selectExpr("id", "value", "length", "CAST(timestamp AS STRING) AS at")

    return read


def all_numbers(spark: SparkSession, count: int = PARTS[2], **pace: Any) -> list[Row]:
    """As a batch reads them."""
    rows = epochal.read.random(spark, seed=7, max_rows=count, streaming=False, **(pace or {"rows_per_batch": 10}))
    return [tuple(row) for row in rows.selectExpr("id", "value", "length", "CAST(timestamp AS STRING) AS at").collect()]


def some_bad(spark: SparkSession, place: Place) -> DataFrame:
    """Each tenth row cannot be stored."""
    rows = numbers(rows_per_batch=10)(spark, place)
    return rows.selectExpr("id", "IF(id % 10 = 3, concat(value, char(0)), value) AS value")


def good_and_bad(spark: SparkSession) -> list[Row]:
    return [(number, "refused" if number % 10 == 3 else value) for number, value, *_ in all_numbers(spark)]


def taking_turns(place: Place) -> dict[str, Any]:
    """In the second part another query takes the sink over, and in the third the first one is back."""
    first, other = place.checkpoint, Path(place.directory) / "other"
    before = {1: first, 2: other}.get(place.part)
    taken = {"onNewQuery": f"append:{query_id(before)}"} if before else {}
    return {"sink_id": "shared", "options": taken, "checkpoint": other if place.part == 1 else first}


def lines(part: int, since: int = 0) -> list[str]:
    """What clients have sent at the end of a part."""
    return [f"line {number} é😀" for number in range(since, PARTS[part])]


def received(protocol: Callable[[int], Any], journal: ingest.Journal | None = None) -> Read:
    """What clients send to a listener."""

    def read(spark: SparkSession, place: Place) -> DataFrame:
        rows = epochal.read.ingest(spark, protocol=protocol(place.port), journal=journal, num_partitions=1)
        return rows.selectExpr("value", "coalesce(stream, '') AS stream", "coalesce(headers['X-Event'], '') AS event")

    return read


def shaped(mode: str) -> Read:
    def read(spark: SparkSession, place: Place) -> DataFrame:
        return frame(spark, SHAPES[mode], max_rows=20 * (2, 3, 5)[place.part])

    return read


def into(target: str, transport: str, mode: str, step: str = "commit.before", suffix: str = "") -> Scenario:
    """A shape of ``crash/cases.py`` into a database."""
    shape = SHAPES[mode]
    options = dict(TRANSPORTS[transport])
    write: dict[str, Any] = {"options": options}
    for key, value in shape.write.items():
        (write if key == "output_mode" else options)[key] = value
    return Scenario(
        f"{target}-{transport}-{mode}{suffix}",
        f"ledger of {target}, transport {transport}, {mode}, killed at {step or 'the end'}",
        shaped(mode),
        rows=lambda spark: shape.expected(100),
        write=write | {"sink_id": f"{transport}-{mode}"},
        columns=shape.columns if target in ("sqlite", "postgres") else "",
        target=target,
        step=step,
    )


CURSOR = rest.Cursor(next="/meta/next", param="after", has_more="/meta/more")
KEYSET = rest.Keyset(key="/id", param="since")
COUNTED = rest.Offset(size=10)
COLUMNS = "CAST(postId AS INT) AS postId, CAST(id AS INT) AS id, name, email, body"
OF_POST: dict[str, Any] = {"params": {"postId": "${post}"}, "each": rest.Each(table=[{"post": post} for post in POSTS])}
FOLLOWED = listed(KEYSET, poll=rest.Poll(interval="100ms"))
ENDLESS: dict[str, Any] = {"step": "flush.after-commit", "target": "postgres"}


def of_api(name: str, freezes: str, read: Read, api: Callable[[], Api] = ChainedApi, **more: Any) -> Scenario:
    return Scenario(f"rest-{name}", freezes, read, api=api, **more)


def of_posts(name: str, freezes: str, pages: Any) -> Scenario:
    return of_api(
        name,
        freezes,
        listed(pages, **OF_POST),
        PostsApi,
        records=lambda part: posts(1, PARTS[part]),
        rows=lambda spark: as_rows(posts(1, PARTS[2])),
    )


def followed_numbers(name: str, trigger: str, target: str) -> Scenario:
    """300 rows, 20 in each second."""
    return Scenario(
        f"{name}-{trigger.split()[0].replace('T', '-t')}",
        f"offset of partitions that differ; progress and boundaries of two of them on {target}",
        numbers(rows_per_second=20, max_rows=300),
        rows=lambda spark: all_numbers(spark, 300, rows_per_second=20),
        trigger=trigger,
        step="flush.after-commit",
        target=target,
    )


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        of_api("none", "offset: no pages", listed(rest.NoPages(), rest.Json(), size=7), Api),
        of_api("offset", "offset: counted, with marks", listed(COUNTED)),
        of_api(
            "page",
            "offset: counted by page; inferred schema",
            listed(rest.Page(size=10), schema="infer", select=COLUMNS),
        ),
        of_api(
            "event-time",
            "event time in an offset and beside it",
            listed(
                COUNTED,
                rest.Json("/data", event_time_column="at"),
                schema=f"{SCHEMA}, at TIMESTAMP",
                select=COLUMNS,
            ),
            records=timed,
        ),
        of_api(
            "restart",
            "offset: the second crawl of a list that was replaced",
            listed(rest.Offset(size=10, on_drift="restart")),
            records=replaced,
            rows=lambda spark: as_rows(replaced(0) + replaced(2)),
        ),
        of_api("offset-journal", "offset: counted, and journal of JSON", listed(rest.Offset(size=10, journal=True))),
        of_api(
            "cursor",
            "offset: cursor; journal with what metadata columns need",
            listed(CURSOR, rest.Json("/data", metadata_columns=["_url", "_status"]), select=f"{COLUMNS}, _status"),
            rows=lambda spark: [(*row, 200) for row in as_rows(comments(1, PARTS[2]))],
        ),
        of_api("keyset", "offset: keyset", listed(KEYSET)),
        of_api(
            "link-csv",
            "offset: Link header; journal of lines of CSV",
            listed(rest.Link(), rest.Csv(), params={"format": "csv"}),
        ),
        of_api("next-url", "offset: next URL", listed(rest.NextUrl(next="/meta/url"))),
        of_api(
            "windows",
            "offset: windows of time that overlap, the last one half read",
            listed(windows, poll=rest.Poll(max_bytes=1)),
            dated,
            records=whole,
        ),
        of_posts("fan-out", "offset: counted lists, one for each parameter", COUNTED),
        of_posts("fan-out-cursor", "offset and journals of cursors, one for each parameter", CURSOR),
        of_api("continuous", "feed, progress and boundaries", FOLLOWED, trigger=CONTINUOUS, **ENDLESS),
        of_api("real-time", "feed, progress and boundaries", FOLLOWED, trigger=REAL_TIME, **ENDLESS),
        Scenario(
            "random",
            "offset, initial offset, event time",
            numbers(rows_per_batch=10, event_time_column="timestamp"),
            rows=all_numbers,
            at_once=True,
        ),
        followed_numbers("random", CONTINUOUS, "postgres"),
        followed_numbers("random", REAL_TIME, "postgres"),
        Scenario(
            "ingest-tcp",
            "offset; acknowledged journal, with lines that no offset has",
            received(lambda port: ingest.Tcp(port, ack=True)),
            rows=lambda spark: [(text, "", "") for text in lines(2)],
            trigger="100 milliseconds",
        ),
        Scenario(
            "ingest-http",
            "the same with streams, headers and idempotency keys",
            received(lambda port: ingest.HttpServer(port, headers=["X-Event"]), ingest.Journal(dedup_window="36500d")),
            rows=lambda spark: [(text, "clicks", "push") for text in lines(2)],
            trigger="100 milliseconds",
        ),
        into("sqlite", "inline", "append", step="commit.after"),
        into("sqlite", "inline", "upsert"),
        into("sqlite", "spill", "append"),
        Scenario(
            "sqlite-dead-letters",
            "table of bad rows",
            some_bad,
            rows=good_and_bad,
            write={"options": {"deadLetterTable": "bad"}},
            look=f"SELECT id, value FROM {TABLE} UNION ALL SELECT json_extract(row_json, '$.id'), 'refused' FROM bad",
        ),
        Scenario(
            "sqlite-retired",
            "ledger's row of a query that another one has taken over from",
            numbers(rows_per_batch=10),
            rows=lambda spark: all_numbers(spark) + all_numbers(spark)[:10],
            write=taking_turns,
            step="commit.after",
        ),
        into("postgres", "inline", "append"),
        into("postgres", "staged", "upsert", step="commit.after"),
        into("postgres", "staged", "append"),
        into("postgres", "spill", "append"),
        into("postgres", "prepared", "append", step="prepared.before-commit"),
        into("postgres", "prepared", "keyed", step="task.prepared"),
        into("mariadb", "inline", "append", step="commit.after"),
        into("mariadb", "spill", "append"),
        followed_numbers("mariadb", CONTINUOUS, "mariadb"),
        into("mysql", "inline", "append"),
        followed_numbers("mysql", CONTINUOUS, "mysql"),
        into("h2", "inline", "append"),
        Scenario(
            "api-by-place",
            "keys by place of an API as a sink, and the requests of an epoch",
            numbers(rows_per_batch=10),
            rows=all_numbers,
            write={"batch": rest.Batch(rows=4)},
            target="api",
            step="",
        ),
        Scenario(
            "api-by-columns",
            "keys by columns",
            numbers(rows_per_batch=10),
            rows=all_numbers,
            write={"key_columns": ["id"], "sink_id": "orders"},
            target="api",
            step="",
        ),
    )
}
