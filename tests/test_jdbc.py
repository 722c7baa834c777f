"""``epochal-jdbc`` through Python, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count

import epochal
from epochal import Limits, jdbc, rest
from support.api import Api
from support.data import SCHEMA, as_rows, comments, create_comments, ledger, stored
from support.databases import Database, Postgres, Sqlite
from support.streams import drain, finish, numbers
from support.waiting import until

pytestmark = pytest.mark.line


@pytest.fixture
def source(spark: SparkSession, api: Api) -> DataFrame:
    """The comments of ``api``, ten in a batch."""
    more: dict[str, Any] = {"pages": rest.Offset(size=10), "limits": Limits(rows=10), "poll": rest.Poll(interval="0s")}
    return epochal.read.rest(spark, api.url, schema=SCHEMA, **more)


def write(frame: DataFrame, database: Database, checkpoint: Path, **options: Any) -> None:
    """Writes all available rows into the table ``comments`` as the sink ``comments``."""
    options = {"table": "comments", "sink_id": "comments", "trigger": "availableNow"} | options
    with epochal.errors.named():
        finish(epochal.write.jdbc(frame, database.url, user=database.user, checkpoint=checkpoint, **options))


def test_rows_and_ledger_are_stored_by_each_run(
    source: DataFrame, api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    for run, (first, size) in enumerate([(1, 45), (46, 20)], start=1):
        api.records += comments(first, size)
        write(source, database, checkpoint)
        assert stored(database) == as_rows(api.records)
        (row,) = ledger(database)
        assert row["sink_id"] == "comments"
        assert row["last_epoch"] == numbers(checkpoint, "commits")[-1]
        assert row["generation"] == run


@pytest.mark.slow
def test_history_has_one_line_for_each_epoch(source: DataFrame, api: Api, database: Database, checkpoint: Path) -> None:
    create_comments(database)
    api.records = comments(1, 45)
    write(source, database, checkpoint)
    history = database.query("SELECT epoch, rows FROM epochal_ledger_history WHERE sink_id = 'comments' ORDER BY epoch")
    assert [rows for _, rows in history if rows] == [10, 10, 10, 10, 5]
    assert [epoch for epoch, _ in history] == numbers(checkpoint, "commits")


def test_a_missing_table_is_created_from_the_schema(
    source: DataFrame, api: Api, database: Database, checkpoint: Path
) -> None:
    api.records = comments(1, 15)
    write(source, database, checkpoint, create_table=True)
    assert stored(database) == as_rows(api.records)


def test_the_ledger_is_in_the_schema_of_the_table(
    source: DataFrame, api: Api, postgres: Postgres, checkpoint: Path
) -> None:
    other = Postgres(postgres.server, f"{postgres.schema}_other")
    postgres.execute(f"CREATE SCHEMA {other.schema}")
    create_comments(other)
    api.records = comments(1, 15)
    write(source, postgres, checkpoint, table=f"{other.schema}.comments")
    assert stored(other) == as_rows(api.records)
    assert [row["total_rows"] for row in ledger(other)] == [15]
    assert postgres.tables() == set()


def test_without_a_sink_id_the_checkpoint_identifies_the_query(
    source: DataFrame, api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    for first in (1, 16):
        api.records += comments(first, 15)
        write(source, database, checkpoint, sink_id=None)
    assert stored(database) == as_rows(api.records)
    (row,) = ledger(database)
    assert row["sink_id"] == row["query_id"]


def test_upsert_replaces_rows_of_equal_keys(source: DataFrame, api: Api, database: Database, checkpoint: Path) -> None:
    create_comments(database, key="PRIMARY KEY")
    old, new = comments(1, 30), [record | {"name": "newer"} for record in comments(11, 10)]
    api.records = [*old, *new]
    write(source, database, checkpoint, mode=jdbc.Upsert(key_columns=["id"]))
    assert stored(database) == as_rows([*old[:10], *new, *old[20:]])


def test_the_greatest_order_column_wins_among_equal_keys_in_an_epoch(
    spark: SparkSession, api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database, key="PRIMARY KEY")
    api.records = [record | {"postId": post} for post in (3, 9, 5) for record in comments(1, 4)]
    frame = epochal.read.rest(spark, api.url, schema=SCHEMA)
    write(frame, database, checkpoint, mode=jdbc.Upsert(key_columns=["id"], order_column="postId"))
    assert [row[0] for row in stored(database)] == [9, 9, 9, 9]


def test_equal_keys_without_an_order_column_fail_and_nothing_is_written(
    spark: SparkSession, api: Api, database: Database, checkpoint: Path
) -> None:
    create_comments(database, key="PRIMARY KEY")
    api.records = [*comments(1, 4), *comments(1, 4)]
    frame = epochal.read.rest(spark, api.url, schema=SCHEMA)
    with pytest.raises(epochal.RowError, match="DUPLICATE_KEYS"):
        write(frame, database, checkpoint, mode=jdbc.Upsert(key_columns=["id"]))
    assert stored(database) == []


def counts(source: DataFrame) -> DataFrame:
    return source.groupBy("postId").agg(count("*").alias("n"))


@pytest.mark.slow
def test_update_mode_keeps_one_row_for_each_group(
    source: DataFrame, api: Api, database: Database, checkpoint: Path
) -> None:
    database.execute('CREATE TABLE counts ("postId" INTEGER PRIMARY KEY, "n" BIGINT)')
    for first in (1, 19):
        api.records += comments(first, 18)
        write(
            counts(source),
            database,
            checkpoint,
            table="counts",
            output_mode="update",
            mode=jdbc.Upsert(key_columns=["postId"]),
        )
    assert database.query('SELECT * FROM counts ORDER BY "postId"') == [(n, 5) for n in range(1, 8)] + [(8, 1)]


@pytest.mark.slow
def test_complete_mode_replaces_the_whole_table(
    source: DataFrame, api: Api, database: Database, checkpoint: Path
) -> None:
    database.execute('CREATE TABLE counts ("postId" INTEGER, "n" BIGINT)')
    for first in (1, 19):
        api.records += comments(first, 18)
        write(counts(source), database, checkpoint, table="counts", output_mode="complete")
    assert database.query('SELECT * FROM counts ORDER BY "postId"') == [(n, 5) for n in range(1, 8)] + [(8, 1)]


def test_a_batch_is_written_whole(spark: SparkSession, database: Database) -> None:
    create_comments(database)
    frame = spark.createDataFrame(as_rows(comments(1, 25)), SCHEMA)
    assert epochal.write.jdbc(frame, database.url, table="comments", user=database.user) is None
    assert stored(database) == as_rows(comments(1, 25))


@pytest.mark.slow
def test_a_running_query_with_an_interval_writes_new_rows(
    source: DataFrame, api: Api, database: Database, checkpoint: Path
) -> None:
    api.records = comments(1, 10)
    query = epochal.write.jdbc(
        source,
        database.url,
        table="comments",
        checkpoint=checkpoint,
        user=database.user,
        create_table=True,
        trigger="50 milliseconds",
        query_name="following",
    )
    assert query.name == "following"
    api.records += comments(11, 30)
    drain(query)
    assert stored(database) == as_rows(api.records)


@pytest.mark.slow
def test_nulls_and_numbers_arrive_as_they_are(spark: SparkSession, postgres: Postgres, checkpoint: Path) -> None:
    rows = epochal.read.random(spark, rows_per_batch=10, max_rows=10, seed=3).selectExpr(
        "id",
        "CASE WHEN id % 2 = 0 THEN value END AS word",
        "CAST(id AS DOUBLE) / 4 AS quarter",
        "id > 4 AS late",
        "TIMESTAMP '2026-01-02 03:04:05.123456' AS at",
        "DATE '2026-01-02' AS day",
        "CAST(id AS DECIMAL(10, 2)) AS price",
    )
    write(rows, postgres, checkpoint, table="kinds", create_table=True)
    found = postgres.query(
        "SELECT id, word IS NULL, quarter, late, at AT TIME ZONE 'UTC', day::text, price::text FROM kinds ORDER BY id"
    )
    assert len(found) == 10
    for number, (id_, absent, quarter, late, at, day, price) in enumerate(found):
        assert (id_, quarter, late, day, price) == (number, number / 4, number > 4, "2026-01-02", f"{number}.00")
        assert absent == (number % 2 == 1)
        assert (at.hour, at.microsecond) == (3, 123456)


def test_a_stream_of_changes_keeps_a_replica_and_sets_bad_rows_aside(
    spark: SparkSession, database: Database, checkpoint: Path
) -> None:
    database.execute("CREATE TABLE replica (number BIGINT PRIMARY KEY, word TEXT)")
    changes = epochal.read.random(spark, rows_per_batch=6, max_rows=18, seed=3).selectExpr(
        "CASE WHEN id % 6 = 5 THEN 'd' WHEN id = 10 THEN 'x' ELSE 'u' END AS op",
        "id % 6 - IF(id % 6 = 5, 1, 0) AS id",
        "id AS position",
        "CONCAT('word ', id) AS word",
    )
    write(
        changes,
        database,
        checkpoint,
        table="replica",
        mode=jdbc.Changes(key_columns=["id"], op_column="op", order_column="position"),
        columns=jdbc.Columns(map={"id": "number"}, add=True),
        dead_letters=jdbc.DeadLetters(table="bad_changes", max_rows=1),
    )
    expected = [(number, f"word {12 + number}", 12 + number) for number in range(4)]
    assert database.query("SELECT number, word, position FROM replica ORDER BY number") == expected
    ((epoch, column, row),) = database.query("SELECT epoch, column_name, row_json FROM bad_changes")
    assert (epoch, column) == (1, "op")
    assert json.loads(row) == {"op": "x", "id": 4, "position": 10, "word": "word 10"}


@pytest.mark.slow
def test_a_file_deleted_between_two_queries_of_a_session_is_recreated(spark: SparkSession, tmp_path: Path) -> None:
    for checkpoint in ("first", "second"):
        rows = epochal.read.random(spark, rows_per_batch=100, max_rows=500)
        query = epochal.write.jdbc(
            rows,
            f"jdbc:sqlite:{tmp_path}/x.db",
            table="strings",
            create_table=True,
            checkpoint=tmp_path / checkpoint,
            trigger="availableNow",
        )
        finish(query)
        assert Sqlite(tmp_path / "x.db").query("SELECT count(*), max(id) FROM strings") == [(500, 499)]
        for file in tmp_path.glob("x.db*"):
            file.unlink()


@pytest.mark.slow
def test_a_file_deleted_while_the_query_runs_is_a_named_error(spark: SparkSession, tmp_path: Path) -> None:
    query = epochal.write.jdbc(
        epochal.read.random(spark, rows_per_batch=10),
        f"jdbc:sqlite:{tmp_path}/x.db",
        table="strings",
        create_table=True,
        checkpoint=tmp_path / "checkpoint",
    )
    until(lambda: numbers(tmp_path / "checkpoint", "commits"), "an epoch")
    for file in tmp_path.glob("x.db*"):
        file.unlink(missing_ok=True)
    with pytest.raises(epochal.DatabaseError, match=r"x\.db.* was deleted") as caught, epochal.errors.named():
        finish(query)
    assert caught.value.condition == "DATABASE_FILE_REPLACED"
    assert not (tmp_path / "x.db").exists()
