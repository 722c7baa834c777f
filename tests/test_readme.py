"""The README's programs work as a new user would run them, each in a separate process."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.api import Api
from support.data import as_rows, comments
from support.databases import Postgres, Row, new_postgres
from support.documents import adapted, page
from support.places import VERSION
from support.waiting import until

README = page("README.md")
PROGRAMS = [block.text for block in README.blocks("python")]


def test_the_first_program_of_the_readme_writes_each_row_once_in_repeated_runs(tmp_path: Path) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAMS[0]],
            cwd=tmp_path,
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    connection = sqlite3.connect(tmp_path / "strings.db")
    try:
        ids = [row[0] for row in connection.execute("SELECT id FROM strings ORDER BY id")]
    finally:
        connection.close()
    assert ids == list(range(1000))


def test_the_second_program_of_the_readme_copies_an_api_into_postgres(
    api: Api, postgres: Postgres, tmp_path: Path
) -> None:
    api.records = comments(1, 250)
    places = {
        "https://api.example.com/comments": api.url,
        "jdbc:postgresql://127.0.0.1/warehouse": postgres.url,
        'user="loader"': 'user="postgres"',
        "/data/checkpoints": str(tmp_path),
    }
    program = adapted(PROGRAMS[1], places)
    with run(program, tmp_path, TOKEN="token", DB_PASSWORD="any") as follows:
        follows(lambda: "comments" in postgres.tables() and len(stored(postgres)) == 250, "all comments in the table")
        assert stored(postgres) == as_rows(api.records)
        assert {request.headers["authorization"] for request in api.requests} == {"Bearer token"}


@pytest.mark.slow
def test_the_third_program_of_the_readme_makes_replicas_of_a_schema(postgres: Postgres, tmp_path: Path) -> None:
    shop = new_postgres(postgres.server, f"{postgres.schema}_shop")
    shop.execute("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)", "INSERT INTO orders VALUES (1, 'one')")
    places = {
        "jdbc:postgresql://127.0.0.1/shop": shop.url,
        "jdbc:postgresql://127.0.0.1/warehouse": postgres.url,
        "public.*": f"{shop.schema}.*",
        'Slot("shop")': f'Slot("{shop.schema}")',
        'user="capture"': 'user="postgres"',
        'user="loader"': 'user="postgres"',
        "/data/checkpoints": str(tmp_path),
    }
    program = adapted(PROGRAMS[2], places)

    def replica() -> list[Row]:
        return postgres.query("SELECT * FROM orders ORDER BY id") if "orders" in postgres.tables() else []

    try:
        with run(program, tmp_path, CAPTURE_PASSWORD="any", DB_PASSWORD="any") as follows:
            follows(lambda: replica() == [(1, "one")], "the first row")
            shop.execute("UPDATE orders SET note = 'changed'", "INSERT INTO orders VALUES (2, 'two')")
            follows(lambda: replica() == [(1, "changed"), (2, "two")], "the changes")
    finally:
        shop.drop_slot()


@contextmanager
def run(program: str, directory: Path, **environment: str) -> Iterator[Callable[[Callable[[], bool], str], None]]:
    """Runs a program until the end of the block. Yields a function that waits for a condition while it runs."""
    output = directory / "output"
    with output.open("wb") as out:
        running = subprocess.Popen(
            [sys.executable, "-c", program], cwd=directory, env=os.environ | environment, stdout=out, stderr=out
        )

    def wait(condition: Callable[[], bool], what: str) -> None:
        until(lambda: running.poll() is not None or condition(), what)
        assert running.poll() is None, output.read_text("utf-8")

    try:
        yield wait
    finally:
        running.kill()
        running.wait()


def stored(postgres: Postgres) -> list[Row]:
    return postgres.query('SELECT "postId", id, name, email, body FROM comments ORDER BY id')


def test_the_readme_begins_with_why_then_a_program_the_guarantee_and_the_two_commands() -> None:
    first, _, rest = README.source.partition("\n## ")
    assert [block.language for block in README.blocks()][:3] == ["text", "python", "bash"]
    assert (
        first.index("```text")
        < first.index("```python")
        < first.index("**A query that is killed")
        < first.index("```bash")
    )
    assert "make demo" in first
    assert "make test" in first
    assert "| from ↓ to →" in rest
    assert rest.index('trigger="') < rest.index("| from ↓ to →")
    assert len(README.source.split()) < 900


def test_the_readme_names_the_wheel_and_the_jar_that_are_built() -> None:
    assert set(re.findall(r"epochal(?:-spark_2\.13)?-(\d[\w.]*?)(?:-py3|\.jar)", README.source)) == {VERSION}
