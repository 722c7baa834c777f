"""A set on disk: an archive for each scenario, and how its database is put back.

An archive has ``checkpoint``, ``state.json``, and the target: ``target.db`` (SQLite), ``target.sql`` (a dump), or
``requests.json`` (what an API was sent).
"""

from __future__ import annotations

import json
import re
import tarfile
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg

from frozen.scenario import TABLE, Scenario
from support.databases import Postgres

HOME = Path(__file__).parent


@dataclass(frozen=True)
class State:
    """What was true when the driver was killed.

    Attributes:
        release: of Epochal that wrote the set.
        spark: of the driver.
        logged: the last epoch in ``offsets``.
        committed: the last one in ``commits``.
        journalled: ids of records that are delivered from the checkpoint and not requested again.
    """

    release: str
    spark: str
    logged: int
    committed: int
    journalled: list[int]

    def write(self, directory: Path) -> None:
        (directory / "state.json").write_text(json.dumps(asdict(self)) + "\n", "utf-8")

    @classmethod
    def read(cls, directory: Path) -> State:
        return cls(**json.loads((directory / "state.json").read_text("utf-8")))


def pack(directory: Path, archive: Path) -> None:
    """The same files give the same archive."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime = entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() else 0o644
        return entry

    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", format=tarfile.PAX_FORMAT) as written:
        for path in sorted(directory.rglob("*")):
            written.add(path, str(path.relative_to(directory)), recursive=False, filter=plain)


def unpack(archive: Path, directory: Path) -> State:
    with tarfile.open(archive, "r:xz") as packed:
        packed.extractall(directory, filter="data")
    return State.read(directory)


def schema(scenario: Scenario) -> str:
    """The name counts: the ledger has it, and names of prepared transactions are made from it."""
    return "frozen_" + scenario.name.replace("-", "_")


def restore_postgres(server: str, scenario: Scenario, dump: str) -> Postgres:
    """Runs a dump. A table that is made anew has another number, which the ledger is told, as after ``pg_restore``."""
    name = schema(scenario)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())
        for statement in re.split(r";\n", dump):
            if statement.strip():
                connection.execute(statement.encode())
        connection.execute(f"UPDATE {name}.epochal_ledger SET target_oid = '{name}.{TABLE}'::regclass::oid".encode())
    return Postgres(server, name)
