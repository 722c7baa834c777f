"""Secrets in options are not shown in any output, with any error and at any log level."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crash.cases import ON_POSTGRES, ROWS_PER_BATCH
from crash.scene import Scene
from support import postgres
from support.databases import Postgres, new_postgres
from support.drivers import Driver
from support.postgres import free_port

pytestmark = [pytest.mark.slow, pytest.mark.crash]

MARK = f"Mk{uuid.uuid4().hex}"
PASSWORD = f"{MARK}-password"
PROPERTY = f"{MARK}-property"
ROLE = "marked"
PAGES = ("/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/StreamingQuery/")
QUICK_END = {"retry.maxAttempts": 2, "retry.initialDelay": "10ms"}


@pytest.fixture
def database() -> Iterator[tuple[postgres.Server, Postgres]]:
    """A server that requires a password."""
    with postgres.server(access=f"host all {ROLE} 127.0.0.1/32 scram-sha-256") as server:
        made = new_postgres(server.dsn, "sink")
        made.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'", f"GRANT ALL ON SCHEMA sink TO {ROLE}")
        yield server, made


def test_secrets_are_in_no_output_page_event_or_checkpoint_at_debug_level(
    database: tuple[postgres.Server, Postgres], tmp_path: Path
) -> None:
    server, made = database
    events = tmp_path / "events"
    events.mkdir()
    login = {"user": ROLE, "password": PASSWORD, "connection.sslpassword": PROPERTY}
    scene = Scene(ON_POSTGRES, made, tmp_path, write=login)
    scene.create()
    made.execute(
        "CREATE TABLE one (id BIGINT PRIMARY KEY CHECK (id < 5), body TEXT)",
        f"GRANT ALL ON ALL TABLES IN SCHEMA sink TO {ROLE}",
    )
    conf = {
        "spark.ui.enabled": True,
        "spark.ui.port": 0,
        "spark.eventLog.enabled": True,
        "spark.eventLog.compress": False,
        "spark.eventLog.dir": events.as_uri(),
        "spark.log.level": "DEBUG",
    }
    append = ON_POSTGRES[0]
    driver = Driver("local[4,4]", conf=conf)
    try:
        driver.start(scene.queries())
        scene.advance(driver)
        made.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'")
        scene.advance(driver)
        server.stop()
        server.start()
        scene.outlive_crash(driver)
        failures = [
            start(driver, scene.query(append, table="one", sinkId="constraint")),
            start(driver, scene.query(append, table="missing", sinkId="missing")),
            start(driver, scene.query(append, sinkId="shared")),
            start(driver, scene.query(append, password=f"{PASSWORD}-wrong", **QUICK_END)),
            start(driver, scene.query(append, **{"connection.socketFactory": PROPERTY}, **QUICK_END)),
            start(driver, scene.query(append, url=f"jdbc:postgresql://127.0.0.1:{free_port()}/x", **QUICK_END)),
            start(
                driver,
                scene.query(append, table="one", sinkId="bad", onNewQuery="append:constraint") | {"shape": "bad"},
            ),
        ]
        for error, expected in zip(
            failures,
            (
                "DATABASE_ERROR",
                "TABLE_MISSING",
                "TARGET_SHARED",
                "LOGIN_REFUSED",
                "",
                "DATABASE_UNREACHABLE",
                "BAD_ROW",
            ),
            strict=True,
        ):
            assert expected in error, failures
        where = driver.ask("where")
        pages = list(looked_at(where["ui"], where["application"]))
        driver.stop_queries()
        scene.check_all()
        assert MARK not in json.dumps([failures, driver.status()])
    finally:
        driver.kill()
    output = driver.all_output()
    assert b"DEBUG" in output
    assert len(pages) > len(PAGES)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.is_relative_to(events) for path in found)
    leaks = [str(path) for path in found if MARK.encode() in path.read_bytes()]
    leaks += [line for line in output.decode("utf-8", "replace").splitlines() if MARK in line]
    leaks += [name for name, text in pages if MARK in text]
    assert not leaks, leaks[:5]


def start(driver: Driver, query: dict[str, Any]) -> str:
    """The error of a query that cannot run."""
    name = uuid.uuid4().hex
    query |= {"name": name, "source": {"max_rows": ROWS_PER_BATCH}}
    query["write"]["checkpoint"] += name
    refused = driver.try_start([query])
    return refused.get(name) or driver.error_of(name)


def looked_at(ui: str, application: str) -> Iterator[tuple[str, str]]:
    """Pages of Spark's UI and responses of its REST API."""
    base = f"/api/v1/applications/{application}"
    api = ("environment", "jobs", "stages", "executors", "sql?details=true&planDescription=true&length=1000")
    for path in (*PAGES, *(f"{base}/{name}" for name in api), "/SQL/execution/?id=0"):
        try:
            with urllib.request.urlopen(ui + path, timeout=300) as answer:
                yield path, answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            yield path, error.read().decode("utf-8", "replace")
