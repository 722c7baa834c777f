"""``epochal.display`` in a notebook kernel: with widgets, without them, and in Colab's kernel."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support import documents, notebooks

pytestmark = pytest.mark.slow

START = """
import epochal
from pyspark.sql import SparkSession
quick = {"spark.ui.enabled": False, "spark.log.level": "OFF", "spark.sql.shuffle.partitions": 2}
spark = epochal.configure(SparkSession.builder.master("local[1]").config(map=quick)).getOrCreate()

def numbers(rows=25):
    return epochal.read.random(spark, rows_per_batch=10, max_rows=rows, num_partitions=1).select("id", "value")

def settle(shown):
    shown.query.awaitTermination()
    shown._poller.join(60)
"""

HOSTILE = """
hostile = spark.sql("SELECT '<script>alert(1)</script>' AS `<b>label</b>`, 1 AS number")
"""

#: Hides the packages of the extra.
WITHOUT = """
import importlib.util as _util
_found = _util.find_spec
_util.find_spec = lambda name, *more: None if name in ("anywidget", "plotly") else _found(name, *more)
"""


def run(*cells: str) -> list[Any]:
    """Cells of an executed notebook, after one that starts a session; the last item is the widgets' state."""
    book = notebooks.of(START, *cells, "spark.stop()")
    notebooks.run(book, allow_errors=True)
    assert not errors(book.cells[0]), errors(book.cells[0])
    widgets = book.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    return [*book.cells[1:-1], {key: value["state"] for key, value in widgets.items()}]


def errors(cell: Any) -> list[str]:
    return [output.evalue for output in cell.outputs if output.output_type == "error"]


def shown(cell: Any, kind: str) -> list[Any]:
    """Outputs of a cell with a media type."""
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


@pytest.fixture(scope="module")
def with_widgets() -> list[Any]:
    return run(
        'table = epochal.display(numbers(), name="strings", trigger="availableNow")\nsettle(table)\ntable',
        "table",
        HOSTILE + 'plot = epochal.display(hostile, kind="bar")',
        """
live = epochal.display(numbers(1_000_000), trigger="100 ms")
while live.query.lastProgress is None: pass
from ipywidgets.widgets import widget as widgets
(widget,) = [one for one in widgets._instances.values() if live.name in str(getattr(one, "shown", ""))]
widget._handle_custom_msg({"type": "stop"}, [])
settle(live)
""",
        "epochal.display(spark.range(300), rows=1000)",
        'epochal.display(numbers(), kind="lines")',
    )


def tables(cells: list[Any]) -> list[dict[str, Any]]:
    return [state for state in cells[-1].values() if state["_model_module"] == "anywidget" and "shown" in state]


