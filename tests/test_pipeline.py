"""Declarative pipelines: flows into ``epochal-jdbc``, run by ``spark-pipelines``."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

import epochal
from support import documents, snippets
from support.api import Api
from support.data import as_rows, comments, ledger, stored
from support.databases import Postgres, Sqlite
from support.documents import Block
from support.places import ROOT
from support.waiting import until

EXAMPLE = ROOT / "examples" / "pipeline"
BLOCKS = [block for block in documents.page("docs/pipelines.md").blocks() if "pipeline" in block.needs]
(API_INTO_POSTGRES,) = [block for block in BLOCKS if "epochal.read.rest" in block.text]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark.pipelines") is None, reason="Spark 4.0 has no declarative pipelines"
    ),
]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block != API_INTO_POSTGRES], ids=str)
def test_the_page_shows_the_files_of_the_example(block: Block) -> None:
    assert block.text in [path.read_text("utf-8") for path in EXAMPLE.rglob("*.*") if path.is_file()]


def test_the_example_killed_in_the_middle_stores_every_row_once(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project)
    for path in (project / "spark-pipeline.yml", project / "transformations" / "strings.py"):
        text = path.read_text("utf-8").replace("/tmp/", f"{tmp_path}/")
        path.write_text(text.replace("rows_per_batch=100,", "rows_per_batch=10,"), "utf-8")
    strings = Sqlite(tmp_path / "epochal-strings.db")

    def epochs() -> int:
        found = ledger(strings)[0]["last_epoch"] if "epochal_ledger" in strings.tables() else None
        return -1 if found is None else int(str(found))

    with started(project) as process:
        until(lambda: epochs() >= 5 or process.poll() is not None, "five epochs of the pipeline")
        assert process.poll() is None, output_of(project)
    assert 5 <= epochs() < 99
    run(project)
    assert strings.query("SELECT id FROM strings ORDER BY id") == [(number,) for number in range(1000)]
    (row,) = ledger(strings)
    assert row["generation"] == 2
    assert row["epochs"] == 100


def test_an_api_into_postgresql_is_resumed_and_replaced_by_a_full_refresh(
    tmp_path: Path, api: Api, postgres: Postgres
) -> None:
    project = made_of(API_INTO_POSTGRES, api, postgres, tmp_path)
    api.records = comments(1, 250)
    run(project)
    api.records += comments(251, 30)
    run(project)
    assert stored(postgres) == as_rows(api.records)
    api.records = [record | {"name": "newer"} for record in comments(1, 120)]
    output = run(project, "--full-refresh-all")
    assert stored(postgres) == as_rows(api.records)
    (row,) = ledger(postgres)
    assert (row["sink_id"], row["total_rows"]) == ("comments", 280 + 120)
    assert "secret" not in re.sub(re.escape(str(tmp_path)) + r"\S*", "", output)


def made_of(flow: Block, api: Api, database: Postgres, directory: Path) -> Path:
    """A project of the page's flow, with the servers of this test."""
    project = directory / "project"
    (project / "transformations").mkdir(parents=True)
    spec = (EXAMPLE / "spark-pipeline.yml").read_text("utf-8").replace("/tmp/", f"{directory}/")
    (project / "spark-pipeline.yml").write_text(spec, "utf-8")
    text = snippets.here(flow.text, api, database, directory)
    (project / "transformations" / "comments.py").write_text(text, "utf-8")
    return project


@contextmanager
def started(project: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """``spark-pipelines run``; kills it and its child processes at the end of the block."""
    home = Path(pyspark.__file__).parent
    # No more settings: Spark 4.3 loses the jars if there are more than ten, and eight are its own.
    settings = {"spark.ui.enabled": "false", "spark.epochal.sharedDriver": "false"}
    command = [home / "bin" / "spark-pipelines", "run", "--spec", project / "spark-pipeline.yml", *arguments]
    command += ["--jars", epochal.jar_path()]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    with (project / "output.txt").open("w") as output:
        process = subprocess.Popen(
            [*map(str, command)],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=project,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
            | {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def run(project: Path, *arguments: str) -> str:
    """Runs the pipeline to its end, and returns its output."""
    with started(project, *arguments) as process:
        code = process.wait(240)
    assert code == 0, output_of(project)
    return output_of(project)


def output_of(project: Path) -> str:
    return (project / "output.txt").read_text("utf-8", "replace")
