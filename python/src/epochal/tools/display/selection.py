"""The part of a frame that a display shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from epochal.tools.display import cells
from epochal.tools.display.plots import Plot
from epochal.tools.display.snapshot import Points, Snapshot, Status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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

    def of_batch(self, df: DataFrame) -> Snapshot:
        """The snapshot of a DataFrame that does not change."""
        snapshot = self.of(df, self.rows + 1)
        has_more = len(snapshot.rows) > self.rows
        return replace(
            snapshot,
            rows=snapshot.rows[: self.rows],
            status=Status(state="static"),
            says=f"the first {self.rows:,} rows" if has_more else "",
            follows=False,
        )
