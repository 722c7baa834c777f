"""``epochal cdc check`` and ``cdc.check``: the SQL of each point, typed, mends it; ``epochal status`` of a slot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest

import epochal
from epochal import cdc
from epochal.__main__ import main
from support import checkpoints
from support import postgres as servers
from support.databases import Postgres

#: Points that no SQL mends: another server, table or database is needed.
NOT_MENDED = {"server version", "server", "kind", "database", "reader", "retained", "failover"}


def run(dsn: str, *statements: str) -> list[Any]:
    """The rows of the last statement; each one is typed for itself, as in ``psql``."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        found: list[Any] = []
        for statement in statements:
            cursor = connection.execute(statement.encode())
            found = cursor.fetchall() if cursor.description else []
        return found


def typed(sql: str) -> list[str]:
    if "$$" in sql:  # A function has its own semicolons.
        return [sql]
    return [one.strip() for one in re.sub(r"/\*.*?\*/", "", sql).split(";") if one.strip()]


def subject(name: str) -> str:
    """``table public.a, log`` → ``log``."""
    return name.rpartition(", ")[2] if ", " in name else re.sub(r"^(slot|publication) .*", r"\1", name)


class Server:
    """A server without anything that capture needs."""

    def __init__(self, server: servers.Server) -> None:
        self.server = server
        self.dsn = server.dsn
        self.url = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"
        self.mended: set[str] = set()

    def check(self, tables: list[str], **slot: Any) -> cdc.Preflight:
        found = cdc.check(
            self.url, table=tables, user="capture", slot=cdc.Slot("shop", **slot), preimages="public.plain" in tables
        )
        assert found.is_ready == all(point.state != "missing" for point in found.points)
        return found

    def mend(self, tables: list[str], **slot: Any) -> None:
        """Types what the check prints until it prints nothing more, and checks that it has mended each point."""
        for _ in range(3):
            wrong = [point for point in self.check(tables, **slot).points if point.sql]
            if not wrong:
                return
            run(self.dsn, *(statement for point in wrong for statement in typed(point.sql)))
            if any("restart the server" in point.sql for point in wrong):
                self.server.stop()
                self.server.start()
            now = {point.name: point for point in self.check(tables, **slot).points}
            for point in wrong:
                assert point.name not in now or now[point.name].state == "ok", point
            self.mended |= {subject(point.name) for point in wrong}
        raise AssertionError(self.check(tables, **slot))


@pytest.fixture
def server() -> Iterator[Server]:
    with servers.server(wal_level=None) as made:
        run(
            made.dsn,
            "ALTER SYSTEM SET max_wal_senders = 0",
            "ALTER SYSTEM SET max_replication_slots = 1",
            "CREATE ROLE capture LOGIN",
            "CREATE TABLE plain (id INT PRIMARY KEY, note TEXT)",
            "CREATE UNLOGGED TABLE keyless (id INT)",
            "ALTER TABLE keyless ENABLE ROW LEVEL SECURITY",
            "CREATE TABLE parts (id INT PRIMARY KEY, part INT) PARTITION BY RANGE (id)",
            "CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
            "CREATE TABLE other (id INT PRIMARY KEY, part INT)",
            "ALTER TABLE other REPLICA IDENTITY NOTHING",
        )
        made.stop()
        made.start()
        run(made.dsn, "SELECT pg_create_physical_replication_slot('theirs')")
        yield Server(made)


