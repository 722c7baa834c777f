"""A crash duplicates rows with foreachBatch and none with Epochal, as ``README.md`` shows; the migration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import jdbc
from support.databases import Sqlite
from support.documents import page
from support.places import ROOT
from support.streams import finish, forget_last_commit

pytestmark = pytest.mark.slow


def test_a_kill_duplicates_rows_of_foreach_batch_and_none_of_epochal(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "doubled_rows.py"],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (shown,) = page("README.md").blocks("text")
    assert done.stdout == shown.text


def rows(spark: SparkSession, count: int) -> DataFrame:
    return epochal.read.random(spark, rows_per_batch=10, max_rows=count, num_partitions=1).select("id", "value")


def write_with_foreach_batch(spark: SparkSession, database: Sqlite, checkpoint: Path, count: int) -> None:
    def write(batch: DataFrame, epoch: int) -> None:
        place = {"url": database.url, "dbtable": "orders", "driver": "org.sqlite.JDBC"}
        batch.write.format("jdbc").options(**place).mode("append").save()

    writer = rows(spark, count).writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    finish(writer.trigger(availableNow=True).start())


def write_with_epochal(
    spark: SparkSession, database: Sqlite, checkpoint: Path, count: int, on_empty: str | None = None
) -> None:
    ledger = jdbc.Ledger(on_empty=on_empty) if on_empty else None
    query = epochal.write.jdbc(
        rows(spark, count),
        database.url,
        table="orders",
        checkpoint=checkpoint,
        sink_id="orders",
        ledger=ledger,
        trigger="availableNow",
    )
    finish(query)


def ids(database: Sqlite) -> list[int]:
    return [row[0] for row in database.query("SELECT id FROM orders ORDER BY id")]


@pytest.mark.parametrize(
    ("killed", "removed", "on_empty"),
    [(False, False, "write:3"), (True, False, "skip:2"), (True, True, "write:2")],
    ids=["stopped", "killed and written", "killed and not written"],
)
def test_a_query_resumes_with_epochal_on_the_checkpoint_of_foreach_batch(
    killed: bool, removed: bool, on_empty: str, spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    sqlite.execute("CREATE TABLE orders (id INTEGER, value TEXT)")
    write_with_foreach_batch(spark, sqlite, checkpoint, 30)
    if killed:
        assert forget_last_commit(checkpoint) == 2
    if removed:
        sqlite.execute("DELETE FROM orders WHERE id >= 20")
    with pytest.raises(epochal.errors.SinkIdentityError) as refused:
        write_with_epochal(spark, sqlite, checkpoint, 60)
    assert refused.value.condition == "LEDGER_EMPTY"
    assert f"at epoch {on_empty.partition(':')[2]}," in refused.value.problem
    write_with_epochal(spark, sqlite, checkpoint, 60, on_empty)
    assert ids(sqlite) == list(range(60))
    write_with_epochal(spark, sqlite, checkpoint, 80, on_empty)
    assert ids(sqlite) == list(range(80))
