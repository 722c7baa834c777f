"""Writes the set of this release, with the jar that tests use: ``python -m frozen.make [scenario …]`` in ``tests``.

The driver of each scenario is killed in an epoch; its checkpoint and its target are packed into ``<version>``.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
import pyspark

from crash.scene import prepared
from frozen.packing import HOME, State, pack, schema
from frozen.running import Remote, Writer, h2, h2_tool
from frozen.scenario import PARTS, TABLE, Place, Scenario
from frozen.scenarios import SCENARIOS, lines
from frozen.systems import behind_proxy, send
from support import mysql, orders, postgres
from support.api import Api, serve
from support.databases import Database, Postgres, Sqlite, new_postgres
from support.drivers import Gate
from support.http_writers import free_port
from support.places import VERSION
from support.streams import forget_last_commit, numbers


class Servers:
    """Those that scenarios write to, started when one does."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    @cached_property
    def postgres(self) -> postgres.Server:
        return self._stack.enter_context(postgres.server())

    @cached_property
    def mariadb(self) -> mysql.Server:
        return self._stack.enter_context(mysql.server("mariadb"))

    @cached_property
    def mysql(self) -> mysql.Server:
        return self._stack.enter_context(mysql.server("mysql"))


class Frozen:
    """One scenario while it is written."""

    def __init__(self, scenario: Scenario, directory: Path, servers: Servers, stack: ExitStack) -> None:
        self.scenario = scenario
        self.name = scenario.name
        self.directory = directory / self.name
        self.directory.mkdir()
        self.place = Place(str(self.directory), port=free_port())
        self.api: Api | None = None
        self.orders = orders.Orders()
        self.database: Database = Sqlite(self.directory / "target.db")
        self._servers = servers
        if scenario.api:
            self.api = stack.enter_context(serve(scenario.api()))
            self.place = replace(self.place, api=behind_proxy(self.api))
        if scenario.target == "api":
            self.place = replace(self.place, api=stack.enter_context(orders.serve(self.orders)).url)
        if scenario.target == "postgres":
            self.database = new_postgres(servers.postgres.dsn, schema(scenario))
        if scenario.target in ("mariadb", "mysql"):
            server = getattr(servers, scenario.target)
            server.client("-e", f"CREATE DATABASE {schema(scenario)} CHARACTER SET utf8mb4")
            self.database = Remote(server.url(schema(scenario)), "root")
        if scenario.target == "h2":
            self.database = h2(self.directory)
        self.place = replace(self.place, url=self.database.url, user=self.database.user)
        if scenario.columns:
            self.database.execute(f"CREATE TABLE {TABLE} ({scenario.columns})")
        self.reach(0)

    def reach(self, part: int) -> None:
        """Its source has grown to the end of a part."""
        self.place = replace(self.place, part=part)
        if self.api:
            self.api.records = self.scenario.records(part)

    def receive(self, texts: Sequence[str]) -> None:
        """Clients send lines, and know that they are stored."""
        assert send(self.scenario, self.place.port, texts) == {"records": len(texts)}

    def has_first_part(self) -> bool:
        """Whether its rows are stored, and in an offset that is committed; of random rows in two that are apart."""
        committed = numbers(self.place.checkpoint, "commits")
        if not committed or TABLE not in self.database.tables():
            return False
        offset = logged(self.place.checkpoint, committed[-1])
        if self.scenario.is_endless and not self.scenario.api:
            return "partitions" in offset and offset["rows"] + sum(offset["partitions"]) >= PARTS[0]
        if self.scenario.is_endless:
            return bool(offset.get("records") == PARTS[0])
        return bool(self.database.query(f"SELECT count(*) FROM {TABLE}")[0][0] >= PARTS[0])

    def keep(self, sql: str) -> None:
        (self.directory / "target.sql").write_text(sql, "utf-8")

    def pack(self) -> None:
        """After the driver's end."""
        checkpoint = self.place.checkpoint
        if self.scenario.ends and numbers(checkpoint, "offsets") == numbers(checkpoint, "commits"):
            forget_last_commit(checkpoint)
        last, committed = (max(numbers(checkpoint, log), default=-1) for log in ("offsets", "commits"))
        state = State(VERSION, pyspark.__version__, last, committed, journalled(self.scenario, checkpoint))
        state.write(self.directory)
        if isinstance(self.database, Postgres):
            self.keep(dump(self._servers.postgres, self.database))
        elif self.scenario.target in ("mariadb", "mysql"):
            options = ["--compact", "--skip-extended-insert", "--skip-dump-date", schema(self.scenario)]
            self.keep(getattr(self._servers, self.scenario.target).client(*options, program="mariadb-dump"))
        elif isinstance(self.database, Remote):
            h2_tool(self.database, "Script", "-script", str(self.directory / "target.sql"))
            for file in self.directory.glob("h2.*"):
                file.unlink()
        elif self.scenario.target == "api":
            sent = [vars(one) | {"headers": {"idempotency-key": one.key}} for one in self.orders.requests]
            (self.directory / "requests.json").write_text(json.dumps(sent) + "\n", "utf-8")
        else:
            with sqlite3.connect(self.directory / "target.db") as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
        archive = HOME / VERSION / f"{self.name}.tar.xz"
        pack(self.directory, archive)
        print(f"{self.name}: epochs {last}, committed {committed}, {archive.stat().st_size} bytes", flush=True)