@pytest.mark.slow
def test_the_sql_of_each_point_mends_it(server: Server) -> None:
    several = ["public.plain", "public.keyless", "public.parts", "public.other"]
    # Without a publication, then with one that was made for other purposes.
    server.mend(several)
    found = server.check(several)
    assert found.is_ready
    assert found.to_dict()["ready"] is True
    run(
        server.dsn,
        "DROP PUBLICATION shop",
        "ALTER TABLE other REPLICA IDENTITY NOTHING",
        "CREATE PUBLICATION shop FOR TABLE plain (id, note) WHERE (id > 5), parts, other WHERE (id > 7)"
        " WITH (publish = 'insert')",
        "SELECT pg_create_logical_replication_slot('shop', 'pgoutput', false, true)",
    )
    server.mend(["public.plain", "public.keyless", "public.parts"])
    # The publication's other table, and the list of columns, are as before.
    published = run(server.dsn, "SELECT tablename, rowfilter FROM pg_publication_tables WHERE rowfilter IS NOT NULL")
    assert published == [("other", "(id > 7)")]
    (listed,) = run(server.dsn, "SELECT prattrs::text FROM pg_publication_rel WHERE prrelid = 'plain'::regclass")[0]
    assert listed == "1 2"
    # A slot that is to exist, and one that the server has given up.
    server.mend(["public.plain"], create=False)
    more = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 20000000)), pg_switch_wal()"
    run(
        server.dsn,
        "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'",
        "SELECT pg_reload_conf()",
        more,
        more,
        "CHECKPOINT",
    )
    assert any(subject(point.name) == "state" and point.state == "missing" for point in server.check(several).points)
    server.mend(["public.plain"])

    names = {subject(point.name) for point in server.check(several).points} | {"slot"}
    run(server.dsn, "SELECT pg_create_logical_replication_slot('shop', 'pgoutput')")
    names |= {subject(point.name) for point in server.check(several).points}
    assert server.mended == names - NOT_MENDED - {"plugin"} | {"row-level security"}


