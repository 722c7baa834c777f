"""Ledgers in PostgreSQL, read with a Python driver: ``epochal.ledger`` and the commands, without Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

import epochal
from epochal.__main__ import main
from epochal.tools.ledger import ledger as read_ledger
from epochal.tools.ledger import needs_session
from epochal.tools.ledger import postgres as ledger_in_postgres
from support.checkpoints import QUERY, of_kind
from support.databases import Postgres
from support.documents import page
from support.passwords import AskingServer

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


@pytest.fixture
def role(ledger: Postgres) -> Iterator[str]:
    """A role that may read the ledger, and has no other rights."""
    name = f"{ledger.schema}_reader"
    tables = f"ON ALL TABLES IN SCHEMA {ledger.schema}"
    ledger.execute(f"CREATE ROLE {name} LOGIN", f"GRANT USAGE ON SCHEMA {ledger.schema} TO {name}")
    ledger.execute(f"GRANT SELECT {tables} TO {name}")
    yield name
    ledger.execute(f"REASSIGN OWNED BY {name} TO postgres", f"DROP OWNED BY {name}", f"DROP ROLE {name}")


@pytest.mark.parametrize(
    ("statements", "reader", "problem"),
    [
        (
            ["ALTER TABLE epochal_ledger RENAME TO kept", "CREATE VIEW epochal_ledger AS SELECT * FROM kept"],
            "postgres",
            "OBJECT_UNTRUSTED: The role 'postgres' does not trust {schema}.epochal_ledger, which should be a table of "
            "the ledger: it is not an ordinary table.",
        ),
        (
            ["ALTER TABLE epochal_ledger_history OWNER TO {role}"],
            "postgres",
            "OBJECT_UNTRUSTED: The role 'postgres' does not trust {schema}.epochal_ledger_history, which should be a "
            "table of the ledger: it belongs to the role '{role}'.",
        ),
        (
            ["CREATE POLICY p ON epochal_ledger USING (false)", "ALTER TABLE epochal_ledger ENABLE ROW LEVEL SECURITY"],
            "{role}",
            "DATABASE_ERROR: {place} failed: query would be affected by row-level security policy for table "
            '"epochal_ledger".',
        ),
    ],
    ids=["view", "owner", "hidden rows"],
)
def test_what_another_role_can_have_planted_is_not_read(
    statements: list[str], reader: str, problem: str, role: str, ledger: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"role": role, "schema": ledger.schema, "place": ledger.url.partition("?")[0]}
    ledger.execute(*(statement.format(**names) for statement in statements))
    assert main(["ledger", "list", "--url", ledger.url, "--user", reader.format(**names)]) == 1
    assert capsys.readouterr().err.startswith(problem.format(**names))


PROGRESS = "sink_id text, query_id text, task_partition bigint, digest text"


def test_rows_beyond_the_last_epoch_are_counted_for_roles_that_may_read_them(role: str, ledger: Postgres) -> None:
    partitions = [f"'strings', '{QUERY}', {partition}, ''" for partition in range(2)]
    ledger.execute(
        f"CREATE TABLE epochal_ledger_progress ({PROGRESS}, applied bigint)",
        f"CREATE TABLE epochal_ledger_boundary ({PROGRESS}, epoch bigint, delivered bigint)",
        *(f"INSERT INTO epochal_ledger_progress VALUES ({one}, 100)" for one in partitions),
        *(f"INSERT INTO epochal_ledger_boundary VALUES ({one}, {n}, {40 * n})" for one in partitions for n in (1, 2)),
        "INSERT INTO epochal_ledger_progress VALUES ('strings', 'another', 0, '', 7)",
    )
    (found,) = read_ledger(ledger.url, user="postgres")
    assert found.rows_beyond == 40
    assert "last epoch  epoch 2 (10 rows), and 40 rows of the next one" in str(found)
    assert [one.rows_beyond for one in read_ledger(ledger.url, user=role)] == [None]
    ledger.execute(f"ALTER TABLE epochal_ledger_progress OWNER TO {role}")
    with pytest.raises(epochal.DatabaseError, match=r"OBJECT_UNTRUSTED.*epochal_ledger_progress"):
        read_ledger(ledger.url, user="postgres")


EQUAL = "'80 rows equal, 0 different, 0 missing, 0 extra'"
DIFFERENT = "'80 rows equal, 1 different, 0 missing, 1 extra; different: (id 5)'"


@pytest.fixture
def comparisons(ledger: Postgres) -> Postgres:
    """The last comparison of each replica, in a table that was made by the statement of the page."""
    made = next(found for found in page("docs/PROTOCOL.md").blocks("sql") if "_verification (" in found.text)
    day, before = "'2026-12-01 12:00Z'", "'2026-11-30 12:00Z'"
    rows = [
        f"'a', '0/2', 80, 0, 0, 0, 0, {EQUAL}, {day}, NULL, '0/2', {day}",
        f"'b', '0/2', 80, 1, 0, 1, 0, {DIFFERENT}, {day}, NULL, '0/1', {before}",
        f"'c', '0/2', 80, 1, 0, 1, 0, {DIFFERENT}, {day}, '(id 90)', NULL, NULL",
        f"'d', '0/2', 80, 0, 0, 0, 0, {EQUAL}, {day}, '(id 90)', '0/1', {before}",
        f"'e', '0/2', NULL, NULL, NULL, NULL, NULL, 'not compared: rows were set aside', {day}, NULL, NULL, NULL",
        f"'f', '0/2', 80, 0, 0, 0, 1, '80 rows equal, 1 not compared', {day}, NULL, NULL, NULL",
    ]
    ledger.execute(
        made.text.replace("public.", ""),
        *(f"INSERT INTO epochal_ledger_verification VALUES ('strings', {row})" for row in rows),
        f"INSERT INTO epochal_ledger_verification VALUES ('another', {rows[1]})",
    )
    return ledger


def test_the_last_comparison_of_each_replica_is_shown(
    comparisons: Postgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    login = ["--url", comparisons.url, "--user", "postgres"]
    different = "80 rows equal, 1 different, 0 missing, 1 extra; different: (id 5)"
    lines = [
        "a: equal at 2026-12-01 12:00:00 UTC (0/2)",
        f"b: differs at 2026-12-01 12:00:00 UTC (0/2): {different}. Last equal at 2026-11-30 12:00:00 UTC (0/1)",
        f"c: differs at 2026-12-01 12:00:00 UTC (0/2), up to (id 90): {different}. Never equal",
        "d: incomplete at 2026-12-01 12:00:00 UTC (0/2), up to (id 90): "
        "80 rows equal, 0 different, 0 missing, 0 extra. Last equal at 2026-11-30 12:00:00 UTC (0/1)",
        "e: incomplete at 2026-12-01 12:00:00 UTC (0/2): not compared: rows were set aside. Never equal",
        "f: incomplete at 2026-12-01 12:00:00 UTC (0/2): 80 rows equal, 1 not compared. Never equal",
    ]
    status = ["status", str(of_kind(tmp_path / "place", "files")), *login]
    show = ["ledger", "show", "strings", *login]
    shown = "\n".join(f"  replica     {line}" for line in lines)
    assert (main(status), capsys.readouterr().out.endswith(f"{shown}\n")) == (3, True)
    assert (main(show), f"{shown}\n" in capsys.readouterr().out) == (0, True)
    assert main([*status, "--json"]) == 3
    replicas = json.loads(capsys.readouterr().out)["ledger"]["replicas"]
    assert main([*show, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replicas"] == replicas
    assert replicas[3] == {
        "target": "d",
        "position": "0/2",
        **dict.fromkeys(("different_rows", "missing_rows", "extra_rows", "other_rows"), 0),
        "equal_rows": 80,
        "result": "80 rows equal, 0 different, 0 missing, 0 extra",
        "verified_at": "2026-12-01T12:00:00+00:00",
        "until_key": "(id 90)",
        "equal_position": "0/1",
        "equal_at": "2026-11-30T12:00:00+00:00",
    }
    comparisons.execute("DELETE FROM epochal_ledger_verification WHERE target IN ('b', 'c')")
    assert main(status) == 0


def test_a_verification_table_without_the_column_of_chunks_is_read(comparisons: Postgres) -> None:
    comparisons.execute("ALTER TABLE epochal_ledger_verification DROP COLUMN until_key")
    (row,) = read_ledger(comparisons.url, user="postgres")
    assert [replica.until_key for replica in row.replicas] == [None] * 6


def test_comparisons_are_shown_to_roles_that_may_read_them_if_no_other_role_can_have_planted_them(
    comparisons: Postgres, role: str
) -> None:
    assert [len(row.replicas) for row in read_ledger(comparisons.url, user=role)] == [6]
    comparisons.execute(f"REVOKE SELECT ON epochal_ledger_verification FROM {role}")
    assert [row.replicas for row in read_ledger(comparisons.url, user=role)] == [()]
    comparisons.execute(f"ALTER TABLE epochal_ledger_verification OWNER TO {role}")
    with pytest.raises(epochal.DatabaseError, match=r"OBJECT_UNTRUSTED.*epochal_ledger_verification"):
        read_ledger(comparisons.url, user="postgres")


def test_a_role_that_may_only_read_reads_the_ledger(role: str, ledger: Postgres) -> None:
    assert [row.sink_id for row in read_ledger(ledger.url, user=role)] == ["strings"]


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_the_url_decides_and_a_schema_may_have_any_name(
    driver: str, ledger: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(driver)
    monkeypatch.setattr(ledger_in_postgres, "_DRIVERS", (driver,))
    url = f"{ledger.url.partition('?')[0]}?user=postgres&password=right"
    schema = f"{ledger.schema}%s?%"
    ledger.execute(f'ALTER SCHEMA {ledger.schema} RENAME TO "{schema}"')
    try:
        with monkeypatch.context() as patched:
            for name in ("PGUSER", "PGPASSWORD", "PGHOST", "PGDATABASE", "PGSSLROOTCERT"):
                patched.setenv(name, "wrong")
            patched.setenv("PGSSLMODE", "verify-full")
            patched.setenv("PGHOSTADDR", "192.0.2.1")
            patched.setenv("PGOPTIONS", "-c search_path=wrong -c default_transaction_isolation=wrong")
            patched.setenv("PGTARGETSESSIONATTRS", "standby")
            found = read_ledger(url, schema=schema, user="wrong", password="wrong")
        assert [row.sink_id for row in found] == ["strings"]
    finally:
        ledger.execute(f'ALTER SCHEMA "{schema}" RENAME TO {ledger.schema}')


def test_no_statement_is_prepared_on_a_server_that_may_be_a_pooler(ledger: Postgres) -> None:
    connections: list[psycopg.Connection] = []

    class Recorded:
        Error = psycopg.Error

        def connect(self, **settings: Any) -> psycopg.Connection:
            connections.append(psycopg.connect(**settings))
            return connections[-1]

    known = ledger_in_postgres.server(ledger.url)
    assert known
    assert len(replace(known, driver=Recorded()).read("epochal_ledger", "postgres", None)) == 1
    assert [connection.prepare_threshold for connection in connections] == [None]


@pytest.mark.parametrize("name", ["PGSERVICE", "PGDATABASE"])
def test_a_variable_that_no_setting_overrides_needs_a_session(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "other")
    assert needs_session("jdbc:postgresql://db/")
    assert needs_session("jdbc:postgresql://db/app") == (name == "PGSERVICE")


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_a_missing_password_is_a_refused_login_that_names_where_it_goes(
    driver: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(driver)
    monkeypatch.setattr(ledger_in_postgres, "_DRIVERS", (driver,))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    with AskingServer() as server:
        url = f"jdbc:postgresql://127.0.0.1:{server.port}/db"
        assert main(["ledger", "list", "--url", url, "--user", "me"]) == 1
        shown = capsys.readouterr().err
        assert shown.startswith(f"LOGIN_REFUSED: The database {url} refused the login: ")
        assert "Check --user and PGPASSWORD (or --password-file, --password-env), and" in shown
        with pytest.raises(
            epochal.DatabaseError, match=r"LOGIN_REFUSED.* Check user and password \(or password=Secret"
        ):
            read_ledger(url, user="me")


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ('FATAL:  password authentication failed for user "loader"', True),
        ("FATAL:  Passwort-Authentifizierung für Benutzer »loader« fehlgeschlagen", True),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.7", user "loader", database "db", no encryption', True),
        ('FATAL:  role "loader" does not exist', True),
        ('FATAL:  database "db" does not exist', False),
        ("Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?", False),
        ("server does not support SSL, but SSL was required", False),
    ],
)
def test_a_refused_login_is_known_by_the_words_of_libpq(reason: str, refused: bool) -> None:
    assert (
        bool(ledger_in_postgres._REFUSED.search(f'connection to server at "db", port 5432 failed: {reason}')) == refused
    )


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
        ("jdbc:postgresql://h:/app", None),
        ("jdbc:postgresql://h,,i/app", None),
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
