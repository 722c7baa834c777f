"""Sources as DataFrames: plain ``DataStreamReader`` calls with typed arguments.

Every argument but the session (and ``url``) is keyword-only. ``None`` means "not set": the default of the jar holds
(``docs/OPTIONS.md``). They work on classic and on Connect sessions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from epochal._forms import CHECKPOINT, INGEST, JDBC_SOURCE, RANDOM, REST
from epochal._load import load
from epochal._options import Location, OptionValue, text
from epochal._table_read import load_table
from epochal._values.auth import AnyAuth
from epochal._values.http import Http, Limits
from epochal._values.ingest import AnyProtocol, AnyReceived, Journal
from epochal._values.pages import AnyPages
from epochal._values.records import AnyRecords, Poll
from epochal._values.secret import Secret
from epochal._values.table import Partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["checkpoint", "ingest", "jdbc", "random", "rest"]


def __dir__() -> list[str]:
    return __all__


def checkpoint(spark: SparkSession, path: Location, *, options: Mapping[str, OptionValue] | None = None) -> DataFrame:
    """What Spark has logged in a checkpoint, of any query and any sink: a row for each source of each epoch.

    ``docs/checkpoints.md`` lists the columns. ``epochal.checkpoint`` gives the same as a value that explains itself.

    Args:
        spark: the session.
        path: the directory that the query has as ``checkpointLocation``, on any file system that Spark reaches.
        options: options by the jar's own names.

    Returns:
        A batch. A file that cannot be read is a row with a ``problem``.

    Raises:
        CheckpointError: there is no checkpoint (``CHECKPOINT_NOT_FOUND``), when the rows are asked for.
        OptionError: this driver serves several users, and its owner has not allowed the path (``OPTION_NOT_ALLOWED``).
    """
    return load(spark, CHECKPOINT, {"path": text(path)}, options, None, streaming=False)


def ingest(
    spark: SparkSession,
    *,
    protocol: AnyProtocol | None = None,
    records: AnyReceived | None = None,
    journal: Journal | None = None,
    schema: str | StructType | None = None,
    limits: Limits | None = None,
    num_partitions: int | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    event_time_column: str | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> DataFrame:
    """Records that clients send to the driver: a stream. None is acknowledged before it is safe in the checkpoint.

    Columns: ``value STRING``, or with ``records`` those of ``schema``; then ``receivedAt TIMESTAMP``,
    ``remote STRING``, ``stream STRING``, ``headers MAP<STRING, STRING>``. ``docs/ingest.md`` says what clients can
    rely on.

    >>> lines = epochal.read.ingest(spark, protocol=ingest.Tcp(9999, ack=True))  # doctest: +SKIP
    >>> ingest.address(query)  # doctest: +SKIP
    ('127.0.0.1', 9999)

    Args:
        spark: the session.
        protocol: how records come: a value of ``epochal.ingest``. Needed.
        records: what a record is: ``ingest.Text`` (the default), ``ingest.Json`` or ``ingest.Csv``.
        journal: what may wait, and how long idempotency keys are known.
        schema: the columns of ``ingest.Json`` and ``ingest.Csv``.
        limits: how large a micro-batch may be.
        num_partitions: partitions of a batch.
        fail_on_data_loss: whether rows that are gone fail the query.
        source_id: the source's name in the offsets.
        event_time_column: the column whose highest value is kept in the offsets, with its lag in the progress, such as
            ``"receivedAt"``.
        options: options by the jar's own names, such as ``{"port": 9999}``.

    Raises:
        OptionError: a value that the source refuses, or a listener that everybody could write to.
        SchemaError: a schema that does not fit.
    """
    return load(spark, INGEST, INGEST.given(locals()), options, schema, streaming=True)


def jdbc(
    spark: SparkSession,
    url: str,
    *,
    table: str | None = None,
    query: str | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    partitions: Partitions | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> DataFrame:
    """A table of a database, or the rows of a query in it, as a batch: what ``epochal.write.jdbc`` has written.

    This is Spark's own ``jdbc`` format, with the driver's class found by the URL, and whole numbers and floating-point
    numbers of SQLite read with all their 64 bits. It reads no stream.

    >>> strings = epochal.read.jdbc(spark, "jdbc:sqlite:strings.db", table="strings")  # doctest: +SKIP

    Args:
        spark: the session.
        url: JDBC URL.
        table: the table, with its schema where it needs one, as the database spells it.
        query: a SELECT, in place of ``table``.
        user: name to log in with.
        password: its password; secret. Spark takes the password itself: ``Secret.env`` and ``Secret.file`` are read in
            this process, which on Spark Connect is the client.
        partitions: tasks that read at the same time; unset, one reads all. Not with ``query``.
        options: options of Spark's ``jdbc`` format, and properties of the driver, such as ``{"sslmode": "require"}``.

    Raises:
        OptionError: neither or both of ``table`` and ``query`` are given, or a secret cannot be read.
        DatabaseError: there is no driver, or the database cannot be reached, or says no.
    """
    password = Secret(password) if isinstance(password, str) else password
    return load_table(spark, JDBC_SOURCE, JDBC_SOURCE.given(locals()), options)


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
    limits: Limits | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    event_time_column: str | None = None,
    streaming: bool = True,
    options: Mapping[str, OptionValue] | None = None,
) -> DataFrame:
    """Random strings: a row is a pure function of (seed, id), so that a replay gives the same rows.

    Columns: ``id BIGINT`` (0, 1, …), ``value STRING``, ``length BIGINT``, ``timestamp TIMESTAMP``.

    Args:
        spark: the session.
        rows_per_second: rows that become available in a second. Excludes ``rows_per_batch``.
        rows_per_batch: rows of each micro-batch, whatever the time.
        num_partitions: partitions of a batch.
        seed: what the strings depend on, with the id.
        min_length: characters of the shortest string.
        max_length: characters of the longest string.
        alphabet: the characters to choose from.
        max_rows: rows in all; a batch read needs it.
        start_timestamp: the timestamp of row 0; a ``datetime`` without a zone is local time.
        limits: how large a micro-batch may be.
        fail_on_data_loss: whether rows that are gone fail the query.
        source_id: the source's name in the offsets.
        event_time_column: the column whose highest value is kept in the offsets, with its lag in the progress; here
            ``"timestamp"``.
        streaming: False reads once, as a batch.
        options: options by the jar's own names, such as ``{"maxRows": 10}``.

    Raises:
        OptionError: a value that the source refuses, or options that exclude each other.
    """
    return load(spark, RANDOM, RANDOM.given(locals()), options, None, streaming)


def rest(
    spark: SparkSession,
    url: str,
    *,
    schema: str | StructType | None = None,
    infer_schema: bool | None = None,
    pages: AnyPages | None = None,
    records: AnyRecords | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    request_body: str | None = None,
    partition_params: Sequence[Mapping[str, str | int | float | bool]] | str | None = None,
    metadata_columns: Sequence[str] | None = None,
    http: Http | None = None,
    limits: Limits | None = None,
    poll: Poll | None = None,
    num_partitions: int | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    streaming: bool = True,
    options: Mapping[str, OptionValue] | None = None,
) -> DataFrame:
    """The records of an API, in the order in which it lists them.

    Columns: those of ``schema``, then those that ``records`` and ``metadata_columns`` add. The API must keep its order
    and may only grow at its end (windows of time: within their ``lag`` and ``overlap``).

    >>> comments = epochal.read.rest(  # doctest: +SKIP
    ...     spark,
    ...     "https://api.example.com/comments",
    ...     pages=rest.Cursor(next="/paging/next", param="after"),
    ...     records=rest.Json("/data"),
    ...     auth=rest.Bearer(Secret.env("TOKEN")),
    ...     schema="id INT, name STRING",
    ...     limits=Limits(rows=10_000),
    ...     http=Http(timeout="20s", retry=Retry(attempts=5)),
    ... )

    Args:
        spark: the session.
        url: what to GET (to POST, with ``request_body``), with a query or without.
        schema: DDL such as ``"id INT, name STRING"``, or a ``StructType``.
        infer_schema: whether Spark infers the schema from the first page; a query keeps the one that it began with.
        pages: how the pages of the list follow each other: ``rest.Offset``, ``rest.Page``, ``rest.Cursor``,
            ``rest.Keyset``, ``rest.Link``, ``rest.NextUrl``, ``rest.TimeWindow``; unset, one response is all.
        records: how a response holds records: ``rest.Json``, ``rest.Ndjson``, ``rest.Csv``; unset, it is an array of
            JSON.
        auth: who asks: ``rest.Bearer``, ``rest.Basic``, ``rest.OAuth2``, ``rest.ApiKey``, ``rest.Signer``; a list
            where a key or a signer goes with another one.
        headers: request headers; secret.
        params: query parameters that stay the same; secret.
        request_body: body of every request, which is then a POST; ``${offset}`` and ``${limit}``, ``${page}`` and
            ``${pageSize}``, ``${cursor}``, ``${windowFrom}`` and ``${windowTo}`` in it select the page; secret.
        partition_params: rows of names and values, such as ``[{"repo": "a"}, {"repo": "b"}]``, or that as JSON: each
            has a sequence of requests and a position of its own; ``${repo}`` in ``url``, ``params`` and
            ``request_body`` is its value.
        metadata_columns: columns that say where a record came from: ``"_url"``, ``"_status"``, ``"_fetchedAt"``,
            ``"_headers"``, ``"_params"``.
        http: time limits, retries, TLS, proxy and budget of requests.
        limits: how large a micro-batch may be.
        poll: how a stream polls for new records.
        num_partitions: tasks that fetch pages at the same time.
        fail_on_data_loss: whether an API that shrank below the offset fails the query.
        source_id: the source's name in the offsets; without one it is made from what selects the records.
        streaming: False reads once, as a batch.
        options: options by the jar's own names, such as ``{"pageSize": 10}``.

    Raises:
        OptionError: a value that the source refuses, or options that exclude each other.
        SchemaError: there is no schema, or it cannot be read or inferred.
    """
    partition_params = _table(partition_params)
    return load(spark, REST, REST.given(locals()), options, schema, streaming)


def _table(rows: Sequence[Mapping[str, str | int | float | bool]] | str | None) -> str | None:
    return rows if rows is None or isinstance(rows, str) else json.dumps([dict(row) for row in rows])
