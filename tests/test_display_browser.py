"""``epochal.display`` in JupyterLab, in a real browser: ``EPOCHAL_TEST_BROWSER`` names one; it needs jupyterlab too."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

if TYPE_CHECKING:
    from support.browser import Browser

PROGRAM = os.environ.get("EPOCHAL_TEST_BROWSER", "")
pytestmark = pytest.mark.skipif(
    not PROGRAM or importlib.util.find_spec("jupyterlab") is None,
    reason="EPOCHAL_TEST_BROWSER names no browser, or there is no jupyterlab",
)

CELLS = (
    """
import epochal
from pyspark.sql import SparkSession
quick = {"spark.ui.enabled": False, "spark.log.level": "OFF", "spark.sql.shuffle.partitions": 2}
spark = epochal.configure(SparkSession.builder.master("local[1]").config(map=quick)).getOrCreate()
strings = epochal.read.random(spark, rows_per_second=20, num_partitions=1)
bad = "'<img src=x onerror=\\"window.hacked = 1\\"><script>window.hacked = 1</script>'"
""",
    """
hostile = strings.selectExpr(
    "id", f"{bad} AS `<script>window.hacked=1</script>`", "CAST(id * 1.1 AS DECIMAL(20, 2)) AS amount",
    "IF(id % 3 = 0, NULL, value) AS value", "9007199254740993 + id AS big", "timestamp",
    "named_struct('length', length, 'bytes', encode(value, 'UTF-8')) AS nested")
epochal.display(hostile, name="live_table", rows=60)
""",
    """
counts = strings.groupBy("length").count().orderBy("length")
epochal.display(counts, name="live_bars", kind="bar")
""",
    """
labels = strings.selectExpr(f"concat({bad}, id % 2) AS label", "length")
epochal.display(labels.groupBy("label").count(), name="labels", kind="scatter")
""",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """JupyterLab with a notebook whose cells have been run."""
    from support.browser import browser, jupyter_lab

    place = tmp_path_factory.mktemp("lab")
    v4: Any = nbformat.v4
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    book = v4.new_notebook(cells=[v4.new_code_cell(code.strip()) for code in CELLS], metadata=kernel)
    write: Any = nbformat.write
    write(book, place / "live.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        jupyter_lab(place, port) as address,
        browser(PROGRAM, tmp_path_factory.mktemp("chromium")) as shown,
    ):
        shown.call("Page.enable")
        shown.call("Page.navigate", url=f"{address}/lab/tree/live.ipynb?reset")
        shown.until("!!window.jupyterapp && jupyterapp.commands.hasCommand('notebook:run-all-cells')")
        shown.until("!!document.querySelector('.jp-Notebook .jp-Cell')")
        shown.until("!!document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=\"idle\"]')")
        shown.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        shown.until("document.querySelectorAll('.epochal-display').length >= 3", 240)
        yield shown


def head(name: str) -> str:
    return f"[...document.querySelectorAll('.epochal-display .head')].find(e => e.textContent.startsWith('{name}'))"


def test_a_table_updates_in_place_after_its_cell_has_ended(page: Browser) -> None:
    rows = "document.querySelector('.epochal-display tbody').rows"
    page.until(f"{rows}.length > 20")
    before = page.evaluate(f"{rows}[{rows}.length - 1].cells[0].textContent")
    page.until(f"{rows}[{rows}.length - 1].cells[0].textContent !== '{before}'")
    page.until(f"{rows}.length === 60")
    assert "rows/s" in page.evaluate(f"{head('live_table')}.textContent")
    first = page.evaluate(f"[...{rows}[0].cells].map(cell => cell.textContent)")
    assert int(first[4]) == 9007199254740993 + int(first[0])


def test_plots_are_drawn(page: Browser) -> None:
    page.until("document.querySelectorAll('.js-plotly-plot').length === 2")
    page.until("document.querySelectorAll('.js-plotly-plot .barlayer .point').length === 6")
    page.until("document.querySelectorAll('.js-plotly-plot .scatterlayer .point').length === 2")


def test_markup_in_rows_names_and_labels_is_text(page: Browser) -> None:
    page.until("document.querySelectorAll('.js-plotly-plot .scatterlayer .point').length === 2")
    heading = "document.querySelector('.epochal-display th:nth-child(2)')"
    tick = "document.querySelectorAll('.js-plotly-plot')[1].querySelector('.xtick')"
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.querySelectorAll('.epochal-display img, .epochal-display script').length") == 0
    assert page.evaluate(f"{heading}.textContent").startswith("<script>")
    assert "<img src=x" in page.evaluate(f"{tick}.textContent")


def test_the_stop_button_stops_the_query(page: Browser, tmp_path: Path) -> None:
    pictures = Path(os.environ.get("EPOCHAL_TEST_PICTURES", tmp_path))
    page.screenshot(pictures / "display_running.png")
    button = "document.querySelectorAll('.epochal-display .stop')"
    page.evaluate(f"{button}[0].click()")
    page.until(f"{head('live_table')}.textContent.includes('stopped')")
    assert page.evaluate(f"{button}[0].hidden") is True
    assert page.evaluate(f"{button}[1].hidden") is False
    page.screenshot(pictures / "display_stopped.png")