def table_of(cells: list[Any], name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = [state["shown"] for state in tables(cells)]
    (table,) = [shown for shown in found if shown["head"].startswith(f"{name} ")]
    return table


def test_a_stream_is_a_widget_that_updates_in_the_background(with_widgets: list[Any]) -> None:
    table = table_of(with_widgets, "strings")
    assert [row[0] for row in table["rows"]] == [str(number) for number in range(25)]
    assert table["state"] == "ended"
    assert table["head"].startswith("strings · ended · epoch 2 · 25 rows · the last 200 rows at most")
    assert [column["name"] for column in table["columns"]] == ["id", "value"]


def test_a_cell_draws_a_display_once_and_another_one_draws_it_again(with_widgets: list[Any]) -> None:
    first, second = with_widgets[:2]
    assert len(shown(first, "application/vnd.jupyter.widget-view+json")) == 1
    assert shown(second, "application/vnd.jupyter.widget-view+json") == shown(
        first, "application/vnd.jupyter.widget-view+json"
    )


def test_a_saved_notebook_has_the_widgets_rows_as_html(with_widgets: list[Any]) -> None:
    (html,) = shown(with_widgets[0], "text/html")
    assert html.count("<tr>") == 26
    assert "strings · ended · epoch 2 · 25 rows" in html
    assert shown(with_widgets[0], "text/plain") == ["strings · ended · epoch 2 · 25 rows · the last 200 rows at most"]
    (plot,) = shown(with_widgets[2], "text/html")
    assert plot.count("<tr>") == 2
    assert "<script>" not in plot
    (many,) = shown(with_widgets[4], "text/html")
    assert many.count("<tr>") == 201
    assert "100 more rows in the running notebook" in many


def test_nothing_is_printed_beside_the_widget(with_widgets: list[Any]) -> None:
    assert [output for cell in with_widgets[:5] for output in cell.outputs if output.output_type == "stream"] == []
    assert [errors(cell) for cell in with_widgets[:5]] == [[]] * 5


def test_a_plot_is_a_plotly_figure_with_escaped_labels(with_widgets: list[Any]) -> None:
    (figure,) = [state["figure"] for state in tables(with_widgets) if state["figure"]]
    text = json.dumps(figure)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "&lt;b&gt;label&lt;/b&gt;" in text
    assert "<script>" not in text
    assert '"category"' in text


def test_a_saved_notebook_does_not_contain_plotly(with_widgets: list[Any]) -> None:
    assert len(json.dumps(with_widgets)) < 100_000


def test_the_stop_button_stops_the_query(with_widgets: list[Any]) -> None:
    (stopped,) = [state["shown"] for state in tables(with_widgets) if state["shown"]["state"] == "stopped"]
    assert " · stopped · epoch " in stopped["head"]


def test_a_wrong_argument_is_an_epochal_error(with_widgets: list[Any]) -> None:
    assert "Set it like this: kind='line'" in errors(with_widgets[5])[0]


@pytest.fixture(scope="module")
def without_widgets() -> list[Any]:
    return run(
        WITHOUT + 'table = epochal.display(numbers(), name="strings", trigger="availableNow")\nsettle(table)',
        HOSTILE + "epochal.display(hostile)",
        'epochal.display(numbers(), kind="line")',
    )


def test_without_the_extra_a_table_is_updated_html_with_an_install_hint(
    without_widgets: list[Any],
) -> None:
    (html,) = shown(without_widgets[0], "text/html")
    assert html.count("<tr>") == 26
    assert "strings · ended · epoch 2 · 25 rows" in html
    assert "pip install anywidget plotly" in html


def test_without_the_extra_a_plot_is_an_error_with_an_install_hint(without_widgets: list[Any]) -> None:
    (error,) = errors(without_widgets[2])
    assert "[EPOCHAL.EXTRA_MISSING] kind='line' in a notebook needs anywidget and plotly" in error
    assert "%pip install anywidget plotly" in error


def test_hostile_rows_are_escaped_in_html(without_widgets: list[Any]) -> None:
    (html,) = shown(without_widgets[1], "text/html")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "pip install" not in html


def test_the_page_prints_its_values_in_a_notebook() -> None:
    first, _ = run(*(block.text for block in documents.page("docs/display.md").blocks("python")[:1]))
    assert "".join(output.text for output in first.outputs if output.output_type == "stream") == "1000\n6\n"


def test_in_colab_custom_widgets_are_enabled_and_the_browser_polls() -> None:
    cells = run("""
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
calls = []
sys.modules["google.colab"].output = types.SimpleNamespace(enable_custom_widget_manager=lambda: calls.append(1))
table = epochal.display(numbers(), name="strings", trigger="availableNow")
settle(table)
sent = []
from ipywidgets.widgets import widget as widgets
(widget,) = [one for one in widgets._instances.values() if hasattr(one, "shown")]
widget.send_state = lambda: sent.append(widget.shown["state"])
widget._handle_custom_msg({"type": "pull"}, [])
print(calls, widget.pulls, sent)
""")
    assert [output.text for output in cells[0].outputs if output.output_type == "stream"] == ["[1] True ['ended']\n"]