def logged(checkpoint: Path, epoch: int) -> dict[str, Any]:
    """The offset of the one source; empty for a real-time batch that had no time left."""
    text = (checkpoint / "offsets" / str(epoch)).read_text("utf-8").splitlines()[-1]
    return {} if text == "-" else dict(json.loads(text))


def places(frozen: Iterable[Frozen]) -> dict[str, Place]:
    return {one.name: one.place for one in frozen}


def journalled(scenario: Scenario, checkpoint: Path) -> list[int]:
    """The ids of the records in segments that the log, or the newest feed, names."""
    if not scenario.api:
        return []
    offset = logged(checkpoint, numbers(checkpoint, "offsets")[-1])
    if feeds := sorted((checkpoint / "sources/0/journal").glob("*.feed")):
        offset = json.loads(feeds[-1].read_text("utf-8").strip()[:-8])
    found = []
    for position in offset.get("members", [offset]):
        post = position.get("params", {}).get("post")
        ids = [one["id"] for one in scenario.records(2) if post is None or str(one["postId"]) == post]
        found += ids[: position["segments"][-1]["until"]] if position.get("segments") else []
    return sorted(found)


def dump(server: postgres.Server, database: Postgres) -> str:
    """The schema as SQL, without settings; then what is prepared, as transactions with the rows that each has."""
    options = f"-h 127.0.0.1 -p {server.port} -U postgres -d postgres -n {database.schema}"
    command = [str(server.programs / "pg_dump"), *options.split(), "--inserts", "--no-owner", "--no-privileges"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    kept = [
        line
        for line in said.splitlines()
        if line.strip() and not re.match(r"--|\\|SET |SELECT pg_catalog\.set_config", line)
    ]
    for gid in prepared(database):
        before = set(database.query(f"SELECT * FROM {TABLE}"))
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(f"COMMIT PREPARED '{gid}'".encode())
            rows = sorted(set(database.query(f"SELECT * FROM {TABLE}")) - before)
            holes = ", ".join(["%s"] * len(rows[0]))
            insert = f"INSERT INTO {database.schema}.{TABLE} VALUES ({holes});"
            texts = [psycopg.ClientCursor(connection).mogrify(insert.encode(), row) for row in rows]
        kept += ["BEGIN;", *texts, f"PREPARE TRANSACTION '{gid}';"]
    return "\n".join(kept) + "\n"


@contextmanager
def ended(frozen: list[Frozen], gate: Gate, step: str) -> Iterator[None]:
    """Queries that end by themselves: a part is committed, and then an epoch begun. Kills their driver at the end."""
    first = [one for one in frozen if not one.scenario.at_once]
    writer = Writer(gate.property)
    try:
        writer.start(places(first), wait=True)
        for one in first:
            one.reach(1)
        if step:
            gate.close(step)
        writer.start(places(frozen), wait=not step)
        if step:
            writer.until(lambda: is_waited(gate, step, frozen), f"{len(frozen)} queries at {step}")
        yield
    finally:
        writer.kill()
        gate.open(step or "none")


def is_waited(gate: Gate, step: str, frozen: list[Frozen]) -> bool:
    waiting = gate.waiting(step)
    if step.startswith("task"):
        return len(waiting) > 1
    return all(any(f"{one.name} [" in thread for thread in waiting) for one in frozen)


@contextmanager
def endless(one: Frozen, gate: Gate) -> Iterator[None]:
    """A query that goes on: a part is committed, and a part of the next one begun. Kills its driver at the end."""
    writer, step = Writer(gate.property), one.scenario.step
    receives = one.scenario.receives
    if isinstance(one.database, Remote):
        one.database.through = writer
    try:
        writer.start(places([one]), wait=False)
        if receives:
            for since in range(0, PARTS[0], 5):
                one.receive(lines(0)[since : since + 5])
        writer.until(one.has_first_part, f"{PARTS[0]} rows of {one.name}")
        gate.close(step)
        one.reach(1)
        if receives:
            one.receive(lines(1, PARTS[0])[:10])
        writer.until(lambda: gate.waiting(step), f"{one.name} at {step}")
        if receives:
            one.receive(lines(1, PARTS[0])[10:])
        yield
    finally:
        writer.kill()
        gate.open(step)


def main(names: list[str]) -> None:
    wanted = [scenario for name, scenario in SCENARIOS.items() if not names or name in names]
    if there := [scenario.name for scenario in wanted if (HOME / VERSION / f"{scenario.name}.tar.xz").exists()]:
        sys.exit(f"{VERSION} has {', '.join(there)}: remove them first, if {VERSION} is not released")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gate = Gate(directory / "gates", sorted({scenario.step for scenario in SCENARIOS.values()} - {""}))
        servers = Servers(stack)
        made = [Frozen(scenario, directory, servers, stack) for scenario in wanted]
        for step in sorted({one.scenario.step for one in made}):
            group = [one for one in made if one.scenario.step == step and one.scenario.ends]
            if group:
                with ended(group, gate, step):
                    pass
            for one in made:
                if one.scenario.step == step and not one.scenario.ends:
                    with endless(one, gate):
                        pass
                    group.append(one)
            for one in group:
                one.pack()
    size = sum(file.stat().st_size for file in (HOME / VERSION).iterdir())
    print(f"{HOME / VERSION}: {size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
