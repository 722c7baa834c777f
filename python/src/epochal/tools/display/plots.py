"""The columns of a plot, and the SQL of its points. Nothing here draws."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from epochal.errors import OptionError
from epochal.tools.display.cells import names
from epochal.tools.display.snapshot import Points

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

Kind = Literal["table", "line", "area", "bar", "scatter"]
PLOTS = tuple(kind for kind in get_args(Kind) if kind != "table")

_TIMES = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A column, or a field of one, that a plot shows.

    Attributes:
        label: the name that the user wrote.
        sql: expression for its value, over the positional column names.
        holds: ``number``, ``time``, or ``text`` for all other types.
    """

    label: str
    sql: str
    holds: Literal["number", "time", "text"]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """The axis and the series of a plot."""

    kind: str
    x: Axis
    series: tuple[Axis, ...]

    def expressions(self) -> list[str]:
        """SQL for x, and for each series."""
        kind = "DOUBLE" if self.x.holds == "number" else "STRING"
        x = f"CAST({self.x.sql} AS {kind})"
        return [x if kind == "DOUBLE" else f"left({x}, 100)", *(f"CAST({one.sql} AS DOUBLE)" for one in self.series)]

    def points(self, rows: Iterable[Sequence[Any]]) -> Points:
        """The points of rows of :meth:`expressions`. Rows without x are dropped; points of lines are sorted by x."""
        drawable = [row for row in rows if _drawable(row[0]) is not None]
        if self.kind in ("line", "area") and self.x.holds != "text":
            drawable.sort(key=lambda row: row[0])
        series = tuple(tuple(_drawable(row[place + 1]) for row in drawable) for place in range(len(self.series)))
        return Points(x=tuple(row[0] for row in drawable), series=series)


def plot(kind: str, schema: StructType, x: str | None, y: str | Sequence[str] | None) -> Plot:
    """Builds a plot from the arguments of ``display``.

    Args:
        x: a column, or a field such as ``window.start``; None chooses the first column of times, else of texts, else
            of numbers.
        y: one or several numeric columns; None chooses all other numeric columns.

    Raises:
        OptionError: a column does not exist, or there is no numeric one.
    """
    across = _default_x(schema) if x is None else _axis(schema, x, "x")
    if y is None:
        axes = [_axis(schema, one.name, "y") for one in schema.fields]
        series = [one for one in axes if one.holds == "number" and one.label != across.label]
    else:
        series = [_axis(schema, name, "y") for name in ([y] if isinstance(y, str) else y)]
    if not series or any(one.holds != "number" for one in series):
        wrong = next((one.label for one in series if one.holds != "number"), None)
        raise OptionError(
            "OPTION_INVALID",
            f"kind={kind!r} draws numbers, and "
            + (f"the column {wrong!r} has none." if wrong else f"beside {across.label!r} no column has any."),
            f"Set y to columns with numbers; the DataFrame has {_column_names(schema)}.",
        )
    return Plot(kind=kind, x=across, series=tuple(series))


def _default_x(schema: StructType) -> Axis:
    axes = [_axis(schema, one.name, "x") for one in schema.fields]
    if not axes:
        raise OptionError("OPTION_INVALID", "A DataFrame without columns cannot be drawn.", "Select columns.")
    return next((one for holds in ("time", "text", "number") for one in axes if one.holds == holds), axes[0])


def _axis(schema: StructType, name: str, argument: str) -> Axis:
    """The axis for a column or a struct field; for a window, its start."""
    places = {one.name: place for place, one in reversed([*enumerate(schema.fields)])}
    column, _, path = (name, "", "") if name in places else name.partition(".")
    if column not in places:
        close = difflib.get_close_matches(name, [*places], 1)
        raise OptionError(
            "OPTION_INVALID",
            f"{argument}={name!r} is not a column of the DataFrame, which has {_column_names(schema)}.",
            f"Did you mean {argument}={close[0]!r}?" if close else f"Set {argument} to one of them.",
        )
    sql, kind = names(schema)[places[column]], schema.fields[places[column]].dataType
    fields = path.split(".") if path else []
    if not fields and _field(kind, "start") is not None and _field(kind, "end") is not None:
        fields = ["start"]
    for one in fields:
        inner = _field(kind, one)
        if inner is None:
            raise OptionError(
                "OPTION_INVALID",
                f"{argument}={name!r}: there is no field {one!r} in a {kind.simpleString()}.",
                f"Set {argument} to a column, or to a field such as 'window.start'.",
            )
        sql, kind = f"{sql}.`{one.replace('`', '``')}`", inner
    return Axis(label=name, sql=sql, holds=_holds(kind))


def _field(kind: DataType, name: str) -> DataType | None:
    from pyspark.sql.types import StructType

    if not isinstance(kind, StructType):
        return None
    return next((one.dataType for one in kind.fields if one.name == name), None)


def _holds(kind: DataType) -> Literal["number", "time", "text"]:
    from pyspark.sql.types import NumericType

    return "number" if isinstance(kind, NumericType) else "time" if kind.typeName() in _TIMES else "text"


def _column_names(schema: StructType) -> str:
    return ", ".join(repr(one.name) for one in schema.fields) or "no columns"


def _drawable(value: Any) -> Any:
    """A value that JSON supports; None for NaN and infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