def test_the_command_prints_the_points_and_fails_if_one_is_missing(
    postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    postgres.execute("CREATE TABLE keyless (id INT)", "CREATE TABLE orders (id INT PRIMARY KEY)")
    url = postgres.url.partition("?")[0]

    def command(table: str, *more: str) -> tuple[int, str]:
        code = main(["cdc", "check", url, "--table", f"{postgres.schema}.{table}", "--user", "postgres", *more])
        return code, capsys.readouterr().out

    code, shown = command("keyless", "--slot", postgres.schema)
    assert code == 1
    assert re.search(r"^ok +wal_level +logical$", shown, re.MULTILINE)
    assert re.search(rf"^missing +table {postgres.schema}.keyless, replica identity +DEFAULT", shown, re.MULTILINE)
    assert f": ALTER TABLE {postgres.schema}.keyless REPLICA IDENTITY FULL; /* or add a primary key */\n" in shown
    code, shown = command("keyless", "--json")
    values = json.loads(shown)
    assert (code, values["ready"], values["table"]) == (1, False, f"{postgres.schema}.keyless")
    assert {point["state"] for point in values["points"]} == {"ok", "warning", "missing"}
    assert not any(point["name"].startswith(("slot ", "publication ")) for point in values["points"])
    code, shown = command("orders", "--slot", postgres.schema)
    assert code == 0
    assert re.search(rf"^ok +slot {postgres.schema} +will be created$", shown, re.MULTILINE)
    assert postgres.query(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{postgres.schema}'") == []


def test_a_table_that_does_not_exist_is_named_with_the_argument(
    postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres.url.partition("?")[0]
    assert main(["cdc", "check", url, "--table", f"{postgres.schema}.ordres", "--user", "postgres"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("TABLE_MISSING: ")
    assert "'--table'" in shown
    with pytest.raises(epochal.TableError, match="'table'"):
        cdc.check(url, table=f"{postgres.schema}.ordres", user="postgres")


def test_an_address_that_is_no_url_of_postgresql_is_refused() -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_INVALID.*is 'postgresql://\*\*\*@db/shop', not a URL of P"):
        cdc.check("postgresql://me:secret@db/shop", table="orders")


def test_a_reload_is_refused_where_no_query_would_read_the_request(postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE orders (id INT PRIMARY KEY)")
    with servers.server() as empty:
        run(empty.dsn, "CREATE TABLE orders (id INT PRIMARY KEY)")
        url = f"jdbc:postgresql://127.0.0.1:{empty.port}/postgres"
        with pytest.raises(epochal.DatabaseError, match="replication slots: none of this database") as refusal:
            cdc.reload(url, table="public.orders", user="postgres")
        assert "start the query first" in str(refusal.value.hint)
    with pytest.raises(epochal.TableError, match="there is 'orders'"):
        cdc.reload(postgres.url, table=f"{postgres.schema}.order", user=postgres.user)


def test_status_compares_until_when_all_is_stored_with_the_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def status(place: Path, *more: str) -> tuple[int, str]:
        code = main(["status", str(place), "--max-behind", "10m", *more])
        return code, capsys.readouterr().out

    new = checkpoints.write(tmp_path / "new", {}, [])
    assert status(new)[0] == 3
    assert f"{new} has no epoch yet that shows its sources" in status(new)[1]

    offset = {"v": 1, "format": "epochal-cdc", "source": "shop", "row": 0, "slot": "shop", "publication": "shop"}
    offset |= {"system": "7", "timeline": 1, "start": "0/10", "snapshot": True}
    text = checkpoints.offsets_text(json.dumps(offset))
    place = checkpoints.write(tmp_path / "shop", {0: text, 1: text}, [0, 1])
    marks = place / "sources" / "0" / "cdc" / "stored-until"
    marks.mkdir(parents=True)

    def mark(ago: timedelta) -> None:
        for file in marks.iterdir():
            file.unlink()
        (marks / str(int((datetime.now(timezone.utc) - ago).timestamp() * 1_000_000))).touch()

    assert status(place)[1].endswith("has not noted yet until when its changes are stored\n")
    mark(timedelta(minutes=9))
    assert status(place)[0] == 0
    mark(timedelta(minutes=11))
    code, shown = status(place)
    assert (code, shown.endswith(f"Source 0 of {place} is 11 min 0 s behind, more than 10m\n")) == (3, True)
    # A copy is another query, and after a rewind changes are delivered again.
    mark(timedelta(0))
    assert main(["checkpoint", "fork", str(place), str(tmp_path / "copy"), "--yes", "--stopped"]) == 0
    assert "has not noted yet" in status(tmp_path / "copy")[1]
    assert status(place)[0] == 0
    assert main(["checkpoint", "rewind", str(place), "--to", "0", "--yes", "--stopped"]) == 0
    assert "has not noted yet" in status(place)[1]


def test_status_shows_the_lag_of_the_slot_on_the_source_of_the_checkpoint(
    postgres: Postgres, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ((system,),) = postgres.query("SELECT system_identifier::text FROM pg_control_system()")

    def status(system: str, *more: str) -> tuple[int, str]:
        offset = {"v": 1, "format": "epochal-cdc", "source": "shop", "row": 0, "slot": postgres.schema}
        offset |= {"publication": "shop", "system": system, "timeline": 1, "start": "0/10", "snapshot": True}
        text = checkpoints.offsets_text(json.dumps(offset))
        place = checkpoints.write(tmp_path / system, {0: text}, [])
        code = main(["status", str(place), "--url", postgres.url, "--user", "postgres", "--schema", "none", *more])
        return code, capsys.readouterr().out

    postgres.query(f"SELECT pg_create_logical_replication_slot('{postgres.schema}', 'pgoutput')")
    try:
        postgres.query("SELECT pg_logical_emit_message(true, 'test', repeat('x', 2000000))")
        code, shown = status(system)
        assert code == 0
        assert f"epochal-cdc: 0 rows of slot {postgres.schema}, changes from 0/10 on" in shown
        # Other tests write to the server's log, too.
        assert re.search(
            rf"^Slot {postgres.schema}\n  [2-9]\.\d MB behind, confirmed up to [0-9A-F/]+; "
            r"(reserved|extended), [2-9]\.\d MB of log kept, not in use$",
            shown,
            re.MULTILINE,
        )
        (slot,) = json.loads(status(system, "--json")[1])["slots"]
        assert slot["behind"] > 2_000_000
        postgres.query("SELECT pg_logical_emit_message(true, 'test', repeat('x', 20000000))")
        code, shown = status(system)
        assert code == 3
        assert re.search(r" 2[2-9] MB behind", shown)
        assert status(system, "--max-retained", "1GB")[0] == 0
        code, shown = status(system, "--max-retained", "20MB")
        assert code == 3
        assert re.search(rf"2[2-9] MB of log for slot {postgres.schema}, more than 20MB", shown)
        # Another server, or one that was restored from a dump: its slot is not the checkpoint's.
        code, shown = status("7")
        assert (code, shown) == (1, "")
    finally:
        postgres.drop_slot()
