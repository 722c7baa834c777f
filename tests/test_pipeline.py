"""Declarative pipelines: flows into ``epochal-jdbc``, run by ``spark-pipelines``."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

import epochal
from support import connect_server, documents, snippets
from support.api import Api
from support.data import as_rows, comments, ledger, stored
from support.databases import Postgres, Sqlite
from support.documents import Block
from support.places import ROOT
from support.waiting import until

EXAMPLE = ROOT / "examples" / "pipeline"
BLOCKS = [block for block in documents.page("docs/pipelines.md").blocks() if "pipeline" in block.needs]
(API_INTO_POSTGRES,) = [block for block in BLOCKS if "epochal.read.rest" in block.text]
(AUTO_CDC,) = [block for block in BLOCKS if "create_auto_cdc_flow" in block.text]
#: Spark's own tests have a catalog with MERGE, whose tables last as long as the JVM.
CATALOG = sorted((ROOT / "build" / "catalog").glob("spark-catalyst_*-tests.jar"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark.pipelines") is None, reason="Spark 4.0 has no declarative pipelines"
    ),
]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block not in (API_INTO_POSTGRES, AUTO_CDC)], ids=str)
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


@pytest.mark.skipif(not CATALOG, reason="build/catalog is empty: run make test-python")
@pytest.mark.skipif(pyspark.__version__ < "4.3", reason="Spark 4.3 is the first with Auto CDC")
@pytest.mark.parametrize("scd", [1, 2])
def test_an_auto_cdc_flow_keeps_the_newest_rows_or_their_history(scd: int, postgres: Postgres, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "INSERT INTO orders VALUES (1, 'one'), (2, 'two')",
    )
    (tmp_path / "transformations").mkdir()
    spec = (EXAMPLE / "spark-pipeline.yml").read_text("utf-8").replace("/tmp/", f"{tmp_path}/")
    (tmp_path / "spark-pipeline.yml").write_text(f"{spec}catalog: shared\ndatabase: shop\n", "utf-8")
    places = {
        "jdbc:postgresql://db.example.com/shop": postgres.url,
        "public.orders": f"{postgres.schema}.orders",
        '"capture"': f'"{postgres.user}"',
        'Secret.env("': 'Secret("',
        'cdc.Slot("orders")': f'cdc.Slot("{postgres.schema}")',
        "stored_as_scd_type=1": f"stored_as_scd_type={scd}",
    }
    (tmp_path / "transformations" / "orders.py").write_text(documents.adapted(AUTO_CDC.text, places), "utf-8")
    conf = {
        "spark.jars": f"{epochal.jar_path()},{CATALOG[-1]}",
        "spark.sql.catalog.shared": "org.apache.spark.sql.connector.catalog."
        "SharedTablesInMemoryRowLevelOperationTableCatalog",
        "spark.sql.shuffle.partitions": "2",
    }
    columns = "id, note" if scd == 1 else "id, note, __END_AT IS NULL"
    order = "id" if scd == 1 else "id, __START_AT"
    select = f"SELECT {columns} FROM shared.shop.orders ORDER BY {order}"
    show = "import json; from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate(); "
    show += f"print(json.dumps([[*row] for row in spark.sql({select!r}).collect()]))"
    with connect_server.running(None, conf) as address:

        def on_server(*arguments: str) -> str:
            done = subprocess.run(
                [sys.executable, *arguments],
                capture_output=True,
                text=True,
                timeout=240,
                cwd=tmp_path,
                env=os.environ | {"SPARK_REMOTE": address},
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        def merged() -> object:
            on_server("-m", "pyspark.pipelines.cli", "run", "--spec", "spark-pipeline.yml")
            return json.loads(on_server("-c", show))

        # Sessions share the tables, and a schema is there when it has one.
        seed = "CREATE NAMESPACE shared.shop", "CREATE TABLE shared.shop.seed (id INT)"
        on_server(
            "-c", f"from pyspark.sql import SparkSession; [*map(SparkSession.builder.getOrCreate().sql, {seed!r})]"
        )
        try:
            first: list[list[Any]] = [[1, "one"], [2, "two"]]
            assert merged() == (first if scd == 1 else [[*row, True] for row in first])
            postgres.execute(
                "UPDATE orders SET note = 'uno' WHERE id = 1",
                "DELETE FROM orders WHERE id = 2",
                "INSERT INTO orders VALUES (3, 'three')",
                "UPDATE orders SET note = 'un' WHERE id = 1",
            )
            newest = [[1, "un"], [3, "three"]]
            history = [[1, "one", False], [1, "uno", False], [1, "un", True], [2, "two", False], [3, "three", True]]
            assert merged() == (newest if scd == 1 else history)
        finally:
            postgres.drop_slot()


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
