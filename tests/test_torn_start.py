"""A query that was killed while Spark logged its first batch can be restarted."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from support.databases import Sqlite
from support.streams import finish


def tear(checkpoint: Path) -> Path:
    """Creates the state after a kill between writing `offsets/0` and renaming it."""
    for directory in ("offsets", "commits", "sources", "state"):
        (checkpoint / directory).mkdir(parents=True)
    (checkpoint / "metadata").write_text(f'{{"id":"{uuid.uuid4()}"}}')
    torn = checkpoint / "offsets" / f".0.{uuid.uuid4()}.tmp"
    torn.write_text("v1\n{")
    return torn


@pytest.mark.parametrize("helper", [True, False])
def test_a_query_with_a_torn_first_batch_can_be_restarted(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, helper: bool
) -> None:
    torn = tear(checkpoint)
    rows = epochal.read.random(spark, rows_per_batch=3, max_rows=6)
    if helper:
        query = epochal.write.jdbc(
            rows, sqlite.url, table="t", create_table=True, checkpoint=checkpoint, trigger="availableNow"
        )
    else:
        options = {"url": sqlite.url, "dbtable": "t", "createTable": "true", "checkpointLocation": str(checkpoint)}
        query = rows.writeStream.format("epochal-jdbc").options(**options).trigger(availableNow=True).start()
    finish(query)
    assert sqlite.query("SELECT count(*) FROM t") == [(6,)]
    assert not torn.exists()


def test_the_check_can_be_disabled_for_other_sinks(spark: SparkSession, checkpoint: Path) -> None:
    tear(checkpoint)
    setting = "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"
    spark.conf.set(setting, "false")
    try:
        rows = epochal.read.random(spark, rows_per_batch=3, max_rows=6)
        writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        finish(writer.trigger(availableNow=True).start())
    finally:
        spark.conf.unset(setting)
