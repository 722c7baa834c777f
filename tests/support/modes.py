"""Each trigger and output mode with each source and sink: outcome of the query, and the table of ``docs/modes.md``."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal import cdc, ingest, jdbc, rest
from epochal._start import OutputMode
from epochal._trigger import real_time, real_time_settings, set_real_time, triggered
from epochal.errors import from_spark
from support.api import Api
from support.databases import Postgres
from support.orders import Orders
from support.streams import numbers
from support.waiting import until

TRIGGERS = {
    "default": None,
    "processingTime": "50 milliseconds",
    "once": "once",
    "availableNow": "availableNow",
    "continuous": "continuous 200 milliseconds",
    "realTime": "realTime 300 milliseconds",
}
ENDING = ("once", "availableNow")
ENDLESS = ("continuous", "realTime")
OURS = ("epochal-random", "epochal-rest", "epochal-rest, journalled", "epochal-ingest", "epochal-cdc")
SPARKS = ("rate", "file", "socket")
SINKS = ("epochal-jdbc", "epochal-rest sink", "noop", "memory")
MODES: tuple[OutputMode, ...] = ("append", "update", "complete")
#: Sources that may have no row yet when an AvailableNow run starts.
LATER = ("epochal-ingest", "rate", "socket")
ROWS = 20

BEGIN, END = "<!-- written by make modes -->", "<!-- end -->"
_CONDITION = re.compile(r"\[([A-Z][A-Z_.]+)\]\s*([^\n]*)")
_VARIES = (
    (re.compile(r"https?://127\.0\.0\.1:\d+"), "http://…"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}"), "…"),
    (re.compile(r"\bt\d+\b"), "t"),
    (re.compile(r"\s*SQLSTATE: \w{5}\b.*"), ""),
)


@dataclass(frozen=True)
class Cell:
    source: str
    sink: str
    trigger: str
    mode: OutputMode


@dataclass(frozen=True)
class Outcome:
    """Outcome of a query.

    Attributes:
        condition: condition of its error; empty if it works, None if the error has no condition.
        reason: message of the error.
    """

    condition: str | None
    reason: str = ""


WORKS = Outcome("")


def pairs() -> list[tuple[str, str]]:
    """Pairs of source and sink: ours with every counterpart, and Spark's own with ours."""
    own = [(source, sink) for source in OURS for sink in SINKS]
    return own + [(source, sink) for source in SPARKS for sink in SINKS[:2]]


def cells() -> list[Cell]:
    sources = [Cell(source, sink, trigger, "append") for source, sink in pairs() for trigger in TRIGGERS]
    modes = [Cell(OURS[0], sink, trigger, mode) for sink in SINKS for trigger in TRIGGERS for mode in MODES]
    return list(dict.fromkeys([*sources, *modes]))


