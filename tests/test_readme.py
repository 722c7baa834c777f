"""The README's first program does what its comments say, as a stranger would run it: in a process of its own."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def first_program() -> str:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_first_program_of_the_readme_writes_each_row_once_however_often_it_runs(tmp_path: Path) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", first_program()],
            cwd=tmp_path,
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    connection = sqlite3.connect(tmp_path / "strings.db")
    try:
        ids = [row[0] for row in connection.execute("SELECT id FROM strings ORDER BY id")]
    finally:
        connection.close()
    assert ids == list(range(1000))


def test_the_readme_names_the_wheel_and_the_jar_that_are_built() -> None:
    version = (ROOT / "version.txt").read_text(encoding="utf-8").strip()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"epochal(?:-spark_2\.13)?-(\d[\w.]*?)(?:-py3|\.jar)", text)) == {version}
