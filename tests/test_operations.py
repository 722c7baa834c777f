"""``docs/operations.md`` lists every condition that can end a running query, and its commands work."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal.errors import _TYPES, ConfigurationError, TableError
from support.databases import Sqlite
from support.documents import page
from support.places import ROOT
from support.streams import finish, numbers

pytestmark = pytest.mark.slow

PAGE = page("docs/operations.md").source
RUNNING = PAGE.partition("\n## While it runs\n")[2].partition("\n## ")[0]
NAME = re.compile(r"`([A-Z]+(?:_[A-Z]+)+)`")


def declared() -> set[str]:
    return set(json.loads((ROOT / "python/src/epochal/conditions.json").read_text("utf-8")))


def rows() -> list[list[str]]:
    """Of each entry about conditions of a run: their names, what happened, and what to do."""
    entries = re.findall(r"^- ((?:.|\n  )*)", RUNNING, re.MULTILINE)
    return [re.split(r"(?<=`): | → ", " ".join(entry.split()), maxsplit=2) for entry in entries]


def of_a_run() -> list[str]:
    return [name for row in rows() for name in NAME.findall(row[0])]


def test_a_condition_has_at_most_one_row_and_needs_none_if_it_is_about_the_program_or_the_table() -> None:
    found = of_a_run()
    assert len(found) == len({*found})
    assert {*found} <= declared()
    others = declared() - {*found}
    assert {name for name in others if not issubclass(_TYPES[name], ConfigurationError | TableError)} == set()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].strip("`"))
def test_a_row_has_cause_and_action(row: list[str]) -> None:
    assert len(row) == 3
    assert all(cell.endswith(".") for cell in row[1:])


def test_a_section_describes_the_safe_state() -> None:
    sections = RUNNING.split("\n### ")[1:]
    assert [one.partition("\n")[0] for one in sections if not one.partition("\n")[2].startswith("\nSafe: ")] == []


def write(spark: SparkSession, database: Sqlite, checkpoint: Path, rows: int) -> None:
    query = epochal.write.jdbc(
        epochal.read.random(spark, rows_per_batch=10, max_rows=rows),
        database.url,
        table="strings",
        create_table=True,
        sink_id="strings",
        checkpoint=checkpoint,
        trigger="availableNow",
    )
    finish(query)


def set_back(database: Sqlite, checkpoint: Path, spark: SparkSession) -> None:
    """Makes the database three epochs older than its checkpoint, as after a restored backup."""
    write(spark, database, checkpoint, 30)
    database.execute("CREATE TABLE saved AS SELECT * FROM epochal_ledger")
    write(spark, database, checkpoint, 60)
    database.execute(
        "DELETE FROM strings WHERE id >= 30",
        "DELETE FROM epochal_ledger",
        "INSERT INTO epochal_ledger SELECT * FROM saved",
        "DELETE FROM epochal_ledger_history WHERE epoch > (SELECT last_epoch FROM saved)",
    )
    with pytest.raises(epochal.errors.EpochGapError):
        write(spark, database, checkpoint, 70)


def ids(database: Sqlite) -> list[int]:
    return [row[0] for row in database.query("SELECT id FROM strings ORDER BY id")]


def test_a_restored_database_gets_missing_epochs_after_a_rewind_of_the_checkpoint(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    set_back(sqlite, checkpoint, spark)
    ((last,),) = sqlite.query("SELECT last_epoch FROM epochal_ledger")
    for log in ("commits", "offsets"):
        for epoch in numbers(checkpoint, log):
            if epoch > last:
                (checkpoint / log / str(epoch)).unlink()
                (checkpoint / log / f".{epoch}.crc").unlink(missing_ok=True)
    write(spark, sqlite, checkpoint, 70)
    assert ids(sqlite) == list(range(70))


def test_a_restored_database_resumes_after_a_gap_that_was_loaded_by_hand(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    set_back(sqlite, checkpoint, spark)
    batch = epochal.read.random(spark, max_rows=60, streaming=False).where("id >= 30")
    epochal.write.jdbc(batch, sqlite.url, table="strings")
    next_epoch = numbers(checkpoint, "offsets")[-1]
    sqlite.execute(f"UPDATE epochal_ledger SET last_epoch = {next_epoch - 1} WHERE sink_id = 'strings'")
    write(spark, sqlite, checkpoint, 70)
    assert ids(sqlite) == list(range(70))


def test_an_emptied_table_without_its_ledger_row_is_reloaded(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    write(spark, sqlite, checkpoint, 30)
    shutil.rmtree(checkpoint)
    with pytest.raises(epochal.errors.SinkIdentityError):
        write(spark, sqlite, checkpoint, 30)
    shutil.rmtree(checkpoint)
    sqlite.execute("DELETE FROM strings", "DELETE FROM epochal_ledger WHERE sink_id = 'strings'")
    write(spark, sqlite, checkpoint, 30)
    assert ids(sqlite) == list(range(30))
