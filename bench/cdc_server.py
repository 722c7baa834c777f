"""Shared code of the benchmarks of epochal-cdc: the server with its backlogs and slots, queries, and Java readers."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from jdbc import COLUMNS, Target
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import cdc
from support.postgres import Server

TRANSACTION = 1000
VALUES = "n, lpad(n::text, 20, 'x'), n / 7.0, timestamptz '2026-01-31 12:30Z', n % 1000"


class Database(Target):
    """The server under measurement."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.dsn)
        self.port = server.port
        self.address = f"jdbc:postgresql://127.0.0.1:{server.port}/postgres"
        self._numbers = itertools.count()

    def is_active(self, slot: str) -> bool:
        return bool(self.value(f"SELECT active FROM pg_replication_slots WHERE slot_name = '{slot}'"))

    def drop_slot(self, slot: str) -> None:
        while self.is_active(slot):
            time.sleep(0.05)
        self.execute(f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{slot}'")

    @contextmanager
    def slot(self, base: str = "") -> Iterator[str]:
        """The name for a new slot: a copy of ``base``, or one that the reader creates."""
        name = f"round_{next(self._numbers)}"
        if base:
            self.execute(f"SELECT pg_copy_logical_replication_slot('{base}', '{name}')")
        try:
            yield name
        finally:
            self.drop_slot(name)

    def became_active(self, slot: str) -> Callable[[], float]:
        """Watches a slot; the function returns the time at which it became active."""
        found: list[float] = []

        def watch() -> None:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                query = "SELECT 1 FROM pg_replication_slots WHERE active AND slot_name = %s"
                while connection.execute(query, (slot,)).rowcount == 0:
                    time.sleep(0.002)
                found.append(time.time())

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()

        def began() -> float:
            thread.join(60)
            return found[0]

        return began

    @contextmanager
    def backlog(self, name: str, changes: int, transaction: str, tables: Sequence[str] = ()) -> Iterator[str]:
        """A table, or several, with a publication and a slot of the same name, and changes that the slot has not sent.

        Args:
            tables: names; by default one, that of the slot.
            transaction: statements of transaction ``t`` in PL/pgSQL, with 1,000 changes.
        """
        tables = tables or [name]
        for table in tables:
            self.execute(
                f"CREATE TABLE {table} ({COLUMNS.format(key=' PRIMARY KEY')})",
                f"INSERT INTO {table} SELECT {VALUES} FROM generate_series({-TRANSACTION}, -1) n",
            )
        self.execute(
            f"CREATE PUBLICATION {name} FOR TABLE {', '.join(tables)}",
            f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')",
            f"DO $$ BEGIN FOR t IN 0..{changes // TRANSACTION - 1} LOOP {transaction}; COMMIT; END LOOP; END $$",
            "CHECKPOINT",
        )
        try:
            yield name
        finally:
            self.drop_slot(name)
            self.execute(f"DROP PUBLICATION {name}", f"DROP TABLE {', '.join(tables)}")

    def inserts(self, changes: int) -> AbstractContextManager[str]:
        rows = f"generate_series({TRANSACTION}::bigint * t, {TRANSACTION}::bigint * (t + 1) - 1) n"
        return self.backlog("inserts", changes, f"INSERT INTO inserts SELECT {VALUES} FROM {rows}")

    def inserts_into(self, tables: Sequence[str], changes: int) -> AbstractContextManager[str]:
        """The same number of rows in each table and transaction."""
        each = TRANSACTION // len(tables)
        rows = f"generate_series({each}::bigint * t, {each}::bigint * (t + 1) - 1) n"
        inserts = "; ".join(f"INSERT INTO {table} SELECT {VALUES} FROM {rows}" for table in tables)
        return self.backlog("several", changes, inserts, tables)

    def mixed(self, changes: int) -> AbstractContextManager[str]:
        """600 rows inserted, and of the 600 before 300 updated and 100 deleted."""
        last = "600::bigint * t - 600"
        return self.backlog(
            "mixed",
            changes,
            f"INSERT INTO mixed SELECT {VALUES} FROM generate_series(600::bigint * t, 600::bigint * t + 599) n;"
            f" UPDATE mixed SET amount = amount + 1 WHERE id BETWEEN {last} AND {last} + 299;"
            f" DELETE FROM mixed WHERE id BETWEEN {last} + 500 AND {last} + 599",
        )


class Reader:
    """A Java program of this directory that reads slots, one after the other, in a JVM that stays warm."""

    def __init__(self, program: str, *arguments: str) -> None:
        jars = Path(__file__).resolve().parent.parent / "build" / "debezium" / "*"
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            ["java", "-Xmx3g", "-cp", str(jars), str(Path(__file__).with_name(program)), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def read(self, slot: str, changes: int) -> float:
        """Reads so many changes; returns the time of the last one."""
        assert self._process.stdin
        assert self._process.stdout
        print(slot, changes, file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline().strip()
        ended = time.time()
        if reply != str(changes):
            self._log.seek(0)
            raise RuntimeError(f"{reply!r} changes\n{self._log.read()[-3000:].decode()}")
        return ended

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def changes_of(spark: SparkSession, database: Database, table: str, slot: cdc.Slot, **more: Any) -> DataFrame:
    return epochal.read.cdc(spark, database.address, user="postgres", table=f"public.{table}", slot=slot, **more)


def backlog_of(spark: SparkSession, database: Database, slot: str, table: str) -> DataFrame:
    position = database.value(f"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{slot}'")
    ready = cdc.Slot(slot, create=False, publication=table, create_publication=False, starting_offset=position)
    return changes_of(spark, database, table, ready)


def delivered(start: Callable[[str], Any], rows: int) -> float:
    """Runs a query until it has delivered so many rows; returns the end of the last batch."""
    with tempfile.TemporaryDirectory(prefix="bench-", dir=".", ignore_cleanup_errors=True) as checkpoint:
        query = start(checkpoint)
        try:
            while True:
                batches = [p for p in query.recentProgress if p["numInputRows"]]
                if sum(p["numInputRows"] for p in batches) >= rows:
                    began = datetime.fromisoformat(batches[-1]["timestamp"].replace("Z", "+00:00"))
                    return began.timestamp() + batches[-1]["durationMs"]["triggerExecution"] / 1000
                if not query.isActive:
                    raise RuntimeError(f"the query ended: {query.exception()}")
                time.sleep(0.1)
        finally:
            query.stop()
