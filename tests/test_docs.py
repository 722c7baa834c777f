"""Every code block in a document is run, compiled or parsed, so that pasted code works."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from support import commands, consumers, documents, example_api, shapes, snippets, targets, vendors
from support.databases import Postgres
from support.documents import Block, Page
from support.places import ROOT
from support.streams import drain

PAGES = documents.pages()
BLOCKS = [block for page in PAGES for block in page.blocks()]
#: Requirements of single blocks: Spark for SQL, the pipeline that the block belongs to (test_pipeline.py), Airflow
#: (test_tasks.py), a replication slot (test_cdc.py, test_histories.py), or a stub of an API's shape
#: (test_rest_recipes.py, test_rest_changes.py).
NEEDS = {"airflow", "spark", "pipeline", "replication"} | {
    name
    for module in (shapes, targets, vendors)
    for name, kind in inspect.getmembers(module)
    if inspect.isfunction(kind)
}
#: Pages whose programs need the SQL and the commands between them: test_tasks.py, test_cdc.py.
RUN_BY_OTHERS = {"docs/tasks.md", "docs/cdc.md"}
LANGUAGES = {"python", "sql", "bash", "json", "xml", "scala", "java", "yaml", "text"}


def of(language: str, needs: str | None = None) -> list[Block]:
    return [block for block in BLOCKS if block.language == language and (needs in block.needs or needs is None)]


@pytest.fixture
def api() -> Iterator[shapes.Server]:
    """Stubs of all APIs in the documents."""
    with example_api.serving() as served:
        yield served


def test_a_block_has_a_language() -> None:
    strange = [f"{block}: {block.language!r}" for block in BLOCKS if block.language not in LANGUAGES]
    assert strange == []
    fences = {str(page): len(re.findall(r"^ *(?:```|~~~)", page.source, re.MULTILINE)) for page in PAGES}
    assert fences == {str(page): 2 * len(page.blocks()) for page in PAGES}


def test_the_needs_of_a_block_are_known() -> None:
    assert [f"{block}: {need}" for block in BLOCKS for need in block.needs if need not in NEEDS] == []
    comments = {str(page): len(re.findall("^<!-- needs:", page.source, re.MULTILINE)) for page in PAGES}
    assert comments == {str(page): sum(bool(block.needs) for block in page.blocks()) for page in PAGES}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page), marks=pytest.mark.slow)
        for page in PAGES
        if any(not block.needs for block in page.blocks("python")) and str(page) not in RUN_BY_OTHERS
    ],
)
def test_the_python_blocks_of_a_page_run_in_order(
    page: Page,
    spark: SparkSession,
    api: shapes.Server,
    postgres: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def await_all(query: StreamingQuery, timeout: int | None = None) -> None:
        drain(query)

    monkeypatch.setattr(StreamingQuery, "awaitTermination", await_all)
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in page.blocks("python") if not block.needs]
    snippets.run_python(blocks, spark, api, postgres, tmp_path)
    assert snippets.empty_tables(blocks, postgres, tmp_path) == []
    assert api.requests or "https://" not in "".join(block.text for block in blocks)


@pytest.mark.parametrize("block", [block for block in of("sql") if not block.needs], ids=str)
def test_sql_runs_in_postgresql(block: Block, postgres: Postgres) -> None:
    snippets.run_in_postgres(block, postgres)


@pytest.mark.parametrize("block", of("sql", "spark"), ids=str)
def test_sql_of_spark_runs_in_spark(
    block: Block, spark: SparkSession, api: shapes.Server, postgres: Postgres, tmp_path: Path
) -> None:
    try:
        snippets.run_in_spark(block, spark, api, postgres, tmp_path)
    finally:
        for kind, name in re.findall(r"CREATE (?:TEMPORARY )?(TABLE|VIEW) (\w+)", block.text):
            spark.sql(f"DROP {kind} IF EXISTS {name}")


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_yaml_is_a_pipeline_specification(block: Block) -> None:
    assert block.needs == ("pipeline",)


@pytest.mark.parametrize("block", of("bash"), ids=str)
def test_a_command_and_its_arguments_exist(block: Block) -> None:
    parsed = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, timeout=30, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")
    assert [name for words in commands.lines(block.text) for name in commands.unknown(words)] == []


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    for line in block.text.splitlines():
        json.loads(line)


@pytest.mark.parametrize("block", [*of("xml"), *of("scala"), *of("java")], ids=str)
def test_build_snippets_are_in_a_project_that_is_built(block: Block) -> None:
    if block.language == "xml":
        ElementTree.fromstring(block.text)
    examples = [path.read_text("utf-8") for path in ROOT.glob("scala/testkit/src/test/*/io/epochal/testkit/example/*")]
    examples += [path.read_text("utf-8") for path in ROOT.glob("scala/*/src/test/java/example/*/*.java")]
    built = [consumers.MAVEN, consumers.SBT, *consumers.foreign_sources(), *examples]
    assert ["".join(block.text.split()) in "".join(text.split()) for text in built].count(True) == 1
