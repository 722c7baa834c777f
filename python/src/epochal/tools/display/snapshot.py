"""The state of a display at one moment, as frozen values. Nothing here calls Spark or draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from epochal.tools.output import counted
from epochal.tools.watch import words
from epochal.tools.watch.state import unreported
from epochal.tools.watch.tally import Tally

#: ``static``: a batch, shown once. ``stopped``: by the display; ``ended``: by itself, or by ``query.stop()``.
State = Literal["static", "starting", "running", "stopped", "ended", "failed"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """The heading of a column.

    Attributes:
        kind: Spark's short name of the type, such as ``decimal(10,2)``.
        is_number: whether cells are right-aligned.
    """

    name: str
    kind: str
    is_number: bool


@dataclass(frozen=True, kw_only=True)
class Status:
    """The status of the query.

    Attributes:
        message: Spark's status message, or the reason of a failure.
        epoch: number of the last epoch; None before the first.
        rows: number of rows read.
        rate: rows read per second, over the last epochs.
        behind: rows in the sources that the query has not read; None if no source reports them.
        is_exact: whether ``behind`` is exact; otherwise it is a lower bound.
        seconds_behind: maximum age of the lag.
        unreported: seconds since the end of the last epoch, while the next one runs; else None.
        too_large: number of rows that were too large to keep.
    """

    state: State = "starting"
    message: str = ""
    epoch: int | None = None
    rows: int = 0
    rate: float | None = None
    behind: int | None = None
    is_exact: bool = True
    seconds_behind: float | None = None
    unreported: float | None = None
    too_large: int = 0

    @property
    def is_over(self) -> bool:
        """Whether this status is final."""
        return self.state not in ("starting", "running")

    def words(self) -> list[str]:
        """The status as texts to join."""
        if self.state == "static":
            return []
        parts: list[str] = [self.state]
        if self.epoch is not None:
            parts += [f"epoch {self.epoch}", counted(self.rows, "row")]
        if self.rate is not None and not self.is_over:
            parts.append(f"{words.number(self.rate)} rows/s")
        if self.behind is not None and not self.is_over:
            parts.append(words.lag(self.behind, self.is_exact, self.seconds_behind, self.unreported))
        if self.too_large:
            parts.append(f"{counted(self.too_large, 'row')} too large to show")
        if self.message:
            parts.append(self.message)
        return parts


def running(tally: Tally, now: Mapping[str, Any] | None = None) -> Status:
    """The status of a running query, from the tally of its progress and Spark's status."""
    last = tally.last
    if last is None:
        return Status()
    return Status(
        state="running",
        epoch=last.number,
        rows=tally.rows_read,
        rate=tally.rate,
        behind=last.behind,
        is_exact=last.is_exact,
        seconds_behind=last.seconds_behind,
        unreported=None if now is None else unreported(last, now),
        too_large=last.sink.too_large,
    )


@dataclass(frozen=True, kw_only=True)
class Points:
    """The points of a plot: for each row its x, and for each series its value or None.

    Attributes:
        x: numbers; times as text in the session's time zone; or texts.
        series: the values of each series, in the order of the plot's series.
    """

    x: tuple[float | str, ...] = ()
    series: tuple[tuple[float | None, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Everything that a front end shows.

    Attributes:
        name: name of the view; empty if there is none.
        rows: every cell as text; None is NULL.
        says: which rows are shown, such as "the last 200 rows".
        follows: whether new rows are added at the end.
        notice: a note about this front end.
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
