"""Ledgers in PostgreSQL, read with a Python driver: ``epochal.ledger`` and the commands, without Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psycopg
import pytest

from epochal.__main__ import main
from epochal.tools.ledger import ledger as read_ledger
from epochal.tools.ledger import needs_session
from epochal.tools.ledger import postgres as ledger_in_postgres
from support.checkpoints import QUERY, of_kind
from support.databases import Postgres
from support.documents import page

COLUMNS = "sink_id, v, query_id, target, target_oid, last_epoch, trigger_mode, offsets_hash, digest, rows, epochs"
VALUES = "'strings', 1, '{query}', 'comments', 7, {last}, 'micro-batch', NULL, '00', 10, 3"


@pytest.fixture
def ledger(postgres: Postgres) -> Postgres:
    """A ledger that was made by the statements of the page, with one sink of the query of ``of_kind``."""
    (block,) = (found for found in page("docs/PROTOCOL.md").blocks("sql") if "epochal_ledger_retired" in found.text)
    tables = [made for made in block.text.split(";") if made.lstrip().startswith("CREATE TABLE")]
    more = "30, 2, 'run', '1', 1, '2026-01-01 12:00:00.5+02', '2026-01-02 00:00:00Z'"
    row = VALUES.format(query=QUERY, last=2)
    postgres.execute(
        *(made.replace("public.", "") for made in tables),
        f"INSERT INTO epochal_ledger ({COLUMNS}, total_rows, generation, run_id, server_id, timeline, created_at, "
        f"updated_at) VALUES ({row}, {more})",
    )
    return postgres


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_a_ledger_in_postgresql_is_read_without_spark(
    driver: str,
    ledger: Postgres,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(driver)
    monkeypatch.setattr(ledger_in_postgres, "_DRIVERS", (driver,))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    place = of_kind(tmp_path / "place", "files")
    assert main(["status", str(place), "--url", ledger.url, "--user", "postgres"]) == 0
    assert "state       in step: epoch 2 is the last one in both." in capsys.readouterr().out
    plain = ledger.url.partition("?")[0]
    assert main(["ledger", "list", "--url", plain, "--schema", ledger.schema, "--user", "postgres", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["place"], found["sinks"][0]["created_at"]) == (plain, "2026-01-01T10:00:00.500000+00:00")
    assert main(["ledger", "list", "--url", f"{plain}?currentSchema=none", "--user", "postgres"]) == 1
    assert capsys.readouterr().err.startswith("LEDGER_NOT_FOUND: There is no table epochal_ledger in ")


def test_a_server_that_cannot_be_reached_is_named_without_the_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    assert main(["ledger", "list", "--url", "jdbc:postgresql://127.0.0.1:1/db?password=hunter3", "--user", "me"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("DATABASE_UNREACHABLE: The database jdbc:postgresql://127.0.0.1:1/db could not be reached")
    assert "hunter" not in shown


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("jdbc:postgresql://db/app", {"host": "db", "port": "5432", "dbname": "app"}),
        ("jdbc:postgresql://a:1,b/", {"host": "a,b", "port": "1,5432"}),
        ("jdbc:postgresql://[::1]:5433/a%20b", {"host": "::1", "port": "5433", "dbname": "a b"}),
        (
            "jdbc:postgresql://db/app?sslmode=verify-full&currentSchema=one,two",
            {"host": "db", "port": "5432", "dbname": "app", "sslmode": "verify-full", "search_path": "one,two"},
        ),
        ("jdbc:postgresql://db/app?socketFactory=x.Y", None),
        ("jdbc:postgresql://db/app?sslmode=require&sslkey=k.pk8", None),
        ("jdbc:postgresql:app", None),
        ("jdbc:mysql://db/app", None),
    ],
)
def test_a_url_is_read_by_python_only_if_it_has_no_settings_of_pgjdbc_alone(
    url: str, settings: dict[str, str] | None
) -> None:
    found = ledger_in_postgres.server(url)
    assert (found and found.settings) == settings
    assert found is None or found.driver is psycopg


def test_without_a_driver_a_session_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "jdbc:postgresql://db/app"
    assert not needs_session(url)
    monkeypatch.setattr(ledger_in_postgres, "_DRIVERS", ())
    assert needs_session(url)
    with pytest.raises(Exception, match=r"OPTION_REQUIRED.*pip install 'psycopg\[binary\]'"):
        read_ledger(url)
