"""Errors have at most fifteen lines and are Epochal's: in a script, in a notebook, over Spark Connect."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import epochal
from epochal._errors import short_traceback
from support import connect_server, notebooks
from support.api import Api
from support.cluster import SMALL, Cluster
from support.mistakes import MISTAKES
from support.places import ROOT
from support.scripts import SESSION, run_script

MOST = 15

#: Runs the mistakes as the main module of an interpreter, and prints its stderr.
SCRIPT = """
import contextlib, io, linecache
from support.mistakes import MISTAKES
spark, url, bad, place = {session}, {url!r}, {bad!r}, {place!r}
shown = {{}}
for name, code in MISTAKES.items():
    file = "job " + name + ".py"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    try:
        exec(compile(code, file, "exec"))
        shown[name] = ["no error", ""]
    except Exception as error:
        printed = io.StringIO()
        with contextlib.redirect_stderr(printed):
            sys.excepthook(type(error), error, error.__traceback__.tb_next)
        is_ours = isinstance(error, epochal.EpochalError) and isinstance(error, Exception)
        shown[name] = [error.condition if is_ours else repr(error)[:300], printed.getvalue()]
says(shown=shown)
spark.stop()
"""

LOCAL = 'epochal.configure(builder().config("spark.log.level", "OFF")).getOrCreate()'


@pytest.fixture
def bad(api: Api) -> str:
    api.records = [{"id": "not a number"}]
    return api.url


def assert_short(shown: dict[str, list[str]]) -> None:
    assert {name: condition for name, (condition, _) in shown.items()} == {name: name.split()[0] for name in MISTAKES}
    lengths = {name: len(text.rstrip().splitlines()) for name, (_, text) in shown.items()}
    assert {name: length for name, length in lengths.items() if length > MOST} == {}, shown
    for name, (condition, text) in shown.items():
        assert f"[EPOCHAL.{condition}] " in text, name
        assert f"job {name}.py" in text or "ipykernel" in text or "Cell" in text, text


@pytest.mark.slow
def test_a_script_shows_at_most_fifteen_lines(bad: str, tmp_path: Path) -> None:
    source = SCRIPT.format(session=LOCAL, url="http://127.0.0.1:1", bad=bad, place=str(tmp_path))
    path = f"{ROOT / 'tests'}:{':'.join(sys.path)}"
    assert_short(run_script(source, PYTHONPATH=path)["shown"])


@pytest.fixture(scope="module")
def allowed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A server whose owner allows clients the files of these tests."""
    return {"spark.epochal.allowedFiles": str(tmp_path_factory.getbasetemp())}


@pytest.fixture(scope="module")
def server(allowed: dict[str, str]) -> Iterator[str]:
    with connect_server.running(epochal.jar_path(), allowed) as address:
        yield address


@pytest.fixture(scope="module")
def server_without_jar(allowed: dict[str, str]) -> Iterator[str]:
    with connect_server.running(None, allowed) as address:
        yield address


@pytest.mark.slow
def test_a_script_over_connect_shows_at_most_fifteen_lines(server: str, bad: str, tmp_path: Path) -> None:
    session = f'epochal.configure(SparkSession.builder.remote("{server}")).getOrCreate()'
    source = SCRIPT.format(session=session, url="http://127.0.0.1:1", bad=bad, place=str(tmp_path))
    path = f"{ROOT / 'tests'}:{':'.join(sys.path)}"
    assert_short(run_script(source, PYTHONPATH=path)["shown"])


@pytest.mark.slow
def test_a_server_without_the_jar_raises_session_without_jar(server_without_jar: str, tmp_path: Path) -> None:
    facts = run_script(f"""
spark = SparkSession.builder.remote("{server_without_jar}").getOrCreate()
said = []
try:
    epochal.read.random(spark)
except epochal.SessionWithoutJarError as error:
    said.append(str(error))
spark.addArtifacts(str(epochal.jar_path()))
try:
    query = epochal.write.jdbc(epochal.read.random(spark, rows_per_batch=5, max_rows=5), "jdbc:sqlite:{tmp_path}/x.db",
        table="t", create_table=True, checkpoint="{tmp_path}/checkpoint", trigger="availableNow")
    query.awaitTermination()
except epochal.SessionWithoutJarError as error:
    said.append(str(error))
says(said=said)
""")
    assert len(facts["said"]) == 2
    assert all("server runs without" in text and "--jars epochal-spark" in text for text in facts["said"])


@pytest.mark.slow
def test_a_notebook_shows_at_most_fifteen_lines(bad: str, tmp_path: Path) -> None:
    first = f"""
import epochal
from pyspark.sql import SparkSession
quick = {{"spark.ui.enabled": False, "spark.log.level": "OFF"}}
spark = epochal.configure(SparkSession.builder.master("local[1]").config(map=quick)).getOrCreate()
url, bad, place = "http://127.0.0.1:1", {bad!r}, {str(tmp_path)!r}
"""
    book = notebooks.of(first, *MISTAKES.values(), "spark.stop()")
    notebooks.run(book, allow_errors=True)
    shown = {}
    for name, cell in zip(MISTAKES, book.cells[1:-1], strict=True):
        errors = [output for output in cell.outputs if output.output_type == "error"]
        text = "\n".join(errors[0].traceback) if errors else ""
        found = re.search(r"\[EPOCHAL\.(\w+)\]", text)
        shown[name] = [found[1] if found else json.dumps(cell.outputs)[:500], text]
    assert_short(shown)


