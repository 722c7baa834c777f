"""Sources as DataFrames: plain ``DataStreamReader`` calls with typed arguments.

Every argument but the session (and ``url``) is keyword-only and named like the jar's option, in snake case. ``None``
means "not set": the default of the jar holds (``docs/OPTIONS.md``). They work on classic and on Connect sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    schema: str | StructType | None = None,
    infer_schema: bool | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    request_body: str | None = None,
    pagination: Literal["none", "offset", "page"] | None = None,
    offset_param: str | None = None,
    limit_param: str | None = None,
    page_size: int | None = None,
    page_param: str | None = None,
    page_size_param: str | None = None,
    first_page: int | None = None,
    body_format: Literal["json", "ndjson", "csv"] | None = None,
    records: str | None = None,
    sep: str | None = None,
    header: bool | None = None,
    null_value: str | None = None,
    mode: Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    metadata_columns: Sequence[str] | None = None,
    max_record_bytes: Size | None = None,
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
    """The records of an API, in the order in which it lists them.

    Columns: those of ``schema``, then those that ``mode``, ``rescued_data_column`` and ``metadata_columns`` add. The
    API must keep its order and may only grow at its end.

    Args:
        spark: the session.
        url: what to GET (to POST, with ``request_body``), without the query's parameters.
        schema: DDL such as ``"id INT, name STRING"``, or a ``StructType``.
        infer_schema: whether Spark infers the schema from the first page; a query keeps the one that it began with.
        headers: request headers; secret.
        params: query parameters that stay the same; secret.
        request_body: body of every request, which is then a POST; ``${offset}`` and ``${limit}``, or ``${page}`` and
            ``${pageSize}``, in it tell the page; secret.
        pagination: ``"offset"`` and ``"page"`` ask for ``page_size`` records at a time; ``"none"`` asks once.
        offset_param: the parameter that carries the number of records to skip.
        limit_param: the parameter that carries the page's size under ``"offset"``.
        page_size: records in a page.
        page_param: the parameter that carries the page's number.
        page_size_param: the parameter that carries the page's size under ``"page"``.
        first_page: the number of the first page.
        body_format: how an answer holds records: ``"json"``, an array; ``"ndjson"``, one object a line; ``"csv"``.
        records: JSON Pointer (RFC 6901) to the array of records; the empty text is the whole answer.
        sep: the character between the fields of CSV.
        header: whether the first line of each answer in CSV names its fields.
        null_value: unquoted text that is NULL in CSV.
        mode: what becomes of a record that does not fit: ``"FAILFAST"`` fails the query, ``"PERMISSIVE"`` keeps what
            fits, and the record itself in a column, ``"DROPMALFORMED"`` drops it.
        column_name_of_corrupt_record: that column.
        rescued_data_column: a column for the fields that have none, as JSON.
        metadata_columns: ``"_url"``, ``"_status"``, ``"_fetchedAt"``: columns that tell where a record came from.
        max_record_bytes: size of a record at the most; a larger one does not fit.
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
        SchemaError: there is no schema, or it cannot be read or inferred.
    """
    options = given(
        {
            "url": url,
            "inferSchema": infer_schema,
            "requestBody": request_body,
            "pagination": pagination,
            "offsetParam": offset_param,
            "limitParam": limit_param,
            "pageSize": page_size,
            "pageParam": page_param,
            "pageSizeParam": page_size_param,
            "firstPage": first_page,
            "bodyFormat": body_format,
            "records": records,
            "sep": sep,
            "header": header,
            "nullValue": null_value,
            "mode": mode,
            "columnNameOfCorruptRecord": column_name_of_corrupt_record,
            "rescuedDataColumn": rescued_data_column,
            "metadataColumns": metadata_columns,
            "maxRecordBytes": max_record_bytes,
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
