"""``epochal.display``."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from epochal import _hooks
from epochal._options import Location
from epochal._start import OutputMode, Stream
from epochal._trigger import Trigger
from epochal.errors import OptionError, named
from epochal.tools.display import notebook, terminal
from epochal.tools.display.handle import Display
from epochal.tools.display.live import Asked, Shown, start
from epochal.tools.display.plots import PLOTS, Kind, plot
from epochal.tools.display.snapshot import Status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MOST = 100_000
#: Rows of a table, and of a plot, where the user says nothing.
_ROWS = (200, 1000)
#: Faster than people read; a source that is always ready would keep the driver busy with smaller batches.
_TRIGGER = "1 second"
#: Displays without a name of the user's whose view is kept after their end.
_ENDED = 8

#: The displays that have a view, by its name.
_known: dict[str, Display] = {}


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
    """Shows a DataFrame: a streaming one as a live table or plot that updates in place, a batch once.

    It is a view for people, in the driver's memory, and not a place for data: it keeps a bounded number of rows, and is
    not exactly-once. A stream starts a query of its own. Its rows are a table for SQL under ``name``.

    >>> shown = epochal.display(comments.groupBy("postId").count(), name="counts")  # doctest: +SKIP
    >>> spark.sql("SELECT max(count) FROM counts").show()  # doctest: +SKIP
    >>> shown.stop()  # doctest: +SKIP

    Args:
        df: a streaming DataFrame, or a batch.
        name: of the query, and of the temporary view that SQL reads; letters, digits and ``_``. Unset, ``display_1``
            and so on for a stream. A running display of the same name is stopped and replaced.
        kind: ``"table"``, or a plot: ``"line"``, ``"area"``, ``"bar"``, ``"scatter"``. A terminal shows a table.
        x: what a plot goes over: a column, or a field such as ``"window.start"``. Unset, the first column with times,
            else the first one with text.
        y: the columns with numbers that a plot draws; unset, all others that have some.
        rows: how many rows are kept and shown, at most 100,000: the last ones, or of a result in output mode complete
            the first ones. Unset, 200 for a table and 1,000 for a plot.
        trigger: as in ``epochal.write.jdbc``; unset, ``"1 second"``.
        checkpoint: directory of the query's state; a display with the same one goes on after the rows that were
            shown. Unset, a temporary one: a new display begins with all that the source has.
        output_mode: unset, ``"complete"`` where the query allows it (aggregations), else ``"append"``.
        wait: whether the call returns only when the query has ended or Ctrl-C has stopped it; unset, True outside of
            notebooks.

    Returns:
        A handle with ``query``, ``rows()`` and ``stop()``.

    Raises:
        OptionError: an argument is wrong, does not go with a batch, or the name is taken by another table or view.
        ConfigurationError: a plot in a notebook that lacks the extra (``EXTRA_MISSING``).
        EpochalError: with ``wait``, what the query failed with.
    """
    _hooks.install()
    _check(kind, x, y, rows, name)
    chosen = plot(kind, df.schema, x, y) if kind in PLOTS else None
    in_notebook = notebook.is_one()
    if in_notebook and chosen is not None:
        notebook.check(kind)
    shown = Shown(name=name or "", plot=chosen, rows=rows or _ROWS[chosen is not None])
    if df.isStreaming:
        made = _stream(
            df, name, shown, Asked(trigger=trigger or _TRIGGER, checkpoint=checkpoint, output_mode=output_mode)
        )
    else:
        _check_batch(Stream(checkpoint, trigger, output_mode or "append", None))
        made = _batch(df, name, shown)
    if in_notebook:
        notebook.show(made, chosen, wait=bool(wait))
    else:
        terminal.show(made, wait=wait is not False)
    return made


def _stream(df: DataFrame, name: str | None, shown: Shown, asked: Asked) -> Display:
    spark = df.sparkSession
    _retire()
    if name is None:
        name = next(one for one in map("display_{}".format, itertools.count(1)) if not spark.catalog.tableExists(one))
    else:
        _claim(spark, name)
    live = start(df, replace(shown, name=name), asked)
    made = Display(name, live.latest, live, live.rows)
    made._origin = None if shown.name else notebook.cell()
    _known[name] = made
    return made


def _batch(df: DataFrame, name: str | None, shown: Shown) -> Display:
    with named():
        one_more = shown.of(df, shown.rows + 1)
    has_more = len(one_more.rows) > shown.rows
    snapshot = replace(
        one_more,
        rows=one_more.rows[: shown.rows],
        status=Status(state="static"),
        says=f"the first {shown.rows:,} rows" if has_more else "",
        follows=False,
    )
    made = Display(name, snapshot, None, lambda: list(df.limit(shown.rows).collect()))
    if name is not None:
        _claim(df.sparkSession, name)
        df.createOrReplaceTempView(name)
        _known[name] = made
    return made


def _claim(spark: SparkSession, name: str) -> None:
    """Makes a name of the user's free: what another display has is replaced, and nothing else."""
    if name in _known:
        _known[name].stop()
    elif spark.catalog.tableExists(name):
        raise OptionError(
            "OPTION_CONFLICT",
            f"name={name!r} is taken: the session has a table or a view of this name, which a display would hide.",
            "Choose another name, or drop the view: spark.catalog.dropTempView(…).",
        )


def _retire() -> None:
    """Ends what only piles up: displays without a name that this cell has started in an earlier run, and the views of
    those that ended long ago."""
    now = notebook.cell()
    unnamed = [(one, one._origin) for one in _known.values() if one._origin is not None]
    for one, origin in unnamed:
        if now.id is not None and origin.id == now.id and origin.run != now.run:
            one.stop()
    ended = [one for one, _ in unnamed if one._snapshot.status.is_over]
    for one in ended[: max(len(ended) - _ENDED, 0)]:
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
            "OPTION_CONFLICT", "x and y say what a plot draws, and kind is 'table'.", "Set kind, such as kind='line'."
        )
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= _MOST):
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'rows' is {rows!r}, which is not a whole number from 1 to {_MOST:,}.",
            "Set it like this: rows=1000.",
        )
    if name is not None and not _NAME.fullmatch(name):
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'name' is {name!r}, which is no name for a view: letters, digits and _, and no digit first.",
            "Set it like this: name='counts'.",
        )


def _check_batch(stream: Stream) -> None:
    if given := stream.given():
        raise OptionError(
            "OPTION_CONFLICT",
            f"The DataFrame is a batch, and epochal.display was given what only a stream has: {', '.join(given)}.",
            "Leave them out, or read the source as a stream.",
        )
