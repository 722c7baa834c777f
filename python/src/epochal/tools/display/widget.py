"""The widget: a table or a plot, with a status and a stop button. Needs the extra ``notebook``.

Snapshots are sent as the widget's state, since the output of a thread appears in the cell that happens to run. Plotly's
own widget is not used: it does not update while the kernel runs a cell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from epochal.tools.display.handle import Display
from epochal.tools.display.plots import Plot
from epochal.tools.display.snapshot import Points, Snapshot

_HERE = files("epochal.tools.display")
_SCRIPT = (_HERE / "widget.js").read_text("utf-8")
_AXES = {"number": "linear", "time": "date", "text": "category"}


class Table(anywidget.AnyWidget):
    """A snapshot in the browser.

    Attributes:
        shown: the snapshot; cells are texts or null.
        figure: the Plotly figure to draw instead of the rows; empty for a table.
        pulls: whether the browser polls for the state. Colab delivers messages of a thread only with the reply to a
            message of the browser.
    """

    _esm = _SCRIPT
    _css = (_HERE / "widget.css").read_text("utf-8")
    shown = traitlets.Dict().tag(sync=True)
    figure = traitlets.Dict().tag(sync=True)
    pulls = traitlets.Bool(False).tag(sync=True)


@dataclass(frozen=True)
class Panel:
    """The output of a cell, and a function that updates it from any thread."""

    whole: Any
    update: Callable[[Snapshot], None]


def panel(display: Display, plot: Plot | None, pulls: bool) -> Panel:
    """The widget of a display."""
    widget: Any = Table(pulls=pulls, **_state(display._snapshot, plot))
    if plot is not None:
        _load_plotly()

    def on_message(_: object, message: Any, buffers: object) -> None:
        if message.get("type") == "stop":
            threading.Thread(target=display.stop, daemon=True).start()
        elif message.get("type") == "pull":
            widget.send_state()
        elif message.get("type") == "plotly":
            _load_plotly()

    def update(snapshot: Snapshot) -> None:
        with widget.hold_sync():
            for name, value in _state(snapshot, plot).items():
                setattr(widget, name, value)

    widget.on_msg(on_message)
    return Panel(widget, update)


class _Loader(anywidget.AnyWidget):
    """Sets ``epochalPlotly`` in the page. Draws nothing."""

    _esm = "export default {};"


def _load_plotly() -> None:
    """Sends Plotly's script from the Python package to the page, so that nothing is loaded from the network.

    The front end starts a script when the widget opens, also while the kernel runs a cell; the last state of the
    widget, which a notebook's file keeps, is without it.
    """
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    script = f"const module = {{ exports: {{}} }};\n{get_plotlyjs()}\nglobalThis.epochalPlotly ??= module.exports;\n"
    loader: Any = _Loader(_esm=f"{script}{_Loader._esm}")
    loader._esm = _Loader._esm


def _state(snapshot: Snapshot, plot: Plot | None) -> dict[str, Any]:
    view = {
        "head": snapshot.head(),
        "columns": [asdict(column) for column in snapshot.columns],
        "rows": [list(row) for row in snapshot.rows] if plot is None else [],
        "state": snapshot.status.state,
        "follows": snapshot.follows,
        "notice": snapshot.notice,
    }
    return {"shown": view, "figure": {} if plot is None else _figure(plot, snapshot.points)}


def _figure(plot: Plot, points: Points) -> dict[str, Any]:
    """A Plotly figure. Texts are escaped, since Plotly interprets labels as markup."""
    names = [escape(one.label, quote=False) for one in plot.series]
    looks: dict[str, Any] = {"type": "bar"}
    if plot.kind != "bar":
        looks = {"type": "scatter", "mode": "markers" if plot.kind == "scatter" else "lines+markers"}
        looks |= {"fill": "tozeroy"} if plot.kind == "area" else {}
    x = [escape(value, quote=False) if isinstance(value, str) else value for value in points.x]
    series = points.series or ((),) * len(names)
    layout = {
        "showlegend": len(names) > 1,
        "xaxis": {"title": {"text": escape(plot.x.label, quote=False)}, "type": _AXES[plot.x.holds]},
        "yaxis": {"title": {"text": names[0] if len(names) == 1 else ""}},
    }
    traces = [looks | {"name": name, "x": x, "y": list(y)} for name, y in zip(names, series, strict=True)]
    return {"data": traces, "layout": layout}
