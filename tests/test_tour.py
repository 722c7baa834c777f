"""The tour of structured streaming, a notebook, runs from the first cell to the last, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support import notebooks
from support.places import ROOT

pytestmark = pytest.mark.slow

TOUR = ROOT / "examples" / "streaming_tour.ipynb"

#: Subjects of the tour, by their spelling in a cell.
SHOWN = {
    "sources": ['format("socket")', 'format("rate")', ".json(", "maxFilesPerTrigger", ".read.random(", ".read.rest("],
    "columns": ["withColumnRenamed(", "withColumnsRenamed(", "toDF(", "isStreaming"],
    "triggers": ["epochs_of()", "processingTime=", "once=True", "availableNow=True", "continuous="],
    "output modes": ['written("append")', 'written("update")', 'written("complete")', "withWatermark("],
    "sinks": [
        'format("parquet")',
        'format("console")',
        'format("memory")',
        ".foreach(",
        ".foreachBatch(",
        "epochal.write.jdbc(",
    ],
    "queries": [
        ".id",
        ".runId",
        ".name",
        ".isActive",
        ".status",
        ".lastProgress",
        ".recentProgress",
        ".explain()",
        ".exception()",
        ".awaitTermination(",
        ".processAllAvailable()",
        ".stop()",
        "streams.active",
        "streams.get(",
        "streams.awaitAnyTermination(",
        "streams.resetTerminated()",
    ],
}


@pytest.fixture
def tour() -> Any:
    return notebooks.read(TOUR)


def code(tour: Any) -> list[str]:
    return [cell.source for cell in tour.cells if cell.cell_type == "code"]


def test_the_tour_runs(tour: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.ui.enabled=false pyspark-shell")
    resources = {"metadata": {"path": str(tmp_path)}}
    notebooks.run(tour, timeout=300, resources=resources)
    errors = [output for cell in tour.cells for output in cell.get("outputs", []) if output.output_type == "error"]
    assert errors == []


def test_the_tour_is_saved_without_outputs(tour: Any) -> None:
    cells = [cell for cell in tour.cells if cell.cell_type == "code"]
    assert [cell.id for cell in cells if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.parametrize("subject", SHOWN)
def test_the_tour_shows_all_of(subject: str, tour: Any) -> None:
    program = "\n".join(code(tour))
    assert [call for call in SHOWN[subject] if call not in program] == []
