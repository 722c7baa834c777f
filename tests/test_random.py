"""``epochal-random`` through Python."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from support.streams import drain, finish, rows_by_batch
from support.waiting import until

pytestmark = pytest.mark.line


def test_a_batch_has_the_requested_columns_and_rows(spark: SparkSession) -> None:
    rows = epochal.read.random(spark, max_rows=100, min_length=2, max_length=4, alphabet="ab", streaming=False)
    assert rows.dtypes == [("id", "bigint"), ("value", "string"), ("length", "bigint"), ("timestamp", "timestamp")]
    found = rows.collect()
    assert [row.id for row in found] == list(range(100))
    assert all(2 <= len(row.value) <= 4 and set(row.value) <= set("ab") for row in found)
    assert all(row.length == len(row.value) for row in found)


@pytest.mark.slow
def test_a_row_depends_on_the_seed_and_its_id_alone(spark: SparkSession) -> None:
    def values(seed: int, partitions: int) -> list[tuple[Any, ...]]:
        rows = epochal.read.random(
            spark,
            max_rows=50,
            seed=seed,
            num_partitions=partitions,
            start_timestamp="2026-01-01T00:00:00Z",
            streaming=False,
        )
        return [tuple(row) for row in rows.orderBy("id").collect()]

    assert values(7, 1) == values(7, 5)
    assert values(7, 1) != values(8, 1)


def test_a_start_time_may_be_a_datetime(spark: SparkSession) -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    row = epochal.read.random(spark, max_rows=1, start_timestamp=start, streaming=False).first()
    assert row is not None
    assert row.timestamp.astimezone(timezone.utc) == start or row.timestamp == start.replace(tzinfo=None)


@pytest.mark.slow
def test_a_stream_has_consecutive_ids_in_batches_of_the_requested_size(spark: SparkSession) -> None:
    query = (
        epochal.read.random(spark, rows_per_batch=10, seed=1)
        .writeStream.format("memory")
        .queryName("random_stream")
        .trigger(processingTime="10 milliseconds")
        .start()
    )
    until(lambda: len(rows_by_batch(query)) >= 3, "3 batches")
    query.stop()
    assert set(rows_by_batch(query)) == {10}
    found = sorted(row.id for row in spark.table("random_stream").collect())
    assert found == list(range(len(found)))


def test_available_now_ends_at_max_rows_in_batches_of_the_limit(spark: SparkSession) -> None:
    query = (
        epochal.read.random(spark, rows_per_batch=100, max_rows=100, limits=epochal.Limits(rows=30))
        .writeStream.format("memory")
        .queryName("random_now")
        .trigger(availableNow=True)
        .start()
    )
    finish(query)
    assert sum(rows_by_batch(query)) == spark.table("random_now").count()
    assert max(rows_by_batch(query)) <= 30


def test_both_rates_at_once_are_refused(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_CONFLICT.*rows_per"):
        epochal.read.random(spark, rows_per_second=1, rows_per_batch=1)


@pytest.mark.slow
def test_max_rows_ends_a_stream(spark: SparkSession) -> None:
    query = (
        epochal.read.random(spark, rows_per_second=100_000, max_rows=25)
        .writeStream.format("memory")
        .queryName("random_max")
        .start()
    )
    until(lambda: spark.table("random_max").count() == 25, "all 25 rows")
    drain(query)
    assert spark.table("random_max").count() == 25
