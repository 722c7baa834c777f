"""What a display shows at one moment, as frozen values. Nothing here asks Spark, and nothing draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from epochal.tools.watch import words
from epochal.tools.watch.tally import Tally

#: ``static``: a batch, shown once. ``stopped``: by the display; ``ended``: by itself, or by ``query.stop()``.
State = Literal["static", "starting", "running", "stopped", "ended", "failed"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column as its head shows it.

    Attributes:
        kind: Spark's short name of the type, such as ``decimal(10,2)``.
        is_number: whether cells stand at the right.
    """

    name: str
    kind: str
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class Status:
    """How the query is.

    Attributes:
        message: what Spark says that it does, or why it failed.
        batch: number of the last batch; None before the first.
        rows: rows that the query has read.
        rate: rows read in a second, over the last batches.
        behind: rows that the sources have and the query has not read; None where no source tells.
        is_exact: whether these are all; otherwise there are at least so many.
        seconds_behind: how old the lag is at most.
        too_large: rows that are too large to be kept.
    """

    state: State = "starting"
    message: str = ""
    batch: int | None = None
    rows: int = 0
    rate: float | None = None
    behind: int | None = None
    is_exact: bool = True
    seconds_behind: float | None = None
    too_large: int = 0

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in ("starting", "running")

    def words(self) -> list[str]:
        """The status in a few parts, to be joined."""
        if self.state == "static":
            return []
        parts: list[str] = [self.state]
        if self.batch is not None:
            parts += [f"batch {self.batch}", words.counted(self.rows, "row")]
        if self.rate is not None and not self.is_over:
            parts.append(f"{words.number(self.rate)} rows/s")
        if self.behind is not None and not self.is_over:
            parts.append(words.lag(self.behind, self.is_exact, self.seconds_behind))
        if self.too_large:
            parts.append(f"{words.counted(self.too_large, 'row')} too large to show")
        if self.message:
            parts.append(self.message)
        return parts


def running(tally: Tally) -> Status:
    """The status of a query that runs, from what its progresses add up to."""
    last = tally.last
    if last is None:
        return Status()
    return Status(
        state="running",
        batch=last.number,
        rows=tally.rows_read,
        rate=tally.rate,
        behind=last.behind,
        is_exact=last.is_exact,
        seconds_behind=last.seconds_behind,
        too_large=last.sink.too_large,
    )


@dataclass(frozen=True, kw_only=True)
class Points:
    """What a plot shows: one x for each row, and a value, or None, of each series.

    Attributes:
        x: numbers; times as text in the session's time zone; or texts.
        series: values in the order of the plot's series.
    """

    x: tuple[float | str, ...] = ()
    series: tuple[tuple[float | None, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All that a front end needs.

    Attributes:
        name: of the view; empty where there is none.
        rows: every cell as text; None is NULL.
        says: how the rows are chosen, such as "the last 200 rows".
        follows: whether new rows come at the end.
        notice: what the user should know of this front end.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...] = ()
    status: Status = field(default_factory=Status)
    points: Points = field(default_factory=Points)
    says: str = ""
    follows: bool = True
    notice: str = ""

    def head(self) -> str:
        """The line above the rows."""
        return " · ".join(part for part in (self.name, *self.status.words(), self.says) if part)
