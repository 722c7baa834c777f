"""Measurements of a soak: of the driver's process, its database and its directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from soak.judge import Limit
from support.databases import Database, Postgres
from support.drivers import Driver

KIB, MIB = 1 << 10, 1 << 20

#: Maximum growth of each series over the last two thirds, for any duration. The number of files varies by twenty
#: between samples; a leak of one file per hundred epochs would be eighty in an hour.
LIMITS = {
    "live heap, KiB": Limit(4 * KIB),
    "threads": Limit(4),
    "open files": Limit(24),
    "ledger rows": Limit(0),
    "pg_class rows": Limit(4),
    "pg_attribute rows": Limit(40),
    "catalog, KiB": Limit(64, 0.05),
    "checkpoint files": Limit(24),
    "checkpoint, KiB": Limit(32, 0.05),
    "temporary files": Limit(4),
}

_CATALOGS = "'pg_class', 'pg_attribute', 'pg_type', 'pg_depend', 'pg_index', 'pg_constraint', 'pg_statistic'"
_CATALOG = f"""SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute),
    (SELECT sum(pg_total_relation_size(('pg_catalog.' || name)::regclass)) FROM unnest(ARRAY[{_CATALOGS}]) AS name)"""


def sample(driver: Driver, postgres: Postgres, databases: Iterable[Database], directory: Path) -> dict[str, float]:
    """One value for each of ``LIMITS``; the heap after a full collection."""
    found = driver.ask("vitals")
    process = Path("/proc") / str(found["pid"])
    catalog = postgres.query(_CATALOG)[0]
    checkpoints = list(sizes(directory / "checkpoints"))
    values = (
        found["heap"] / KIB,
        len(os.listdir(process / "task")),
        len(os.listdir(process / "fd")),
        sum(database.query("SELECT count(*) FROM epochal_ledger")[0][0] for database in databases),
        catalog[0],
        catalog[1],
        float(catalog[2]) / KIB,
        len(checkpoints),
        sum(checkpoints) / KIB,
        len(list(sizes(directory / "tmp"))),
    )
    return dict(zip(LIMITS, values, strict=True))


def cpu_seconds(pid: int) -> float:
    """CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def longest_history(databases: Iterable[Database]) -> int:
    """Maximum number of history rows of a sink in the ledger."""
    by_sink = "SELECT count(*) FROM epochal_ledger_history GROUP BY sink_id"
    return max(int(count) for database in databases for (count,) in database.query(by_sink))


def sizes(directory: Path) -> Iterator[int]:
    """Sizes of all files below a directory; ignores files that vanish meanwhile."""
    for where, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):
                yield Path(where, name).stat().st_size
