"""Spark dies between the sink's commit and its own: the epoch is replayed and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count

import epochal
from epochal import Limits, jdbc, rest
from epochal._start import OutputMode
from support.api import Api
from support.data import SCHEMA, as_rows, comments, create_comments, ledger, stored
from support.databases import Database
from support.streams import finish, forget_last_commit, numbers

pytestmark = pytest.mark.line

HISTORY = "SELECT epoch, rows, digest FROM epochal_ledger_history ORDER BY epoch"


@pytest.fixture
def run(spark: SparkSession, api: Api, database: Database, checkpoint: Path) -> Callable[..., None]:
    """Writes all records of the API into a table, as append, upsert or complete aggregate, and ends."""

    def run(table: str = "comments", output_mode: OutputMode = "append", upsert: bool = False, size: int = 10) -> None:
        frame: DataFrame = epochal.read.rest(
            spark, api.url, schema=SCHEMA, pages=rest.Offset(size=10), limits=Limits(rows=size)
        )
        if table == "counts":
            frame = frame.groupBy("postId").agg(count("*").alias("n"))
        keys = {"comments": ["id"], "counts": ["postId"]}[table] if upsert or output_mode == "update" else None
        query = epochal.write.jdbc(
            frame,
            database.url,
            user=database.user,
            table=table,
            sink_id=table,
            checkpoint=checkpoint,
            trigger="availableNow",
            output_mode=output_mode,
            mode=jdbc.Upsert(key_columns=keys) if keys else None,
        )
        with epochal.errors.named():
            finish(query)

    return run


def test_a_replayed_epoch_writes_nothing(
    run: Callable[..., None], api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    api.records = comments(1, 35)
    run()
    before, history = ledger(database), database.query(HISTORY)
    last = forget_last_commit(checkpoint)
    run()
    assert stored(database) == as_rows(api.records)
    (after,) = ledger(database)
    assert after["last_epoch"] == before[0]["last_epoch"] == last
    assert after["digest"] == before[0]["digest"]
    assert database.query(HISTORY)[: len(history)] == history
    assert numbers(checkpoint, "commits")[-1] >= last


@pytest.mark.slow
def test_after_a_replay_new_rows_follow(
    run: Callable[..., None], api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    for first in (1, 26, 51):
        api.records += comments(first, 25)
        run()
        forget_last_commit(checkpoint)
    run()
    assert stored(database) == as_rows(api.records)


def test_a_replay_keeps_its_rows_although_the_source_has_grown(
    run: Callable[..., None], api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    api.records = comments(1, 7)
    run()
    forget_last_commit(checkpoint)
    api.records += comments(8, 9)
    run()
    assert stored(database) == as_rows(api.records)


@pytest.mark.slow
def test_a_replay_with_other_limits_is_the_same_epoch(
    run: Callable[..., None], api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    api.records = comments(1, 25)
    run(size=10)
    forget_last_commit(checkpoint)
    run(size=3)
    assert stored(database) == as_rows(api.records)


def test_a_replayed_upsert_does_not_undo_later_writes_of_others(
    run: Callable[..., None], api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database, key="PRIMARY KEY")
    api.records = comments(1, 15)
    run(upsert=True)
    database.execute("UPDATE comments SET name = 'corrected' WHERE id = 12")
    forget_last_commit(checkpoint)
    run(upsert=True)
    assert [row[2] for row in stored(database) if row[1] == 12] == ["corrected"]


@pytest.mark.parametrize("output_mode", ["update", pytest.param("complete", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_replayed_aggregate_is_the_same(
    output_mode: OutputMode, run: Callable[..., None], api: Api, database: Database, checkpoint: Path
) -> None:
    database.execute('CREATE TABLE counts ("postId" INTEGER PRIMARY KEY, "n" BIGINT)')
    api.records = comments(1, 33)
    run("counts", output_mode)
    forget_last_commit(checkpoint)
    run("counts", output_mode)
    assert database.query('SELECT * FROM counts ORDER BY "postId"') == [(n, 5) for n in range(1, 7)] + [(7, 3)]
