"""Refusals by the ledger, with named conditions and nothing written, on SQLite and PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal.jdbc import Ledger
from support.api import Api
from support.data import SCHEMA, as_rows, comments, create_comments, ledger, stored
from support.databases import Database, Postgres
from support.streams import finish
from support.waiting import until

Job = Callable[..., None]


@pytest.fixture
def job(spark: SparkSession, api: Api, database: Database, checkpoint: Path) -> Job:
    """Writes all records of the API into ``comments`` and ends."""
    create_comments(database)
    return make_job(spark, api, database, checkpoint)


def make_job(spark: SparkSession, api: Api, database: Database, checkpoint: Path) -> Job:
    def run(**options: Any) -> None:
        defaults: dict[str, Any] = {
            "table": "comments",
            "sink_id": "comments",
            "checkpoint": checkpoint,
            "trigger": "availableNow",
        }
        frame = epochal.read.rest(
            spark, api.url, schema=SCHEMA, pages=epochal.rest.Offset(size=10), limits=epochal.Limits(rows=10)
        )
        with epochal.errors.named():
            finish(epochal.write.jdbc(frame, database.url, user=database.user, **(defaults | options)))

    return run


@pytest.fixture
def written(job: Job, api: Api) -> Job:
    """The job after a first run of 30 comments, with ten more available."""
    api.records = comments(1, 30)
    job()
    api.records += comments(31, 10)
    return job


def nothing_was_added(database: Database) -> bool:
    return stored(database) == as_rows(comments(1, 30))


def test_a_deleted_checkpoint_is_a_new_query_and_refused(written: Job, database: Database, checkpoint: Path) -> None:
    shutil.rmtree(checkpoint)
    with pytest.raises(epochal.SinkIdentityError, match=r"QUERY_CHANGED.*on_new_query"):
        written()
    assert nothing_was_added(database)


@pytest.mark.slow
def test_a_new_query_with_on_new_query_adds_its_rows(written: Job, database: Database, tmp_path: Path) -> None:
    known = database.query("SELECT query_id FROM epochal_ledger")[0][0]
    written(checkpoint=tmp_path / "other", ledger=Ledger(on_new_query=f"append:{known}"))
    assert len(stored(database)) == 30 + 40
    with pytest.raises(epochal.SinkIdentityError, match="QUERY_CHANGED"):
        written(checkpoint=tmp_path / "third", ledger=Ledger(on_new_query=f"append:{known}"))
    assert len(stored(database)) == 30 + 40


@pytest.mark.slow
def test_a_second_sink_on_one_table_is_refused(written: Job, database: Database, tmp_path: Path) -> None:
    with pytest.raises(epochal.SinkIdentityError, match=r"TARGET_SHARED.*'comments'"):
        written(sink_id="other", checkpoint=tmp_path / "other")
    assert nothing_was_added(database)


@pytest.mark.slow
def test_a_sink_that_moves_to_another_table_is_refused(written: Job, database: Database) -> None:
    create_comments(database, "other")
    with pytest.raises(epochal.SinkIdentityError, match=r"TARGET_CHANGED.*other"):
        written(table="other")
    assert stored(database, "other") == []


@pytest.mark.slow
def test_a_later_epoch_with_an_empty_ledger_is_refused(written: Job, database: Database) -> None:
    database.execute("DELETE FROM epochal_ledger")
    with pytest.raises(epochal.SinkIdentityError, match="LEDGER_EMPTY"):
        written()
    assert nothing_was_added(database)


@pytest.mark.slow
def test_a_stored_epoch_is_skipped_by_the_hint_of_ledger_empty(
    written: Job, api: Api, database: Database, checkpoint: Path
) -> None:
    api.records = comments(1, 30)
    (checkpoint / "commits" / "2").unlink()
    (checkpoint / "commits" / ".2.crc").unlink(missing_ok=True)
    database.execute("DELETE FROM epochal_ledger")
    with pytest.raises(epochal.SinkIdentityError, match=r'ledger=jdbc.Ledger\(on_empty="skip:2"\)'):
        written()
    written(ledger=Ledger(on_empty="skip:2"))
    assert nothing_was_added(database)
    api.records += comments(31, 10)
    written(ledger=Ledger(on_empty="skip:2"))
    assert stored(database) == as_rows(comments(1, 40))


def test_a_database_restored_to_an_earlier_state_is_an_epoch_gap(written: Job, database: Database) -> None:
    database.execute("UPDATE epochal_ledger SET last_epoch = last_epoch - 1")
    with pytest.raises(epochal.EpochGapError, match=r"EPOCH_GAP.*it lacks 1 epoch\."):
        written()
    assert nothing_was_added(database)


@pytest.mark.slow
def test_a_rewound_checkpoint_is_refused(written: Job, database: Database) -> None:
    database.execute("UPDATE epochal_ledger SET last_epoch = last_epoch + 5")
    with pytest.raises(epochal.EpochRegressedError, match="EPOCH_REGRESSED"):
        written()
    assert nothing_was_added(database)


def test_a_replayed_epoch_with_other_offsets_is_refused(written: Job, database: Database) -> None:
    database.execute("UPDATE epochal_ledger SET last_epoch = last_epoch + 1")
    with pytest.raises(epochal.EpochChangedError, match="EPOCH_OFFSETS_CHANGED"):
        written()
    assert nothing_was_added(database)


@pytest.mark.slow
def test_a_replaced_run_is_fenced(spark: SparkSession, api: Api, database: Database, checkpoint: Path) -> None:
    create_comments(database)
    api.records = comments(1, 10)
    polls = epochal.rest.Poll(interval="50ms")
    frame = epochal.read.rest(spark, api.url, schema=SCHEMA, pages=epochal.rest.Offset(size=10), poll=polls)
    query = epochal.write.jdbc(
        frame, database.url, user=database.user, table="comments", sink_id="comments", checkpoint=checkpoint
    )
    query.processAllAvailable()
    database.execute("UPDATE epochal_ledger SET generation = generation + 1, run_id = 'another'")
    api.records += comments(11, 10)
    with pytest.raises(epochal.SinkFencedError, match="SINK_FENCED"), epochal.errors.named():
        query.awaitTermination(60)
    assert stored(database) == as_rows(comments(1, 10))


@pytest.mark.slow
def test_a_dropped_and_recreated_table_is_another_target(
    spark: SparkSession, api: Api, postgres: Postgres, checkpoint: Path
) -> None:
    create_comments(postgres)
    job = make_job(spark, api, postgres, checkpoint)
    api.records = comments(1, 30)
    job()
    postgres.execute("DROP TABLE comments")
    create_comments(postgres)
    api.records += comments(31, 10)
    with pytest.raises(epochal.SinkIdentityError, match="TARGET_CHANGED"):
        job()
    assert stored(postgres) == []


@pytest.mark.slow
def test_rows_that_a_trigger_swallows_fail_the_epoch(
    spark: SparkSession, api: Api, postgres: Postgres, checkpoint: Path
) -> None:
    create_comments(postgres)
    postgres.execute(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER swallow BEFORE INSERT ON comments FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION swallow()",
    )
    api.records = comments(1, 10)
    with pytest.raises(epochal.RowError, match=r"ROWS_DROPPED.*9 of the 10"):
        make_job(spark, api, postgres, checkpoint)()
    assert stored(postgres) == []


@pytest.mark.slow
def test_a_query_continues_after_a_server_restart(
    spark: SparkSession, api: Api, postgres: Postgres, checkpoint: Path
) -> None:
    create_comments(postgres)
    api.records = comments(1, 10)
    polls = epochal.rest.Poll(interval="50ms")
    frame = epochal.read.rest(spark, api.url, schema=SCHEMA, pages=epochal.rest.Offset(size=10), poll=polls)
    query = epochal.write.jdbc(
        frame, postgres.url, user=postgres.user, table="comments", sink_id="comments", checkpoint=checkpoint
    )
    query.processAllAvailable()
    postgres.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    api.records += comments(11, 10)
    until(lambda: len(stored(postgres)) == 20 or query.exception(), "the rows after the connections were cut")
    query.stop()
    assert stored(postgres) == as_rows(api.records)
    assert [row["last_epoch"] for row in ledger(postgres)] == [1]
