"""A query that writes into a display, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epochal._start import OutputMode
from epochal.errors import from_spark
from epochal.tools.display.selection import Selection
from epochal.tools.display.snapshot import Snapshot, Status, running
from epochal.tools.watch.state import failure, with_new_progress
from epochal.tools.watch.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "epochal-display"
#: Prefixes of messages that add nothing to the rest of the status.
_OBVIOUS = ("Processing new data", "Waiting for", "Stopped")


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
        which = ("first" if mode == "complete" else "last", f"{selection.rows:,}{' changed' * (mode == 'update')}")
        self._table().createOrReplaceTempView(selection.name)
        self.latest = replace(
            selection.of(self._table()), says="the {} {} rows at most".format(*which), follows=mode != "complete"
        )

    def _table(self) -> DataFrame:
        """A frame over the current rows. The plan contains the rows, so that each call needs a new frame."""
        return self._spark.read.format(FORMAT).option("display", self._display).load()

    def rows(self) -> list[Row]:
        """The current rows, as Python values."""
        rows: list[Row] = self._table().collect()
        return rows

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
        status = Status(state="failed", message=f"the session does not respond: {_first_line(error)}")
        return replace(self.latest, status=status)

    def _ending(self, status: Status) -> Status:
        error: BaseException | None = failure(self.query)
        if error is None:
            return replace(status, state="stopped" if self.is_stopping else "ended")
        return replace(status, state="failed", message=_first_line(from_spark(error) or error))


def _message(status: Mapping[str, Any]) -> str:
    message = str(status["message"])
    return "" if message.startswith(_OBVIOUS) else message


def _first_line(error: BaseException) -> str:
    """The message of an error, without a stack trace."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= 1000 else line[:1000] + "…"
