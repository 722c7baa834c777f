"""``docs/tasks.md``: its programs are run one after the other on an API that grows, and leave every record once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from support import commands, snippets
from support.api import Api
from support.data import comments
from support.databases import Postgres
from support.documents import page

PAGE = page("docs/tasks.md")


@pytest.mark.slow
def test_each_task_leaves_every_record_once(spark: SparkSession, api: Api, postgres: Postgres, tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    emails: list[int | None] = []
    for block in PAGE.blocks():
        if block.text.startswith("cp "):
            subprocess.run(block.text.replace("/data/", f"{tmp_path}/data/"), shell=True, check=True)
        if block.needs or block.language not in ("python", "sql"):
            continue
        if block.language == "sql":
            postgres.execute(block.text)
            continue
        api.records = [{**record, f"field {len(emails)}": 1} for record in api.records]  # the API adds a field
        api.records += comments(len(api.records) + 1, 5)
        exec(compile(snippets.here(block.text, api, postgres, tmp_path), str(block), "exec"), names)
        assert ids(postgres) == list(range(1, len(api.records) + 1)), block
        has_email = "email" in columns(postgres)
        emails.append(postgres.query("SELECT count(email) FROM comments")[0][0] if has_email else None)
    assert emails == [None, 5, 15, 15, 15, 15]  # the sections after the backfill are of the job without the column
    assert columns(postgres) == {"id": "bigint", "name": "text", "email": "text"}
    assert (tmp_path / "data/comments/commits").is_dir()


def ids(database: Postgres) -> list[int]:
    return [row[0] for row in database.query("SELECT id FROM comments ORDER BY id")]


def columns(database: Postgres) -> dict[str, str]:
    found = database.query(
        "SELECT column_name, data_type FROM information_schema.columns"
        f" WHERE table_schema = '{database.schema}' AND table_name = 'comments'"
    )
    return {str(name): str(kind) for name, kind in found}


def test_the_readme_leads_to_every_task() -> None:
    linked = [link.partition("#")[2] for link in page("README.md").links() if link.startswith("docs/tasks.md#")]
    headings = re.findall(r"^## (.+)$", PAGE.source, re.MULTILINE)
    assert linked == [heading.lower().replace(" ", "-") for heading in headings]


def test_the_task_of_airflow_is_a_spark_submit_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """With stubs that take the arguments of Airflow 3 that the page uses."""
    submitted = []

    class Dag:
        def __init__(self, dag_id: str, *, schedule: str, start_date: Any, catchup: bool, max_active_runs: int) -> None:
            assert (dag_id, catchup, max_active_runs) == ("comments", False, 1)

        def __enter__(self) -> Dag:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    def submit(*, task_id: str, application: str, jars: str, py_files: str, retries: int, retry_delay: Any) -> None:
        submitted.append(["spark-submit", "--jars", jars, "--py-files", f"dist/{py_files}", application])

    for name, member, value in (
        ("airflow.sdk", "DAG", Dag),
        ("airflow.providers.apache.spark.operators.spark_submit", "SparkSubmitOperator", submit),
    ):
        module = ModuleType(name)
        setattr(module, member, value)
        monkeypatch.setitem(sys.modules, name, module)
    (block,) = [block for block in PAGE.blocks("python") if "airflow" in block.needs]
    exec(compile(block.text, str(block), "exec"), {})
    assert [[*commands.unknown(words)] for words in submitted] == [[]]
    assert f"`{submitted[0][-1]}`" in PAGE.source