@dataclass
class Place:
    """Sources and targets for the queries of all cells."""

    spark: SparkSession
    directory: Path
    database: Postgres
    api: Api
    orders: Orders
    port: int
    names: Iterator[int] = field(default_factory=lambda: iter(range(10_000)))

    def begin(self, cell: Cell, name: str) -> StreamingQuery:
        frame = self.source(cell, name)
        if cell.mode == "complete":
            frame = frame.groupBy("id").count()
        given: dict[str, Any] = {
            "checkpoint": self.checkpoint(name),
            "trigger": TRIGGERS[cell.trigger],
            "output_mode": cell.mode,
        }
        match cell.sink:
            case "epochal-jdbc":
                keys = jdbc.Upsert(key_columns=["id"]) if cell.mode == "update" else None
                query: StreamingQuery | None = epochal.write.jdbc(
                    frame, self.database.url, table=name, user=self.database.user, create_table=True, mode=keys, **given
                )
            case "epochal-rest sink":
                query = epochal.write.rest(frame, self.orders.url, key_columns=["id"], **given)
            case other:
                query = self.begin_by_writer(frame, other, name, **given)
        assert query is not None
        return query

    def begin_by_writer(
        self, frame: DataFrame, sink: str, name: str, checkpoint: Path, trigger: str | None, output_mode: OutputMode
    ) -> StreamingQuery:
        """Spark's own sink, with the settings that the helpers make for ours."""
        writer = frame.writeStream.format(sink).outputMode(output_mode).queryName(name)
        writer = writer.option("checkpointLocation", str(checkpoint))
        interval = real_time(trigger)
        if interval is None:
            return (writer if trigger is None else triggered(writer, trigger)).start()
        set_real_time(writer, self.spark, interval, output_mode, frozenset())
        with real_time_settings(self.spark):
            return writer.start()

    def source(self, cell: Cell, name: str) -> DataFrame:
        """Two columns, ``id`` and ``word``, in one partition."""
        match cell.source:
            case "epochal-random":
                pace: dict[str, Any] = (
                    {"rows_per_second": 200} if cell.trigger in ENDLESS else {"rows_per_batch": 10, "max_rows": ROWS}
                )
                found = epochal.read.random(self.spark, num_partitions=1, **pace)
                return found.selectExpr("id", "value AS word")
            case "epochal-rest" | "epochal-rest, journalled":
                pages = rest.Offset(size=10, journal=cell.source != "epochal-rest")
                return epochal.read.rest(self.spark, self.api.url, schema="id BIGINT, word STRING", pages=pages)
            case "epochal-ingest":
                lines = epochal.read.ingest(self.spark, protocol=ingest.Tcp(self.port, mode="connect"))
            case "epochal-cdc":
                table, slot = f"{self.database.schema}.numbers", cdc.Slot(name)
                found = epochal.read.cdc(
                    self.spark, self.database.url, table=table, user=self.database.user, slot=slot, num_partitions=1
                )
                return found.select("id", "word")
            case "rate":
                rows = self.spark.readStream.format("rate").option("rowsPerSecond", 50).option("numPartitions", 1)
                return rows.load().selectExpr("value AS id", "'rate' AS word")
            case "file":
                lines = self.spark.readStream.text(str(self.directory / "lines"))
            case _:
                lines = (
                    self.spark.readStream.format("socket").option("host", "127.0.0.1").option("port", self.port).load()
                )
        return lines.selectExpr("CAST(value AS BIGINT) AS id", "value AS word")

    def checkpoint(self, name: str) -> Path:
        return self.directory / "checkpoints" / name

    def outcome(self, cell: Cell) -> Outcome:
        """Runs a query until it has delivered rows or has failed."""
        name = f"t{next(self.names)}"
        try:
            query = self.begin(cell, name)
            try:
                until(lambda: self.passed(cell, query, name), f"rows of {cell}", timeout=300)
            finally:
                query.stop()
                self.database.drop_slot(name)
        except Exception as error:
            return failure(error)
        return WORKS

    def passed(self, cell: Cell, query: StreamingQuery, name: str) -> bool:
        if (error := query.exception()) is not None:
            raise error
        if cell.trigger == "continuous":
            return len(numbers(self.checkpoint(name), "commits")) > 1
        rows = sum(progress["numInputRows"] for progress in query.recentProgress)
        if cell.trigger in ENDING:
            return not query.isActive and bool(rows > 0 or cell.source in LATER)
        return bool(rows > 0)

    def outcomes(self) -> dict[Cell, Outcome]:
        """Runs queries with short tasks four at a time, and queries with endless tasks sequentially."""
        endless = [cell for cell in cells() if cell.trigger in ENDLESS]
        others = [cell for cell in cells() if cell.trigger not in ENDLESS]
        with ThreadPoolExecutor(4) as threads:
            found = dict(zip(others, threads.map(self.outcome, others), strict=True))
        return found | {cell: self.outcome(cell) for cell in endless}


