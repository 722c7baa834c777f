"""``epochal.read.random``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from epochal._load import load
from epochal._options import Duration, given

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def random(
    spark: SparkSession,
    *,
    rows_per_second: int | None = None,
    rows_per_batch: int | None = None,
    num_partitions: int | None = None,
    seed: int | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    alphabet: str | None = None,
    max_rows: int | None = None,
    start_timestamp: datetime | str | None = None,
    max_rows_per_batch: int | None = None,
    min_rows_per_batch: int | None = None,
    max_batch_delay: Duration | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    streaming: bool = True,
) -> DataFrame:
    """Random strings: a row is a pure function of (seed, id), so that a replay gives the same rows.

    Columns: ``id BIGINT`` (0, 1, …), ``value STRING``, ``length BIGINT``, ``timestamp TIMESTAMP``.

    Args:
        spark: the session.
        rows_per_second: rows that come into being each second. Excludes ``rows_per_batch``.
        rows_per_batch: rows of every micro-batch, whatever the time.
        num_partitions: tasks that make them.
        seed: what the strings depend on, with the id.
        min_length: characters of a string at the least.
        max_length: characters of a string at the most.
        alphabet: the characters to choose from.
        max_rows: rows in all; a batch read needs it.
        start_timestamp: the time of row 0.
        max_rows_per_batch: rows of a micro-batch at the most.
        min_rows_per_batch: rows to wait for before a micro-batch starts.
        max_batch_delay: how long ``min_rows_per_batch`` may hold rows back.
        fail_on_data_loss: whether rows that are gone fail the query.
        source_id: the source's name in the offsets.
        streaming: False reads once, as a batch.

    Raises:
        OptionError: a value that the source refuses, or options that exclude each other.
    """
    options = given(
        {
            "rowsPerSecond": rows_per_second,
            "rowsPerBatch": rows_per_batch,
            "numPartitions": num_partitions,
            "seed": seed,
            "minLength": min_length,
            "maxLength": max_length,
            "alphabet": alphabet,
            "maxRows": max_rows,
            "startTimestamp": start_timestamp,
            "maxRowsPerBatch": max_rows_per_batch,
            "minRowsPerBatch": min_rows_per_batch,
            "maxBatchDelay": max_batch_delay,
            "failOnDataLoss": fail_on_data_loss,
            "sourceId": source_id,
        }
    )
    return load(spark, "epochal-random", options, None, streaming)
