"""``epochal.display``."""

from __future__ import annotations

import difflib
import itertools
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
from epochal.tools.display import notebook, terminal
from epochal.tools.display.handle import Display
from epochal.tools.display.live import QuerySettings, Selection, start
from epochal.tools.display.plots import PLOTS, Kind, plot
from epochal.tools.display.snapshot import Status
from epochal.tools.watch.views import notebook_shell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MAX_ROWS = 100_000
#: Default number of rows of a table, and of a plot.
_ROWS = (200, 1000)
#: Default trigger. A source that is always ready would otherwise keep the driver busy with small batches.
_TRIGGER = "1 second"
#: Number of ended displays without a user-defined name whose views are kept.
_MAX_ENDED = 8

#: The displays with a view, by its name.
_known: dict[str, Display] = {}


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
    chosen = plot(kind, df.schema, x, y) if kind in PLOTS else None
    in_notebook = notebook_shell() is not None
    if in_notebook and chosen is not None:
        notebook.check(kind)
    selection = Selection(name=name or "", plot=chosen, rows=rows or _ROWS[chosen is not None])
    if df.isStreaming:
        made = _stream(
            df,
            name,
            selection,
            QuerySettings(trigger=trigger or _TRIGGER, checkpoint=checkpoint, output_mode=output_mode),
        )
    else:
        Stream(checkpoint, trigger, output_mode or "append").check_batch("epochal.display")
        made = _batch(df, name, selection)
    if in_notebook:
        notebook.show(made, chosen, wait=bool(wait))
    else:
        terminal.show(made, wait=wait is not False)
    return made


def _stream(df: DataFrame, name: str | None, selection: Selection, settings: QuerySettings) -> Display:
    spark = df.sparkSession
    _retire()
    if name is None:
        name = next(one for one in map("display_{}".format, itertools.count(1)) if not spark.catalog.tableExists(one))
    else:
        _claim(spark, name)
    live = start(df, replace(selection, name=name), settings)
    made = Display(name, live.latest, live, live.rows)
    made._origin = None if selection.name else notebook.cell()
    _known[name] = made
    return made


def _batch(df: DataFrame, name: str | None, selection: Selection) -> Display:
    with named():
        one_more = selection.of(df, selection.rows + 1)
    has_more = len(one_more.rows) > selection.rows
    snapshot = replace(
        one_more,
        rows=one_more.rows[: selection.rows],
        status=Status(state="static"),
        says=f"the first {selection.rows:,} rows" if has_more else "",
        follows=False,
    )
    made = Display(name, snapshot, None, lambda: list(df.limit(selection.rows).collect()))
    if name is not None:
        _claim(df.sparkSession, name)
        df.createOrReplaceTempView(name)
        _known[name] = made
    return made


def _claim(spark: SparkSession, name: str) -> None:
    """Frees a user-defined name: stops another display that has it, but replaces no other table or view."""
    if name in _known:
        _known[name].stop()
    elif spark.catalog.tableExists(name):
        raise OptionError(
            "OPTION_CONFLICT",
            f"name={name!r} is taken: the session has a table or a view of this name, which a display would hide.",
            "Choose another name, or drop the view: spark.catalog.dropTempView(…).",
        )


def _retire() -> None:
    """Stops unnamed displays from earlier runs of the current cell, and drops the views of displays that ended long
    ago."""
    now = notebook.cell()
    unnamed = [(one, one._origin) for one in _known.values() if one._origin is not None]
    for one, origin in unnamed:
        if now.id is not None and origin.id == now.id and origin.run != now.run:
            one.stop()
    ended = [one for one, _ in unnamed if one._snapshot.status.is_over]
    for one in ended[: max(len(ended) - _MAX_ENDED, 0)]:
        _known.pop(str(one.name))
        one._drop()


def _check(kind: object, x: object, y: object, rows: object, name: str | None) -> None:
    if kind not in get_args(Kind):
        close = difflib.get_close_matches(kind, get_args(Kind), 1) if isinstance(kind, str) else []
        meant = close[0] if close else "line"
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'kind' is {kind!r}, which is none of {', '.join(map(repr, get_args(Kind)))}.",
            f"Set it like this: kind={meant!r}.",
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
