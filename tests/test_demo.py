"""``python -m epochal``: the demo from end to end, its report about the machine; and ``make demo-cdc``."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from crash import cdc_demo, replica
from epochal._version import VERSION
from epochal.tools.cli import info as _info
from epochal.tools.demo import comments, story
from epochal.tools.demo.database import SqliteTarget, target
from support.data import COLUMNS
from support.databases import Postgres, Sqlite
from support.programs import TESTS


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "epochal", *arguments],
        capture_output=True,
        text=True,
        timeout=170,
        env=os.environ | environment,
        check=False,
    )


def cells(output: str, label: str) -> list[str]:
    """The other cells of a table row."""
    (line,) = (line for line in output.splitlines() if re.match(rf"\W*{re.escape(label)}\W", line))
    return re.findall(r"\S+", re.sub(r"[│┃|]", " ", line.partition(label)[2]))


def test_500_comments_are_stored_once_after_a_kill_halfway(tmp_path: Path) -> None:
    done = run("demo", "--dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (int(cells(done.stdout, label)[0]) for label in ("run 1 (killed)", "run 2 (complete)"))
    assert 250 <= first < 500
    assert first + second == 500
    assert cells(done.stdout, "duplicates") == cells(done.stdout, "missing") == cells(done.stdout, "different") == ["0"]
    stored = Sqlite(tmp_path / "comments.db")
    rows = stored.query(f"SELECT {', '.join(COLUMNS)} FROM comments ORDER BY id")
    assert stored.query("SELECT generation FROM epochal_ledger") == [(2,)]
    assert rows == [tuple(comment.values()) for comment in comments.comments(500)]


@pytest.mark.slow
def test_the_demo_runs_on_postgresql(tmp_path: Path, postgres: Postgres) -> None:
    done = run("demo", "--dir", str(tmp_path), "--database-url", postgres.url, "--user", "postgres", "--rows", "200")
    assert done.returncode == 0, done.stdout + done.stderr
    assert postgres.query("SELECT count(*), count(DISTINCT id) FROM epochal_demo.comments") == [(200, 200)]
    assert postgres.tables() == set()


@pytest.mark.slow
def test_the_replicas_of_the_change_demo_are_equal_after_its_kills() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crash.cdc_demo"], cwd=TESTS, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ("killed in the snapshot", "killed in the stream", "the server was killed"):
        assert said in done.stdout
    assert done.stdout.splitlines()[-1] == "equal"


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM accounts_replica WHERE id = 3",
        "INSERT INTO history_replica VALUES (1, 1, 1, now())",
        "UPDATE accounts_replica SET document = '' WHERE id = 3",
    ],
)
def test_the_verdict_of_the_change_demo_detects_a_wrong_row(
    postgres: Postgres, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    replica.create(postgres, 10)
    postgres.execute("INSERT INTO accounts_replica SELECT * FROM accounts")
    assert cdc_demo.verdict(postgres)
    postgres.execute(change)
    assert not cdc_demo.verdict(postgres)
    assert capsys.readouterr().out.splitlines()[-1] == "NOT equal"


def test_the_comments_are_the_same_every_time() -> None:
    assert comments.comments(500) == comments.comments(500)
    assert len({comment["id"] for comment in comments.comments(500)}) == 500
    assert {comment["postId"] for comment in comments.comments(500)} == set(range(1, 101))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("DELETE FROM comments WHERE id = 3", {"missing": 1, "stored": 9}),
        ("INSERT INTO comments SELECT * FROM comments WHERE id = 3", {"duplicates": 1, "stored": 11}),
        ("UPDATE comments SET body = 'other' WHERE id = 3", {"different": 1}),
        ("UPDATE comments SET id = 300 WHERE id = 3", {"different": 1, "missing": 1}),
        ("DELETE FROM epochal_ledger_history WHERE generation = 1", {}),
    ],
)
def test_the_verdict_detects_wrong_rows(tmp_path: Path, change: str, found: dict[str, int]) -> None:
    served = comments.comments(10)
    database = SqliteTarget(tmp_path / "comments.db")
    connection = sqlite3.connect(database.path)
    connection.execute(f"CREATE TABLE comments ({', '.join(COLUMNS)})")
    connection.executemany("INSERT INTO comments VALUES (?, ?, ?, ?, ?)", [tuple(c.values()) for c in served])
    connection.execute("CREATE TABLE epochal_ledger_history (sink_id, generation, rows)")
    connection.execute("INSERT INTO epochal_ledger_history VALUES ('comments', 1, 5), ('comments', 2, 5)")
    connection.commit()
    assert story.compare(served, database).exactly_once
    connection.execute(change)
    connection.commit()
    connection.close()
    outcome = story.compare(served, database)
    assert not outcome.exactly_once
    expected = {"duplicates": 0, "missing": 0, "different": 0, "stored": 10} | found
    assert {name: getattr(outcome, name) for name in expected} == expected


def test_database_urls_become_jdbc_urls_without_the_password() -> None:
    found = target("postgresql://me:s3cret@db.example:5433/app?sslmode=require&currentSchema=mine", None, None)
    assert found.url == "jdbc:postgresql://db.example:5433/app?sslmode=require&currentSchema=epochal_demo"
    assert (found.user, found.password) == ("me", "s3cret")
    assert target("jdbc:postgresql://db/app", "you", "pw").url.startswith("jdbc:postgresql://db:5432/app?")


@pytest.mark.slow
def test_info_finds_everything_here(tmp_path: Path) -> None:
    done = run("info")
    assert done.returncode == 0, done.stdout
    for name in ("Python", "Java", "Spark", "Epochal (Python)", "Epochal (jar)"):
        assert re.search(rf"ok\W+{re.escape(name)}", done.stdout), name
    assert VERSION in done.stdout


@pytest.mark.slow
def test_info_shows_missing_requirements_and_how_to_install_them(tmp_path: Path) -> None:
    done = run("info", EPOCHAL_JAR=str(tmp_path / "none.jar"), JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "Install a JDK, 17 or newer" in done.stdout
    assert "Correct the environment variable EPOCHAL_JAR" in done.stdout


def test_the_demo_does_not_start_without_its_requirements(tmp_path: Path) -> None:
    done = run("demo", "--dir", str(tmp_path / "demo"), JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "Install a JDK, 17 or newer" in done.stderr
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize(
    ("version", "ok"), [("4.0.5", True), ("4.3.0", True), ("3.5.7", False), ("4.4.0", False), (None, False)]
)
def test_the_spark_lines_are_4_0_to_4_3(version: str | None, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_info, "_installed_version", lambda distribution: None)
    found = _info.spark(version)
    assert found.ok == ok
    assert ok or "pip install" in found.remedy