#: Failures while a query or a job runs, and one before; ``bad`` is an API whose records do not fit the schema.
FAILING = {
    "a bad record": """
rows = epochal.read.rest(spark, bad, schema="id INT")
query = epochal.write.jdbc(rows, f"jdbc:sqlite:{place}/a.db", table="t", create_table=True, checkpoint=f"{place}/a")
query.awaitTermination()
""",
    "a bad record in a batch": """
epochal.read.rest(spark, bad + "?of=batch", schema="id INT", streaming=False).collect()
""",
    "a lost database": """
rows = epochal.read.random(spark, rows_per_batch=5)
file = f"{place}/b.db"
query = epochal.write.jdbc(rows, f"jdbc:sqlite:{file}", table="t", create_table=True, checkpoint=f"{place}/b")
while query.lastProgress is None: pass
os.remove(file)
query.awaitTermination()
""",
    "a refused option": """
spark.readStream.format("epochal-rest").options(url=bad, pagesiz="1").schema("id INT").load().schema
""",
}
NO_BAR = 'builder().config("spark.ui.showConsoleProgress", False)'
#: Runs them with Spark's default log.
LOGGED = """
import time
spark = epochal.configure({builder}).getOrCreate()
bad, place = {bad!r}, {place!r}
for name, code in {failing!r}.items():
    print("BEGIN", name, file=sys.stderr, flush=True)
    try:
        exec(code)
    except epochal.EpochalError as error:
        time.sleep(1)
        print("CONDITION", error.condition, file=sys.stderr, flush=True)
spark.stop()
"""


@pytest.mark.slow
def test_spark_logs_a_failure_once_and_without_stack_traces(bad: str, tmp_path: Path) -> None:
    parts = logged(NO_BAR, bad, tmp_path)
    for name, part in parts.items():
        assert len(part.splitlines()) <= 12, part
        assert len(with_hint(part)) == (name != "a refused option"), part


def logged(builder: str, bad: str, place: Path) -> dict[str, str]:
    """A driver's log lines for each failure, without stack traces."""
    program = SESSION + LOGGED.format(builder=builder, bad=bad, place=str(place), failing=FAILING)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    parts = dict(part.split("\n", 1) for part in done.stderr.split("BEGIN ")[1:])
    assert [*parts] == [*FAILING]
    for name, part in parts.items():
        parts[name], condition, _ = part.partition("CONDITION ")
        assert condition, part
        assert stack_traces(parts[name]) == [], part
    return parts


def stack_traces(log: str) -> list[str]:
    return [line for line in log.splitlines() if line.startswith(("\tat ", "Caused by", "io.epochal"))]


def with_hint(log: str) -> list[str]:
    return [line for line in log.splitlines() if " Hint: " in line]


@pytest.mark.slow
def test_the_machines_of_a_cluster_log_a_failure_once_and_without_stack_traces(
    two_workers: Cluster, bad: str, tmp_path: Path
) -> None:
    parts = logged(f'{NO_BAR}.master("{two_workers.master}").config(map={SMALL})', bad, tmp_path)
    assert [name for name, part in parts.items() if len(with_hint(part)) > 1] == []
    logs = {file: file.read_text("utf-8") for file in two_workers.directory.glob("worker*/app-*/*/stderr")}
    assert [line for log in logs.values() for line in with_hint(log) if "RECORD_INVALID" in line]
    assert {file: found for file, log in logs.items() if (found := stack_traces(log))} == {}


@pytest.mark.slow
def test_a_connect_server_logs_a_failure_once_and_without_stack_traces(
    bad: str, tmp_path: Path, allowed: dict[str, str]
) -> None:
    log = tmp_path / "server.log"
    with connect_server.running(epochal.jar_path(), {**allowed, "spark.log.level": "WARN"}, log=log) as address:
        logged(f'SparkSession.builder.remote("{address}")', bad, tmp_path)
    text = log.read_text("utf-8")
    assert stack_traces(text) == []
    assert len([line for line in with_hint(text) if "RECORD_INVALID" in line]) == 2, text


def conditions() -> list[str]:
    """The messages of docs/ERRORS.md, as the jar formats them."""
    rows = re.findall(r"^- `(\w+)`: (.*?) → (.*)$", (ROOT / "docs/ERRORS.md").read_text("utf-8"), re.MULTILINE)
    return [f"[EPOCHAL.{name}] {problem} Hint: {hint}" for name, problem, hint in rows]


def test_every_error_of_the_reference_is_short_at_any_stack_depth() -> None:
    assert len(conditions()) > 60
    code = "def deep(n, message):\n    if n == 0:\n        raise RuntimeError(message)\n    deep(n - 1, message)\n"
    library: dict[str, Any] = {}
    exec(compile(code, "/x/pyspark/y.py", "exec"), library)
    for message in conditions():
        trace = "\n".join("\tat x.y.Z(Z.scala:1)" for _ in range(99))
        with pytest.raises(epochal.EpochalError) as caught, epochal.errors.named():
            library["deep"](40, f"Query terminated with exception: {message} SQLSTATE: XXKST\n{trace}")
        lines = short_traceback(caught.value)
        assert len(lines) <= MOST
        assert lines[-1].endswith(str(caught.value))
        assert str(caught.value.original).startswith("Query terminated")