def failure(error: Exception) -> Outcome:
    ours = from_spark(error)
    if ours is not None:
        return Outcome(ours.condition, _settled(ours.problem))
    if isinstance(error, AssertionError):
        return Outcome(None, str(error))
    match = _CONDITION.search(str(error))
    return Outcome(match[1], _settled(match[2])) if match else Outcome(None, f"{type(error).__name__}: {error}"[:300])


def _settled(reason: str) -> str:
    """The text without parts that vary between runs."""
    for pattern, constant in _VARIES:
        reason = pattern.sub(constant, reason)
    return reason.strip()


def page(found: dict[Cell, Outcome]) -> str:
    """The part of the page that the outcomes decide: sources, sinks and modes with the same outcomes share a line."""
    reasons: list[str] = []

    def shown(cell: Cell) -> str:
        outcome = found[cell]
        if outcome == WORKS:
            return "yes"
        reason = f"`{outcome.condition}`: {_brief(outcome.reason)}"
        if reason not in reasons:
            reasons.append(reason)
        return f"no ({reasons.index(reason) + 1})"

    def row(source: str, sink: str, mode: OutputMode) -> str:
        batches = {trigger: shown(Cell(source, sink, trigger, mode)) for trigger in TRIGGERS if trigger not in ENDLESS}
        same = len(set(batches.values())) == 1
        first = batches["default"] if same else ", ".join(f"{trigger}: {one}" for trigger, one in batches.items())
        return " | ".join([first, *(shown(Cell(source, sink, trigger, mode)) for trigger in ENDLESS)])

    def table(lines: list[tuple[str, str, str]]) -> list[str]:
        seconds: dict[tuple[str, str], list[str]] = {}
        for first, second, outcomes in lines:
            seconds.setdefault((first, outcomes), []).append(second)
        firsts: dict[tuple[str, str], list[str]] = {}
        for (first, outcomes), several in seconds.items():
            firsts.setdefault((", ".join(several), outcomes), []).append(first)
        return [f"| {'; '.join(several)} | {second} | {outcomes} |" for (second, outcomes), several in firsts.items()]

    head = "micro-batches | continuous | real-time |\n|---|---|---|---|---|"
    sources = [(_source(source), _named(sink), row(source, sink, "append")) for source, sink in pairs()]
    sinks = [(_named(sink), f"`{mode}`", row(OURS[0], sink, mode)) for sink in SINKS for mode in MODES]
    return "\n".join(
        [
            "### Each source and sink",
            "",
            "In output mode `append`.",
            "",
            f"| source | sink | {head}",
            *table(sources),
            "",
            "### Each output mode",
            "",
            "From `epochal-random`. Into a database, `update` upserts by key; `complete` counts rows. In real time the "
            "helper starts `append` as `update`, the one mode that Spark has there.",
            "",
            f"| sink | output mode | {head}",
            *table(sinks),
            "",
            "### Why not",
            "",
            *(f"{n}. {reason}" for n, reason in enumerate(reasons, 1)),
        ]
    )


def _source(source: str) -> str:
    name, comma, how = source.partition(",")
    return f"`{name}`{comma}{how}"


def _brief(reason: str) -> str:
    """The reason of a refusal, shortened: first clause, class names without packages."""
    reason = reason.removeprefix("Streaming real-time mode has the following limitation: ")
    reason = re.sub(r"\b(?:\w+\.){2,}(\w+)", r"\1", reason).partition(": ")[0]
    return _escaped(reason.rstrip(".") + ".")


def _named(sink: str) -> str:
    return f"`{sink.removesuffix(' sink')}`"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "&#124;")


@contextmanager
def lines_server() -> Iterator[int]:
    """Port of a server that sends numbers as lines to each client and keeps the connection open."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                self.request.sendall("".join(f"{n}\n" for n in range(ROWS)).encode())
                self.request.recv(1)
            except OSError:
                pass

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
