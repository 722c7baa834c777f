"""The example runs under ``spark-submit --jars``, in a Python without our package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import epochal
from support.api import Api
from support.data import as_rows, comments, stored
from support.databases import Sqlite
from support.places import ROOT

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "comments_to_table.py"


def test_the_example_copies_an_api_and_resumes_with_new_records(api: Api, tmp_path: Path) -> None:
    database = Sqlite(tmp_path / "comments.db")
    api.records = comments(1, 250)
    submit(api.url, database.url, str(tmp_path / "checkpoint"), work=tmp_path)
    assert stored(database) == as_rows(api.records)
    api.records += comments(251, 30)
    submit(api.url, database.url, str(tmp_path / "checkpoint"), work=tmp_path)
    assert stored(database) == as_rows(api.records)


def submit(*arguments: str, work: Path) -> None:
    """Runs the example with imports of ``epochal`` blocked."""
    hidden = work / "hidden" / "epochal"
    hidden.mkdir(parents=True, exist_ok=True)
    (hidden / "__init__.py").write_text("raise ImportError('the example needs no package of Epochal')\n")
    home = Path(pyspark.__file__).parent
    quick = ["--conf", "spark.ui.enabled=false", "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    command = [home / "bin" / "spark-submit", "--master", "local[2]", *quick, "--jars", epochal.jar_path(), EXAMPLE]
    done = subprocess.run(
        [*map(str, command), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=work,
        env=os.environ | {"PYTHONPATH": str(hidden.parent), "PYSPARK_PYTHON": sys.executable},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
