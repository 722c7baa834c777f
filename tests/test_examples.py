"""The programs in ``examples``, each in a separate process, started as in ``docs/examples.md``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pyspark
import pytest

from support.databases import Postgres, Sqlite
from support.documents import page
from support.places import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
PAGE = page("docs/examples.md")
DELTA_JARS = sorted(str(jar) for jar in (ROOT / "build" / "delta").glob("*.jar"))


def run(name: str, *arguments: str | Path, work: Path, submit: str = "", **environment: str) -> str:
    """Runs an example in the directory ``work``; returns its output.

    Args:
        submit: options of ``spark-submit``.
    """
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=work,
        env=os.environ
        | {"PYSPARK_SUBMIT_ARGS": f"--conf spark.ui.enabled=false {submit} pyspark-shell", "PYTHONUTF8": "1"}
        | environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shown(name: str) -> str:
    """The output of an example on the page."""
    (output,) = [
        after.text
        for before, after in zip(PAGE.blocks(), PAGE.blocks()[1:], strict=False)
        if f"examples/{name}" in before.text and after.language == "text"
    ]
    return output


def numbers(pattern: str, output: str) -> list[tuple[int, ...]]:
    """The match groups of each matching line."""
    return [tuple(map(int, match.groups())) for match in re.finditer(pattern, output, re.MULTILINE)]


def test_each_program_is_on_the_page() -> None:
    named = set(re.findall(r"examples/(\w+\.\w+)", PAGE.source))
    assert named == {path.name for path in EXAMPLES.iterdir() if path.is_file()}


def test_lengths_of_random_strings_are_counted_and_no_string_is_read_twice(tmp_path: Path) -> None:
    output = run("random_strings.py", work=tmp_path)
    assert output.splitlines()[-1].split() == ["all", "1500"]
    epochs = numbers(r"^epoch +(\d+) +strings +(\d+) to +(\d+) +(\d+) left$", output)
    assert [(first, last) for _, first, last, _ in epochs] == [(n, n + 99) for n in range(0, 1500, 100)]
    assert [left for *_, left in epochs] == [*range(900, -1, -100), *range(400, -1, -100)]
    again = run("random_strings.py", work=tmp_path)
    assert numbers(r"^epoch +(\d+)", again) == []
    assert again.partition("Strings of each length")[2] == output.partition("Strings of each length")[2]


def test_lines_of_files_are_counted_in_three_ways_and_dstreams_miss_a_file(tmp_path: Path) -> None:
    output = run("file_lines.py", work=tmp_path)
    counts = numbers(r"^ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$", output)
    assert {length: published for length, published, *_ in counts} == {3: 3, 4: 2, 5: 3}
    assert all(published == memory == table for _, published, _, memory, table in counts)
    assert [length for length, published, dstreams, *_ in counts if dstreams < published] == [3, 5]


def test_webhooks_become_rows_once_although_the_driver_is_killed(tmp_path: Path) -> None:
    output = run("webhooks.py", work=tmp_path)
    assert output == shown("webhooks.py")
    assert numbers(r"^(\d+) deliveries acknowledged, (\d+) rows, (\d+) different ones, in order$", output) == [
        (200, 200, 200)
    ]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_targets_have_each_comment_once_and_no_progress_file(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database: Sqlite | Postgres = Sqlite(tmp_path / "comments" / "comments.db")
    if kind == "sqlite":
        output = run("comments_two_targets.py", work=tmp_path)
    else:
        database = request.getfixturevalue("postgres")
        arguments = ["--url", database.url, "--user", str(database.user)]
        output = run("comments_two_targets.py", *arguments, work=tmp_path, DB_PASSWORD="any")
    ((stopped, twice), finished) = numbers(r"^  database: (\d+) of 300 comments, (\d+) of them twice$", output)
    assert 100 <= stopped <= 300
    assert twice == 0
    assert finished == (300, 0)
    assert database.query("SELECT count(*), count(DISTINCT id), max(id) FROM comments") == [(300, 300, 300)]
    files = {path.name for path in (tmp_path / "comments").iterdir()}
    assert files - {"comments.db", "comments.db-wal", "comments.db-shm"} == {"checkpoint-database"}


@pytest.mark.matrix
@pytest.mark.skipif(not pyspark.__version__.startswith("4.0."), reason="the release of Delta fetched is for Spark 4.0")
def test_a_delta_table_has_each_comment_once(tmp_path: Path) -> None:
    output = run("comments_two_targets.py", "--delta", work=tmp_path, submit=f"--jars {','.join(DELTA_JARS)}")
    assert numbers(r"^  (?:database|delta): (\d+) of 300 comments, (\d+) of them twice$", output)[2:] == [(300, 0)] * 2


def test_two_hops_show_whole_epochs_and_finally_all_records(tmp_path: Path) -> None:
    output = run("two_hops.py", work=tmp_path)
    totals = [total for (total,) in numbers(r"^(\d+) comments$", output)]
    assert totals == sorted(totals)
    assert all(total % 40 == 0 for total in totals)
    assert (totals[0], totals[-1]) == (40, 160)
    final = re.findall(r"^  (\w+) +(\d+) █+$", output.partition("All that the API has:")[2], re.MULTILINE)
    assert len(final) == 5
    assert sum(int(count) for _, count in final) == 160


def test_the_comments_api_serves_pages() -> None:
    command = [sys.executable, str(EXAMPLES / "comments_api.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().split()[3]
            with urllib.request.urlopen(f"{url}?_start=490&_limit=100", timeout=30) as response:
                served: list[dict[str, Any]] = json.load(response)
            assert [comment["id"] for comment in served] == list(range(491, 501))
            assert list(served[0]) == ["postId", "id", "name", "email", "body"]
        finally:
            process.kill()
