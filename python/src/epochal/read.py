"""Sources as DataFrames: ``DataStreamReader`` calls, or ``DataFrameReader`` calls for batches, with typed arguments.

All arguments except the session and ``url`` are keyword-only. ``None`` means "not set": the jar's default applies. The
functions work on classic and on Connect sessions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from epochal._declarations import CDC, CHECKPOINT, INGEST, JDBC_SOURCE, RANDOM, REST
from epochal._load import load, load_table
from epochal._options import Location, OptionValue, text
from epochal._values.auth import AnyAuth
from epochal._values.cdc import AnyVerify, OnSchemaChange, OnTruncate, RowShape, Slot
from epochal._values.each import Each
from epochal._values.http import Http, Limits, Retry
from epochal._values.ingest import AnyProtocol, AnyReceived, Journal
from epochal._values.pages import AnyPages
from epochal._values.poll import AnyPoll
from epochal._values.records import AnyRecords
from epochal._values.secret import Secret
from epochal._values.table import Connection, Partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["cdc", "checkpoint_log", "ingest", "jdbc", "random", "rest"]
__dir__ = __all__.copy


@CDC.helper
def cdc(
    spark: SparkSession,
    url: str,
    *,
    table: str | Sequence[str],
    user: str | None = None,
    password: Secret | str | None = None,
    slot: Slot | None = None,
    rows: RowShape | None = None,
    preimages: bool | None = None,
    on_truncate: OnTruncate | None = None,
    on_schema_change: OnSchemaChange | None = None,
    verify: AnyVerify | None = None,
    schema: str | StructType | None = None,
    connection: Connection | None = None,
    limits: Limits | None = None,
    retry: Retry | None = None,
    num_partitions: int | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    event_time_column: str | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> DataFrame:
    """A stream of the changes of a PostgreSQL table, or of several, in the order of their commits.

    Columns: those of the table, then ``_unchanged_columns ARRAY<STRING>`` (columns whose value the server did not
    send, because an update left it alone; NULL when there are none), ``_change_type STRING`` (``"insert"``,
    ``"update_preimage"``, ``"update_postimage"``, ``"delete"``, ``"truncate"``; for a comparison
    ``"verify"`` and other words that begin so), ``_commit_version STRING`` (sorts in commit order) and
    ``_commit_timestamp TIMESTAMP``.

    Of several tables: ``_table STRING`` (such as ``"public.orders"``), ``before STRING`` and ``after STRING`` (JSON of
    the row), or with ``rows="typed"`` a STRUCT column of its name for each table (NULL in the rows of others),
    then the same columns from ``_unchanged_columns`` on.

    >>> from epochal import cdc
    >>> changes = epochal.read.cdc(  # doctest: +SKIP
    ...     spark, "jdbc:postgresql://db/shop", table="public.orders", user="capture", password=Secret.env("PASSWORD"),
    ...     slot=cdc.Slot("orders"),
    ... )

    Args:
        table: name of the table, qualified with its schema if needed, as the database spells it. Several: a list of
            names, or a text such as ``"public.orders,public.items"``; ``"public.*"`` is a whole schema.
        user: a role with REPLICATION that may SELECT from the table.
        slot: the replication slot and the publication; unset, a slot is created whose name follows from the table and
            the checkpoint.
        rows: of several tables, ``"json"`` (the default) or ``"typed"``.
        preimages: whether an update also delivers the row before it; needs REPLICA IDENTITY FULL. Of several tables:
            whether ``before`` must be the whole row.
        verify: compares the tables with replicas by ``epochal.write.jdbc``, on request or at intervals; unset, requests
            are ignored.
        schema: a part of the columns; any column can be read as STRING. Not with JSON of several tables.
        connection: properties for the driver; ``driver``, ``max_connections`` and ``lock_timeout`` do not apply.

    Raises:
        OptionError: the source rejects a value.
        DatabaseError: the server cannot be reached, or does not allow the capture: the error has the SQL that fixes it.
        TableError: the table or one of its columns cannot be captured.
    """
    return load(spark, CDC, CDC.select(locals()), options, schema, streaming=True)


@CHECKPOINT.helper
def checkpoint_log(
    spark: SparkSession, path: Location, *, options: Mapping[str, OptionValue] | None = None
) -> DataFrame:
    """The logs of a checkpoint, of any query and any sink: one row for each source of each epoch.

    ``epochal.checkpoint`` returns the same logs as a Python object, which prints as a summary.

    Args:
        path: the query's ``checkpointLocation``, on any file system that Spark can read.

    Returns:
        A batch DataFrame. A log file that cannot be read yields a row whose ``problem`` states why.

    Raises:
        CheckpointError: there is no checkpoint (``CHECKPOINT_NOT_FOUND``). Raised by the first action.
        OptionError: the driver is shared by several users, and its configuration does not allow this path
            (``OPTION_NOT_ALLOWED``).
    """
    return load(spark, CHECKPOINT, {"path": text(path)}, options, None, streaming=False)


@INGEST.helper
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
    """A stream of the records that clients send to the driver. A record is acknowledged once it is in the checkpoint.

    Columns: ``value STRING``, or with ``records`` those of ``schema``; then ``receivedAt TIMESTAMP``,
    ``remote STRING``, ``stream STRING``, ``headers MAP<STRING, STRING>``.

    >>> from epochal import ingest
    >>> lines = epochal.read.ingest(spark, protocol=ingest.Tcp(9999, ack=True))  # doctest: +SKIP
    >>> query = lines.writeStream.format("console").start()  # doctest: +SKIP
    >>> ingest.address(query)  # doctest: +SKIP
    ('127.0.0.1', 9999)

    Args:
        protocol: how clients send records: ``ingest.Tcp`` or ``ingest.HttpServer``. Required.
        records: format of a record: ``ingest.Text`` (the default), ``ingest.Json`` or ``ingest.Csv``.
        schema: the columns of ``ingest.Json`` and ``ingest.Csv``.

    Raises:
        OptionError: the source rejects a value, or the listener is reachable from other machines without credentials.
        SchemaError: ``schema`` is missing or invalid, or is set for text records.
    """
    return load(spark, INGEST, INGEST.select(locals()), options, schema, streaming=True)


@JDBC_SOURCE.helper
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
    """A database table, or the result of a query, as a batch DataFrame.

    This is Spark's ``jdbc`` format; the driver class follows from the URL, and SQLite's integers and floating-point
    numbers are read with all 64 bits. There is no streaming read.

    >>> strings = epochal.read.jdbc(spark, "jdbc:sqlite:strings.db", table="strings")  # doctest: +SKIP

    Args:
        url: JDBC URL.
        table: name of the table, qualified with its schema if needed, as the database spells it.
        query: a SELECT, instead of ``table``.
        user: database user.
        password: password of the user; secret. Spark's format needs the password itself: ``Secret.env`` and
            ``Secret.file`` are read in this process, which on Spark Connect is the client.
        partitions: how to split the read into parallel tasks; unset, one task reads all. Not with ``query``.
        options: options of Spark's ``jdbc`` format and driver properties, such as ``{"sslmode": "require"}``.

    Raises:
        OptionError: neither or both of ``table`` and ``query`` are set, or a secret cannot be read.
        DatabaseError: the driver is missing, or the database cannot be reached or reports an error.
    """
    password = Secret(password) if isinstance(password, str) else password
    return load_table(spark, JDBC_SOURCE, JDBC_SOURCE.select(locals()), options)


@RANDOM.helper
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
    """Random strings. A row depends on the options and its id only, so a replay delivers the same rows.

    Columns: ``id BIGINT`` (0, 1, …), ``value STRING``, ``length BIGINT``, ``timestamp TIMESTAMP``.

    Args:
        max_rows: total number of rows; required for a batch read.

    Raises:
        OptionError: the source rejects a value, or options exclude each other.
    """
    return load(spark, RANDOM, RANDOM.select(locals()), options, None, streaming)


@REST.helper
def rest(
    spark: SparkSession,
    url: str,
    *,
    schema: str | StructType | None = None,
    pages: AnyPages | None = None,
    records: AnyRecords | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    request_body: str | None = None,
    each: Each | None = None,
    http: Http | None = None,
    limits: Limits | None = None,
    poll: AnyPoll | None = None,
    fail_on_data_loss: bool | None = None,
    num_partitions: int | None = None,
    source_id: str | None = None,
    streaming: bool = True,
    options: Mapping[str, OptionValue] | None = None,
) -> DataFrame:
    """The records of a REST API, in the order of its list.

    Columns: those of ``schema``, then those that ``records`` and ``each`` add. The list must keep its order and may
    grow only at its end (``rest.TimeWindow``: within its ``lag`` and ``overlap``), unless ``poll`` is ``rest.Since``.

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
        schema: DDL such as ``"id INT, name STRING"``, or a ``StructType``; ``"infer"`` infers it from the first page,
            and a query keeps the schema that it started with.
        pages: the pagination: ``rest.Offset``, ``rest.Page``, ``rest.Cursor``, ``rest.Keyset``, ``rest.Link``,
            ``rest.NextUrl``, ``rest.GraphQL``, ``rest.TimeWindow``; unset, one response holds all records.
        records: format of a response, and columns with the origin of a record: ``rest.Json``, ``rest.Ndjson``,
            ``rest.Csv``; unset, a JSON array.
        auth: the credentials of requests: ``rest.Bearer``, ``rest.Basic``, ``rest.OAuth2``, ``rest.ApiKey``,
            ``rest.Signer``. A list combines ``rest.ApiKey`` or ``rest.Signer`` with another one.
        request_body: body of every request, a POST unless ``pages`` has another ``method``. A place for the cursor or
            position is named by ``pages``, or by the placeholders ``${offset}`` and ``${limit}``, ``${page}`` and
            ``${pageSize}``, ``${cursor}``, ``${windowFrom}`` and ``${windowTo}``; secret.
        poll: how a stream polls: ``rest.Poll`` for new records, ``rest.Since`` also for records that have changed.

    Raises:
        OptionError: the source rejects a value, or options exclude each other.
        SchemaError: the schema is missing, or cannot be parsed or inferred.
    """
    return load(spark, REST, REST.select(locals()), options, None if schema == "infer" else schema, streaming)
