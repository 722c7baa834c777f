"""The query of a display and its bounded table."""

from __future__ import annotations

import os
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from epochal._options import Location, text
from epochal._start import OutputMode
from epochal._trigger import Trigger, triggered
from epochal.errors import from_spark, named
from epochal.tools.display import cells
from epochal.tools.display.plots import Plot
from epochal.tools.display.snapshot import Points, Snapshot, Status, running
from epochal.tools.watch.state import failure, with_new_progress
from epochal.tools.watch.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_FORMAT = "epochal-display"
#: Seconds between two polls of the query.
INTERVAL = 0.5
#: Output modes in the order in which they are tried if none is set; the first that the query allows is used.
_MODES: tuple[OutputMode, ...] = ("complete", "append", "update")
#: Prefixes of messages that add nothing to the rest of the status.
_OBVIOUS = ("Processing new data", "Waiting for", "Stopped")
#: Prefix of the temporary checkpoints, which the jar removes when the query ends.
_TEMPORARY = "epochal-display-"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The view of a frame: name, kind and number of rows.

    Attributes:
        plot: None for a table.
        rows: maximum number of rows.
    """

    name: str
    plot: Plot | None
    rows: int

    def of(self, frame: DataFrame, limit: int | None = None) -> Snapshot:
        """A snapshot of a batch frame.

        Args:
            limit: maximum number of rows; None if the frame is already bounded.
        """
        schema = frame.schema
        points = [] if self.plot is None else self.plot.expressions()
        texts = frame.toDF(*cells.names(schema)).selectExpr(*cells.expressions(schema), *points)
        rows: list[Any] = (texts if limit is None else texts.limit(limit)).collect()
        width = len(schema.fields)
        return Snapshot(
            name=self.name,
            columns=cells.columns(schema),
            rows=tuple(tuple(cells.cell(value) for value in row[:width]) for row in rows),
            points=Points() if self.plot is None else self.plot.points(row[width:] for row in rows),
        )


@dataclass(frozen=True, kw_only=True)
class QuerySettings:
    """The user's settings of the query."""

    trigger: Trigger
    checkpoint: Location | None
    output_mode: OutputMode | None


class Live:
    """A query that writes into a display, and its rows.

    Attributes:
        mode: output mode of the query.
        is_stopping: whether the display has stopped the query.
        latest: the last snapshot.
    """

    def __init__(
        self, query: StreamingQuery, mode: OutputMode, display: str, spark: SparkSession, selection: Selection
    ) -> None:
        self.query = query
        self.mode = mode
        self.is_stopping = False
        self._display = display
        self._spark = spark
        self._selection = selection
        self._tally = Tally()
        self.latest = replace(selection.of(self._table()), says=self._description(), follows=mode != "complete")

    def _table(self) -> DataFrame:
        """A frame over the current rows. The plan contains the rows, so that each call needs a new frame."""
        return self._spark.read.format(_FORMAT).option("display", self._display).load()

    def rows(self) -> list[Row]:
        """The current rows, as Python values."""
        rows: list[Row] = self._table().collect()
        return rows

    def view(self) -> None:
        """Registers the table as a view with the display's name."""
        self._table().createOrReplaceTempView(self._selection.name)

    def drop(self) -> None:
        """Drops the view, and once the query has ended also the rows."""
        self._spark.catalog.dropTempView(self._selection.name)

    def look(self) -> Snapshot:
        """The current snapshot. Reads rows only after a batch has ended, and never raises the query's error."""
        is_active = bool(self.query.isActive)  # first: if the query has ended, everything read below is final
        before, self._tally = self._tally, with_new_progress(self._tally, self.query)
        if self._tally is not before or not is_active:
            fresh = self._selection.of(self._table())
            self.latest = replace(self.latest, rows=fresh.rows, points=fresh.points)
        now = self.query.status if is_active else None
        status = running(self._tally, now)
        status = self._ending(status) if now is None else replace(status, message=_message(now))
        self.latest = replace(self.latest, status=status)
        return self.latest

    def lost(self, error: Exception) -> Snapshot:
        """The final snapshot after the session or its server has ended."""
        status = Status(state="failed", message=f"the session does not respond: {first_line(error)}")
        return replace(self.latest, status=status)

    def _ending(self, status: Status) -> Status:
        error: BaseException | None = failure(self.query)
        if error is None:
            return replace(status, state="stopped" if self.is_stopping else "ended")
        return replace(status, state="failed", message=first_line(from_spark(error) or error))

    def _description(self) -> str:
        which = "first" if self.mode == "complete" else "last"
        changed = " changed" if self.mode == "update" else ""
        return f"the {which} {self._selection.rows:,}{changed} rows at most"


def _message(status: Mapping[str, Any]) -> str:
    message = str(status["message"])
    return "" if message.startswith(_OBVIOUS) else message


def start(df: DataFrame, selection: Selection, settings: QuerySettings) -> Live:
    """Starts the query of a streaming frame.

    Raises:
        EpochalError, AnalysisException: Spark or a source rejects the query.
    """
    spark = df.sparkSession
    display = str(uuid.uuid4())
    checkpoint = _temporary(spark) if settings.checkpoint is None else text(settings.checkpoint)
    writer = df.writeStream.format(_FORMAT).queryName(selection.name).option("checkpointLocation", checkpoint)
    writer = triggered(writer.option("display", display).option("maxRows", str(selection.rows)), settings.trigger)
    with named():
        query, mode = _start_query(writer, settings.output_mode)
    try:
        live = Live(query, mode, display, spark, selection)
        live.view()
    except BaseException:
        query.stop()
        raise
    return live


def _start_query(writer: Any, mode: OutputMode | None) -> tuple[StreamingQuery, OutputMode]:
    if mode is not None:
        return writer.outputMode(mode).start(), mode
    *others, last = _MODES
    for one in others:
        try:
            return writer.outputMode(one).start(), one
        except Exception as error:
            if not re.search("output mode", str(error), re.IGNORECASE):
                raise
    return writer.outputMode(last).start(), last


def _temporary(spark: SparkSession) -> str:
    """A new checkpoint directory on the driver's default file system, like Spark's own temporary checkpoints."""
    base: str | None = spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    parent = base or (tempfile.gettempdir() if os.name == "nt" else "/tmp")
    return f"{parent.rstrip('/')}/{_TEMPORARY}{uuid.uuid4()}"


def first_line(error: BaseException) -> str:
    """The message of an error, without a stack trace."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= 1000 else line[:1000] + "…"


class Poller:
    """Polls a query on its own thread until the query has ended.

    Front ends receive every snapshot on that thread. A terminal draws on the thread that called ``display``, so that
    Ctrl-C never interrupts a call to the driver.
    """

    def __init__(self, live: Live, publish: Callable[[Snapshot], None], name: str) -> None:
        self._live = live
        self._publish = publish
        self._now = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"epochal-display-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hurry(self) -> None:
        """Polls immediately."""
        self._now.set()

    def join(self, timeout: float) -> None:
        """Waits until the final snapshot is published."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        is_over = False
        while not is_over:
            try:
                snapshot = self._live.look()
            except Exception as error:
                snapshot = self._live.lost(error)
            is_over = snapshot.status.is_over
            self._publish(snapshot)
            if not is_over and self._now.wait(INTERVAL):
                self._now.clear()
