"""A display in a notebook: a widget, or HTML that is replaced if the extra is not installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import replace
from typing import Any

from epochal.errors import ConfigurationError
from epochal.tools.display import markup, waiting
from epochal.tools.display.handle import Display
from epochal.tools.display.plots import Plot
from epochal.tools.display.snapshot import Snapshot
from epochal.tools.output import counted
from epochal.tools.watch.views import running_shell

_NEEDED = ("anywidget", "plotly")
INSTALL = f"pip install {' '.join(_NEEDED)}"
#: Rows of a widget's table that the notebook's file keeps, for readers without the kernel.
_SAVED = 200
_NOTICE = f"Live tables with a stop button, and plots, need {INSTALL}. Until then display.stop() stops this one."


def has_widgets() -> bool:
    """Whether the extra is installed."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def check(kind: str) -> None:
    """Rejects a plot without the extra.

    Raises:
        ConfigurationError: the extra is not installed (``EXTRA_MISSING``).
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            "EXTRA_MISSING",
            f"kind={kind!r} in a notebook needs {' and '.join(missing)}, which this kernel does not have.",
            f"Run this in a cell and restart the kernel: %{INSTALL}. kind='table' works without.",
        )


def show(display: Display, plot: Plot | None, wait: bool) -> None:
    """Shows a display in the current cell, and updates it after the cell has ended.

    Args:
        wait: whether the cell ends only with the query; interrupting the kernel stops the query.
    """
    if has_widgets():
        _show_widget(display, plot)
    else:
        _show_html(display)
    if wait and display.query is not None:
        with waiting.snapshots(display) as snapshots:
            for _ in snapshots:
                pass


def _show_widget(display: Display, plot: Plot | None) -> None:
    from epochal.tools.display import widget

    draw = _media().display
    is_saved = False
    is_colab = "google.colab" in sys.modules
    if is_colab:  # otherwise Colab loads only its own widgets
        sys.modules["google.colab"].output.enable_custom_widget_manager()
    panel = widget.panel(display, plot, pulls=is_colab)
    view, metadata = running_shell().display_formatter.format(panel.whole)
    if not view:  # ipywidgets 7 has drawn it
        display._begin(panel.update, lambda: draw(panel.whole))
        return

    def render(snapshot: Snapshot) -> dict[str, Any]:
        return {**view, "text/html": markup.html(_file_part(snapshot)), "text/plain": snapshot.head()}

    def update(snapshot: Snapshot) -> None:
        nonlocal is_saved
        panel.update(snapshot)
        if snapshot.status.is_over or (snapshot.rows and not is_saved):  # seldom: the front end draws the widget again
            is_saved = True
            place.update(render(snapshot), raw=True, metadata=metadata)

    place = draw(render(display._snapshot), raw=True, metadata=metadata, display_id=True)
    display._begin(update, lambda: draw(render(display._snapshot), raw=True, metadata=metadata))


def _file_part(snapshot: Snapshot) -> Snapshot:
    """The part of a snapshot that the notebook's file keeps."""
    more = len(snapshot.rows) - _SAVED
    if more <= 0:
        return snapshot
    rows = snapshot.rows[-_SAVED:] if snapshot.follows else snapshot.rows[:_SAVED]
    return replace(snapshot, rows=rows, notice=f"{counted(more, 'more row')} in the running notebook.")


def _show_html(display: Display) -> None:
    media, notice = _media(), _NOTICE if display.query is not None else ""
    draw = media.display

    def render(snapshot: Snapshot) -> Any:
        return media.HTML(markup.html(replace(snapshot, notice=notice)))

    place = draw(render(display._snapshot), display_id=True)
    display._begin(lambda snapshot: place.update(render(snapshot)), lambda: draw(render(display._snapshot)))


def _media() -> Any:
    """IPython's display functions, which are not typed."""
    return importlib.import_module("IPython.display")
