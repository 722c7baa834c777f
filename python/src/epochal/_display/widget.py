"""The widget: a table with a status and a stop button, and above it a plot. Needs the extra ``notebook``.

Snapshots travel as the widget's state, never as output of a cell: output of a thread lands in whichever cell runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets  # type: ignore[import-untyped]
import plotly.graph_objects as go  # type: ignore[import-untyped]
import traitlets

from epochal._display.plots import Plot
from epochal._display.snapshot import Points, Snapshot

if TYPE_CHECKING:
    from epochal._display.handle import Display

_HERE = Path(__file__).parent
_AXES = {"number": "linear", "time": "date", "text": "category"}


class Table(anywidget.AnyWidget):
    """A snapshot in the browser.

    Attributes:
        shown: the snapshot; cells are texts or null.
        rows_hidden: whether only the status is shown, since a plot shows the rows.
        pulls: whether the browser asks for the state from time to time. Colab delivers what a thread sends only with
            the answer to a message.
    """

    _esm = (_HERE / "widget.js").read_text("utf-8")
    _css = (_HERE / "widget.css").read_text("utf-8")
    shown = traitlets.Dict().tag(sync=True)
    rows_hidden = traitlets.Bool(False).tag(sync=True)
    pulls = traitlets.Bool(False).tag(sync=True)


@dataclass(frozen=True)
class Panel:
    """What a cell shows, and how it is brought up to date, from any thread."""

    whole: Any
    update: Callable[[Snapshot], None]


def panel(display: Display, plot: Plot | None, pulls: bool) -> Panel:
    """The widget of a display."""
    table: Any = Table(shown=_state(display._snapshot), rows_hidden=plot is not None, pulls=pulls)

    def received(_: object, message: Any, buffers: object) -> None:
        if message.get("type") == "stop":
            threading.Thread(target=display.stop, daemon=True).start()
        elif message.get("type") == "pull":
            table.send_state()

    table.on_msg(received)
    if plot is None:
        return Panel(table, lambda snapshot: _set(table, snapshot))
    figure = _figure(plot, display._snapshot.points)

    def update(snapshot: Snapshot) -> None:
        _set(table, snapshot)
        _draw(figure, snapshot.points)

    return Panel(ipywidgets.VBox([table, figure]), update)


def _set(table: Any, snapshot: Snapshot) -> None:
    table.shown = _state(snapshot)


def _state(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "head": snapshot.head(),
        "columns": [asdict(column) for column in snapshot.columns],
        "rows": [list(row) for row in snapshot.rows],
        "state": snapshot.status.state,
        "follows": snapshot.follows,
        "notice": snapshot.notice,
    }


def _figure(plot: Plot, points: Points) -> Any:
    names = [escape(one.label, quote=False) for one in plot.series]
    if plot.kind == "bar":
        traces = [go.Bar(name=name) for name in names]
    else:
        mode = "markers" if plot.kind == "scatter" else "lines+markers"
        fill = "tozeroy" if plot.kind == "area" else "none"
        traces = [go.Scatter(name=name, mode=mode, fill=fill) for name in names]
    _set_points(traces, points)
    figure = go.FigureWidget(traces)
    figure.update_layout(
        height=360,
        margin={"l": 50, "r": 20, "t": 20, "b": 40},
        showlegend=len(names) > 1,
        uirevision="kept",  # zoom and hidden series outlive an update
        xaxis={"title": {"text": escape(plot.x.label, quote=False)}, "type": _AXES[plot.x.holds]},
        yaxis={"title": {"text": names[0] if len(names) == 1 else ""}},
    )
    return figure


def _draw(figure: Any, points: Points) -> None:
    with figure.batch_update():
        _set_points(figure.data, points)


def _set_points(traces: Any, points: Points) -> None:
    """Plotly reads labels as markup of its own, so texts are escaped."""
    x = [escape(value, quote=False) if isinstance(value, str) else value for value in points.x]
    for trace, values in zip(traces, points.series, strict=False):
        trace.x, trace.y = x, list(values)
