"""``epochal.display``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from epochal import _hooks
from epochal._arguments import suggesting
from epochal._options import Location
from epochal._start import OutputMode, Stream
from epochal._trigger import Trigger
from epochal.errors import OptionError, named
from epochal.tools.display import names, notebook, terminal
from epochal.tools.display.handle import Display
from epochal.tools.display.notebook_cell import running_cell
from epochal.tools.display.plots import PLOTS, Kind, plot
from epochal.tools.display.query import QuerySettings, start
from epochal.tools.display.selection import Selection
from epochal.tools.watch.views import notebook_shell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MAX_ROWS = 100_000
#: Default number of rows of a table, and of a plot.
_ROWS = (200, 1000)
#: Default trigger. A source that is always ready would otherwise keep the driver busy with small batches.
_TRIGGER = "1 second"
#: Number of ended displays without a user-defined name whose views are kept.
_MAX_ENDED = 8


@suggesting
def display(
    df: DataFrame,
    *,
    name: str | None = None,
    kind: Kind = "table",
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    rows: int | None = None,
    trigger: Trigger | None = None,
    checkpoint: Location | None = None,
    output_mode: OutputMode | None = None,
    wait: bool | None = None,
) -> Display:
    """Shows a DataFrame: a stream as a live table or plot that updates in place, a batch once.

    A display is for people to look at, not a sink for data: it keeps a bounded number of rows in the driver's memory,
    and is not exactly-once. For a stream it starts a query; SQL can read the rows as the view ``name``.

    >>> shown = epochal.display(comments.groupBy("postId").count(), name="counts")  # doctest: +SKIP
    >>> spark.sql("SELECT max(count) FROM counts").show()  # doctest: +SKIP
    >>> shown.stop()  # doctest: +SKIP

    Args:
        df: a streaming DataFrame, or a batch.
        name: name of the query and of the temporary view; letters, digits and ``_``. Unset, ``display_1`` and so on for
            a stream. A running display with the same name is stopped and replaced.
        kind: ``"table"``, or a plot: ``"line"``, ``"area"``, ``"bar"``, ``"scatter"``. A terminal shows a table.
        x: horizontal axis of a plot: a column, or a field such as ``"window.start"``. Unset, the first column of times,
            else the first column of texts.
        y: numeric columns to plot; unset, all other numeric columns.
        rows: number of rows to keep and show, at most 100,000: the last rows, or in output mode complete the first
            rows of the result. Unset, 200 for a table and 1,000 for a plot.
        trigger: as in ``epochal.write.jdbc``; unset, ``"1 second"``.
        checkpoint: directory of the query's state; a display with the same checkpoint continues after the rows already
            shown. Unset, a temporary directory: a new display starts at the beginning of the source.
        output_mode: unset, ``"complete"`` if the query allows it (aggregations), else ``"append"``.
        wait: whether the call returns only when the query has ended or Ctrl-C has stopped it; unset, True outside of
            notebooks.

    Returns:
        A handle with ``query``, ``rows()`` and ``stop()``.

    Raises:
        OptionError: an argument is invalid or not allowed for a batch, or another table or view has the name.
        ConfigurationError: a plot in a notebook requires the extra (``EXTRA_MISSING``).
        EpochalError: with ``wait``, the error of the query.
    """
    _hooks.install()
    _check(kind, x, y, rows, name)
    axes = plot(kind, df.schema, x, y) if kind in PLOTS else None
    in_notebook = notebook_shell() is not None
    if in_notebook and axes is not None:
        notebook.check(kind)
    selection = Selection(name=name or "", plot=axes, rows=rows or _ROWS[axes is not None])
    if df.isStreaming:
        unset, name = name is None, names.reserve(df.sparkSession, name)
        settings = QuerySettings(trigger=trigger or _TRIGGER, checkpoint=checkpoint, output_mode=output_mode)
        live = start(df, replace(selection, name=name), settings)
        result = Display(name, live.latest, live, live.rows, running_cell() if unset else None)
    else:
        Stream(checkpoint, trigger, output_mode or "append").check_batch("epochal.display")
        with named():
            snapshot = selection.of_batch(df)
        if name is not None:
            names.claim(df.sparkSession, name)
            df.createOrReplaceTempView(name)
        result = Display(name, snapshot, None, lambda: list(df.limit(selection.rows).collect()))
    if name is not None:
        names.displays[name] = result
    if in_notebook:
        notebook.show(result, axes, wait=bool(wait))
    else:
        result._begin()
        terminal.show(result, wait=wait is not False)
    return result


def _check(kind: object, x: object, y: object, rows: object, name: str | None) -> None:
    if kind not in get_args(Kind):
        close = difflib.get_close_matches(kind, get_args(Kind), 1) if isinstance(kind, str) else []
        suggestion = close[0] if close else "line"
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'kind' is {kind!r}, which is none of {', '.join(map(repr, get_args(Kind)))}.",
            f"Set it like this: kind={suggestion!r}.",
        )
    if kind not in PLOTS and (x is not None or y is not None):
        raise OptionError(
            "OPTION_CONFLICT", "x and y are for plots, but kind is 'table'.", "Set kind, such as kind='line'."
        )
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= _MAX_ROWS):
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'rows' is {rows!r}, which is not a whole number from 1 to {_MAX_ROWS:,}.",
            "Set it like this: rows=1000.",
        )
    if name is not None and not _NAME.fullmatch(name):
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'name' is {name!r}, which is not a name of letters, digits and _, without a digit first.",
            "Set it like this: name='counts'.",
        )
