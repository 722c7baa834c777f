"""Secrets in SQL are in no event, UI page or plan, and the statements work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import epochal
from support import connect_server
from support.api import Api
from support.places import ROOT
from support.scripts import run_script
from support.ui import events, kinds_with

MARK = "open-sesame"

#: Runs statements and prints where secrets are found; {session} creates the session.
PROGRAM = """
from support.ui import status_pages
spark = {session}
counts = []
shown = []
for statement in {statements!r}:
    if {described!r}:
        spark.sparkContext.setJobDescription(statement)
    try:
        result = spark.sql(statement)
    except epochal.EpochalError as error:
        assert " broken " in statement
        shown.append(str(error))
        continue
    if statement.startswith("SELECT count"):
        counts.append(result.first()[0])
    elif statement.startswith(("EXPLAIN", "DESCRIBE", "SHOW")):
        shown.append("\\n".join(str(row) for row in result.collect()))
plain = spark.read.format("epochal-rest").schema("id INT").options(**{options!r})
counts.append(plain.load().count())
pages = {{}}
if {described!r}:
    context = spark.sparkContext
    pages = status_pages(context.uiWebUrl, context.applicationId)
spark.stop()
says(counts=counts, shown=shown, pages=[name for name, text in pages.items() if {mark!r} in text], asked=list(pages))
"""


def statements(api: Api, database: Path) -> list[str]:
    """A view and tables over the API and a database, with a secret in every secret option."""
    secrets = f"headers.`X-Key` '{MARK}', 'params.key' '{MARK}', apiKey '{MARK}', user '{MARK}'"
    rest = f"USING `epochal-rest` OPTIONS (url '{api.url}?q={MARK}', {secrets})"
    jdbc = f"OPTIONS (url 'jdbc:sqlite:{database}', dbtable 'rows', createTable 'true', password '{MARK}')"
    return [
        f"CREATE TEMPORARY VIEW comments (id INT) {rest}",
        "SELECT count(*) FROM comments",
        "EXPLAIN EXTENDED SELECT * FROM comments",
        f"CREATE TEMPORARY VIEW broken (id INT) {rest.replace('params.key', 'parms.key')}",
        f"CREATE TABLE broken (id INT) {rest.replace('headers.', 'header.')}",
        f"CREATE TABLE broken {rest.replace('headers.', 'header.')} AS SELECT 1 AS id",
        f"CREATE TABLE listed (id INT) {rest}",
        f"CREATE OR REPLACE TABLE listed (id INT) {rest}",
        "SELECT count(*) FROM listed",
        "EXPLAIN FORMATTED SELECT * FROM listed",
        f"SELECT count(*) FROM listed WITH (`params.more` = '{MARK}')",
        f"CREATE TABLE kept (id INT) USING `epochal-jdbc` {jdbc}",
        "INSERT INTO kept SELECT id FROM comments",
        "DESCRIBE EXTENDED listed",
        "SHOW CREATE TABLE listed",
        "SELECT count(*) FROM comments",
    ]


def settings(directory: Path, warehouse: Path) -> dict[str, str]:
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": directory.as_uri(),
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.ui.explainMode": "extended",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    directory = tmp_path / "events"
    directory.mkdir()
    return directory


@pytest.fixture
def filled(api: Api) -> Api:
    api.records = [{"id": 1}, {"id": 2}, {"id": 3}]
    return api


def run(session: str, api: Api, tmp_path: Path, described: bool) -> dict[str, Any]:
    source = PROGRAM.format(
        session=session,
        statements=statements(api, tmp_path / "kept.db"),
        described=described,
        options={"url": api.url, "headers.X-Key": MARK, "params.key": MARK, "apiKey": MARK},
        mark=MARK,
    )
    return run_script(source, PYTHONPATH=f"{ROOT / 'tests'}:{':'.join(sys.path)}")


@pytest.mark.slow
def test_secrets_in_sql_are_in_no_event_page_or_plan(filled: Api, log: Path, tmp_path: Path) -> None:
    conf = settings(log, tmp_path / "warehouse")
    facts = run(f"epochal.configure(builder().config(map={conf!r})).getOrCreate()", filled, tmp_path, described=True)
    assert facts["counts"] == [3] * 5
    assert {request.headers.get("x-key") for request in filled.requests} == {MARK}
    assert len(facts["asked"]) == 4
    assert facts["pages"] == []
    assert not any(MARK in text for text in facts["shown"]), facts["shown"]
    found = events(log)
    assert any(event["Event"].endswith("SparkListenerSQLExecutionStart") for event in found)
    assert kinds_with(found, MARK) == []


@pytest.mark.slow
def test_secrets_in_sql_are_in_no_event_of_a_connect_server(filled: Api, log: Path, tmp_path: Path) -> None:
    conf = settings(log, tmp_path / "warehouse") | {
        "spark.sql.extensions": "io.epochal.formats.EpochalExtensions",
        "spark.epochal.allowedFiles": str(tmp_path),
    }
    with connect_server.running(epochal.jar_path(), conf) as address:
        session = f'epochal.configure(SparkSession.builder.remote("{address}")).getOrCreate()'
        facts = run(session, filled, tmp_path, described=False)
    assert facts["counts"] == [3] * 5
    assert not any(MARK in text for text in facts["shown"]), facts["shown"]
    found = events(log)
    assert any(event["Event"].endswith("SparkListenerConnectOperationStarted") for event in found)
    assert kinds_with(found, MARK) == []


@pytest.mark.slow
def test_secrets_in_sql_are_in_no_event_of_a_thrift_server(filled: Api, log: Path, tmp_path: Path) -> None:
    conf = settings(log, tmp_path / "warehouse") | {
        "spark.sql.extensions": "io.epochal.formats.EpochalExtensions",
        "spark.epochal.allowedFiles": str(tmp_path),
    }
    with connect_server.thrift(epochal.jar_path(), tmp_path, conf) as url:
        output = connect_server.beeline(url, statements(filled, tmp_path / "kept.db"))
    assert output.splitlines().count("3") == 4, output
    assert {request.headers.get("x-key") for request in filled.requests} == {MARK}
    found = events(log)
    assert any("HiveThriftServer2" in event["Event"] or "thriftserver" in event["Event"] for event in found)
    assert kinds_with(found, MARK) == []


@pytest.mark.slow
@pytest.mark.parametrize("extended", [True, False])
def test_a_session_without_the_extension_is_warned_once(filled: Api, log: Path, tmp_path: Path, extended: bool) -> None:
    conf = settings(log, tmp_path / "warehouse") | {"spark.jars": str(epochal.jar_path()), "spark.log.level": "WARN"}
    if extended:
        conf["spark.sql.extensions"] = "io.epochal.formats.EpochalExtensions"
    view = f"VIEW v{{n}} (id INT) USING `epochal-rest` OPTIONS (url '{filled.url}', apiKey '{MARK}')"
    facts = run_script(f"""
import subprocess
program = '''
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config(map={conf!r}).getOrCreate()
for n in (1, 2):
    spark.sql(f"CREATE TEMPORARY {view}")
spark.stop()
'''
done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
advice = "spark.sql.extensions=io.epochal.formats.EpochalExtensions"
says(warnings=done.stderr.count(advice), output=done.stderr[-3000:])
""")
    assert facts["warnings"] == (0 if extended else 1), facts["output"]
