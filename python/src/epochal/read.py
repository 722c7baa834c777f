"""Sources as DataFrames: plain ``DataStreamReader`` calls with typed arguments.

Every argument but the session (and ``url``) is keyword-only and named like the jar's option, in snake case. ``None``
means "not set": the default of the jar holds (``docs/OPTIONS.md``). They work on classic and on Connect sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from epochal._options import Duration, Size, given
from epochal.errors import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["random", "rest"]


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
    return _load(spark, "epochal-random", options, None, streaming)


def rest(
    spark: SparkSession,
    url: str,
    *,
    schema: str | StructType,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    pagination: Literal["none", "offset", "page", "cursor", "keyset", "link", "next-url"] | None = None,
    offset_param: str | None = None,
    limit_param: str | None = None,
    page_size: int | None = None,
    page_param: str | None = None,
    page_size_param: str | None = None,
    first_page: int | None = None,
    next_cursor: str | None = None,
    next_cursor_header: str | None = None,
    cursor_param: str | None = None,
    cursor_header: str | None = None,
    first_cursor: str | None = None,
    key_field: str | None = None,
    link_rel: str | None = None,
    next_url: str | None = None,
    has_more: str | None = None,
    max_pages: int | None = None,
    journal: bool | None = None,
    records: str | None = None,
    num_partitions: int | None = None,
    timeout: Duration | None = None,
    retry_max_attempts: int | None = None,
    retry_initial_delay: Duration | None = None,
    retry_max_delay: Duration | None = None,
    retry_deadline: Duration | None = None,
    max_response_bytes: Size | None = None,
    max_rows_per_batch: int | None = None,
    min_rows_per_batch: int | None = None,
    max_batch_delay: Duration | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    streaming: bool = True,
) -> DataFrame:
    """The records of a JSON API, in the order in which it lists them.

    Columns: those of ``schema``. The API must keep its order and may only grow at its end.

    Args:
        spark: the session.
        url: what to GET, without the query's parameters.
        schema: DDL such as ``"id INT, name STRING"``, or a ``StructType``.
        headers: request headers; secret.
        params: query parameters that stay the same; secret.
        pagination: ``"offset"`` and ``"page"`` ask for ``page_size`` records at a time; ``"none"`` asks once;
            ``"cursor"``, ``"keyset"``, ``"link"`` and ``"next-url"`` follow what each page says of the next one.
        offset_param: the parameter that carries the number of records to skip.
        limit_param: the parameter that carries the page's size under ``"offset"``.
        page_size: records in a page.
        page_param: the parameter that carries the page's number.
        page_size_param: the parameter that carries the page's size under ``"page"``.
        first_page: the number of the first page.
        next_cursor: JSON Pointer to the next page's cursor in an answer.
        next_cursor_header: the header of an answer that has it, in place of ``next_cursor``.
        cursor_param: the parameter that sends the cursor, or the key.
        cursor_header: the header that sends it, in place of ``cursor_param``.
        first_cursor: the cursor or key of the first page, where that needs one.
        key_field: JSON Pointer within a record to its key, by which the next page is asked for.
        link_rel: the relation of the ``Link`` header that leads to the next page.
        next_url: JSON Pointer to the next page's URL in an answer.
        has_more: JSON Pointer to a flag in an answer; where it is false no page follows.
        max_pages: pages that one batch may ask for; an API that goes on for longer is an error.
        journal: keeps answers in the checkpoint until they are delivered; always so where pages are followed.
        records: JSON Pointer (RFC 6901) to the array of records; the empty text is the whole answer.
        num_partitions: tasks that fetch pages at the same time.
        timeout: time for one answer.
        retry_max_attempts: tries in all, the first one included.
        retry_initial_delay: upper bound of the first delay; it doubles with every try.
        retry_max_delay: upper bound of any delay.
        retry_deadline: time for all tries together.
        max_response_bytes: size of an answer at the most.
        max_rows_per_batch: rows of a micro-batch at the most.
        min_rows_per_batch: rows to wait for before a micro-batch starts.
        max_batch_delay: how long ``min_rows_per_batch`` may hold rows back.
        fail_on_data_loss: whether an API that shrank below the offset fails the query.
        source_id: the source's name in the offsets; without one it is made from the URL.
        streaming: False reads once, as a batch.

    Raises:
        OptionError: a value that the source refuses.
        SchemaError: the schema cannot be read.
    """
    options = given(
        {
            "url": url,
            "pagination": pagination,
            "offsetParam": offset_param,
            "limitParam": limit_param,
            "pageSize": page_size,
            "pageParam": page_param,
            "pageSizeParam": page_size_param,
            "firstPage": first_page,
            "nextCursor": next_cursor,
            "nextCursorHeader": next_cursor_header,
            "cursorParam": cursor_param,
            "cursorHeader": cursor_header,
            "firstCursor": first_cursor,
            "keyField": key_field,
            "linkRel": link_rel,
            "nextUrl": next_url,
            "hasMore": has_more,
            "maxPages": max_pages,
            "journal": journal,
            "records": records,
            "numPartitions": num_partitions,
            "timeout": timeout,
            "retry.maxAttempts": retry_max_attempts,
            "retry.initialDelay": retry_initial_delay,
            "retry.maxDelay": retry_max_delay,
            "retry.deadline": retry_deadline,
            "maxResponseBytes": max_response_bytes,
            "maxRowsPerBatch": max_rows_per_batch,
            "minRowsPerBatch": min_rows_per_batch,
            "maxBatchDelay": max_batch_delay,
            "failOnDataLoss": fail_on_data_loss,
            "sourceId": source_id,
        },
        headers=headers,
        params=params,
    )
    return _load(spark, "epochal-rest", options, schema, streaming)


def _load(
    spark: SparkSession, source: str, options: dict[str, str], schema: str | StructType | None, streaming: bool
) -> DataFrame:
    with named():
        if streaming:
            stream = spark.readStream.format(source).options(**options)
            return (stream if schema is None else stream.schema(schema)).load()
        batch = spark.read.format(source).options(**options)
        return (batch if schema is None else batch.schema(schema)).load()
