"""``epochal.display`` and ``epochal.watch`` in JupyterLab in a real browser.

Each test leaves a screenshot in its ``tmp_path``, or in the directory that ``EPOCHAL_TEST_PICTURES`` names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import browser, notebooks
from support.browser import Page
from support.places import is_required

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(browser.missing()) and not is_required("chromium"), reason=f"not installed: {browser.missing()}"
    ),
]

CELLS = (
    """
import epochal
from pyspark.sql import SparkSession
quick = {"spark.ui.enabled": False, "spark.log.level": "OFF", "spark.sql.shuffle.partitions": 2}
spark = epochal.configure(SparkSession.builder.master("local[2]").config(map=quick)).getOrCreate()
strings = epochal.read.random(spark, rows_per_second=20, num_partitions=1)
""",
    """
script = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
hostile = strings.selectExpr(
    "id", f'"{script}" AS `{script}`', "CAST(id * 1.1 AS DECIMAL(20, 2)) AS amount",
    "IF(id % 3 = 0, NULL, value) AS value", "9007199254740993 + id AS big", "timestamp",
    "named_struct('length', length, 'bytes', encode(value, 'UTF-8')) AS nested")
epochal.display(hostile, name="table", rows=60)
""",
    """
counts = strings.groupBy("length").count().orderBy("length")
epochal.display(counts, name="bars", kind="bar")
""",
    """
labels = strings.selectExpr(f'concat(id % 2, "{script}") AS label')
epochal.display(labels.groupBy("label").count(), name="labels", kind="scatter")
""",
    """
written = epochal.write.jdbc(strings, "jdbc:sqlite:strings.db", table="strings", create_table=True,
                             checkpoint="checkpoint", trigger="1 second")
epochal.watch(written)
""",
)
LAST_OUTPUT = "document.querySelectorAll('.jp-Notebook .jp-CodeCell')[4].querySelector('.jp-OutputArea')"


def widget(name: str) -> str:
    """JavaScript for the widget of a display."""
    return (
        "[...document.querySelectorAll('.epochal-display')]"
        f".find(one => one.querySelector('.head').textContent.startsWith('{name} '))"
    )


def plot(name: str) -> str:
    return f"{widget(name)}.querySelector('.js-plotly-plot')"


def head(name: str) -> str:
    return f"{widget(name)}.querySelector('.head').textContent"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(os.environ.get("EPOCHAL_TEST_PICTURES") or tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory, pictures: Path) -> Iterator[Page]:
    """An executed notebook. The last cell, a watch, has shown three states and was interrupted."""
    place = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebooks.write(notebooks.of(*(code.strip() for code in CELLS), **kernel), place / "live.ipynb")
    shown = "window.jupyterapp?.shell && [...jupyterapp.shell.widgets('main')][0]"
    with browser.jupyter_lab(place / "live.ipynb") as url, browser.page(tmp_path_factory.mktemp("chromium")) as page:
        page.call("Page.navigate", url=url)
        page.until(f"{shown}?.sessionContext?.session?.kernel?.status === 'idle'")
        page.evaluate("void jupyterapp.commands.execute('notebook:run-all-cells')")
        try:
            page.until("document.querySelectorAll('.epochal-display').length === 3", 180)
            page.evaluate(f"setInterval(() => seen.add({LAST_OUTPUT}.textContent), 100), seen = new Set()")
            page.until("[...seen].filter(text => text.includes(' epochs')).length >= 3", 120)
            page.screenshot(pictures / "watch.png", LAST_OUTPUT)
            page.until(f"{plot('bars')}?.querySelectorAll('.barlayer .point').length > 0")  # while the kernel is busy
            page.evaluate("void jupyterapp.commands.execute('notebook:interrupt-kernel')")
            yield page
        finally:
            page.screenshot(pictures / "notebook.png")


def test_a_table_updates_in_place_when_its_cell_has_ended(notebook: Page, pictures: Path) -> None:
    notebook.until(f"{head('table')}.includes('rows/s')")
    before = notebook.evaluate(head("table"))
    rows = f"{widget('table')}.querySelector('tbody').rows"
    last = f"{rows}[{rows}.length - 1].cells[0].textContent"
    notebook.until(f"{rows}.length > 20")
    row = notebook.evaluate(last)
    notebook.until(f"{last} !== '{row}' && {head('table')} !== {before!r}")
    notebook.until(f"{rows}.length === 60")
    first = notebook.evaluate(f"[...{rows}[0].cells].map(cell => cell.textContent)")
    assert int(first[4]) == 9007199254740993 + int(first[0])
    notebook.screenshot(pictures / "table.png", widget("table"))


def test_plots_are_drawn_and_grow(notebook: Page, pictures: Path) -> None:
    notebook.until(f"{plot('bars')}?.querySelectorAll('.barlayer .point').length === 6")
    notebook.until(f"{plot('labels')}?.querySelectorAll('.scatterlayer .point').length === 2")
    highest = f"Math.max(...{plot('bars')}.data[0].y)"
    before = notebook.evaluate(highest)
    notebook.until(f"{highest} > {before}")
    notebook.screenshot(pictures / "bars.png", widget("bars"))


def test_markup_in_rows_names_and_labels_is_escaped(notebook: Page) -> None:
    notebook.until(f"{plot('labels')}?.querySelectorAll('.scatterlayer .point').length === 2")
    assert notebook.evaluate("window.hacked") is None
    assert notebook.evaluate("document.querySelectorAll('.epochal-display img, .epochal-display script').length") == 0
    assert notebook.evaluate(f"{widget('table')}.querySelector('th:nth-child(2)').textContent").startswith("<script>")
    ticks = f"[...{plot('labels')}.querySelectorAll('.xtick')].map(one => one.textContent).join()"
    assert "<script>" in notebook.evaluate(ticks)


def test_a_watch_has_one_output_that_updates_in_place_until_the_kernel_is_interrupted(notebook: Page) -> None:
    assert notebook.evaluate(f"{LAST_OUTPUT}.querySelectorAll('table').length") == 1
    notebook.until(f"{LAST_OUTPUT}.textContent.includes('strings: stopped at epoch')")


def test_the_stop_button_stops_only_its_query(notebook: Page) -> None:
    button = f"{widget('labels')}.querySelector('.stop')"
    notebook.evaluate(f"{button}.click()")
    notebook.until(f"{head('labels')}.includes(' stopped ')")
    assert notebook.evaluate(f"{button}.hidden") is True
    assert notebook.evaluate(f"{widget('table')}.querySelector('.stop').hidden") is False
