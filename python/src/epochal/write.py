"""Sinks: plain ``DataStreamWriter`` and ``DataFrameWriter`` calls with typed arguments.

All arguments except the DataFrame and ``url`` are keyword-only. ``None`` means "not set": the jar's default applies.
With a ``checkpoint`` the DataFrame is a stream, and the call returns the started query; without one it is a batch.

``jdbc_options`` and ``rest_options`` return the options that ``jdbc`` and ``rest`` set, for a query that is started in
another way: by a pipeline's sink or by your own writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

from epochal._declarations import JDBC, REST_SINK
from epochal._options import Location, OptionValue
from epochal._start import OutputMode, Stream, start
from epochal._trigger import Trigger
from epochal._values import rows as _rows
from epochal._values.auth import AnyAuth
from epochal._values.http import Http, Retry
from epochal._values.secret import Secret
from epochal._values.table import AnyMode, Columns, Connection, DeadLetters, Ledger, Transport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Method = Literal["POST", "PUT", "PATCH"]

__all__ = ["jdbc", "jdbc_options", "rest", "rest_options"]
__dir__ = __all__.copy


@overload
def jdbc(
    df: DataFrame,
    url: str,
    *,
    table: str,
    checkpoint: Location,
    trigger: Trigger | None = None,
    output_mode: OutputMode = "append",
    query_name: str | None = None,
    sink_id: str | None = None,
    mode: AnyMode | None = None,
    create_table: bool | None = None,
    columns: Columns | None = None,
    dead_letters: DeadLetters | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    connection: Connection | None = None,
    ledger: Ledger | None = None,
    transport: Transport | None = None,
    retry: Retry | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> StreamingQuery: ...
@overload
def jdbc(
    df: DataFrame,
    url: str,
    *,
    table: str,
    checkpoint: None = None,
    mode: AnyMode | None = None,
    create_table: bool | None = None,
    columns: Columns | None = None,
    dead_letters: DeadLetters | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    connection: Connection | None = None,
    ledger: Ledger | None = None,
    transport: Transport | None = None,
    retry: Retry | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> None: ...
@JDBC.helper
def jdbc(
    df: DataFrame,
    url: str,
    *,
    table: str,
    checkpoint: Location | None = None,
    trigger: Trigger | None = None,
    output_mode: OutputMode = "append",
    query_name: str | None = None,
    sink_id: str | None = None,
    mode: AnyMode | None = None,
    create_table: bool | None = None,
    columns: Columns | None = None,
    dead_letters: DeadLetters | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    connection: Connection | None = None,
    ledger: Ledger | None = None,
    transport: Transport | None = None,
    retry: Retry | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> StreamingQuery | None:
    """Writes a DataFrame into a database table: a stream exactly once, a batch in one transaction.

    >>> query = epochal.write.jdbc(  # doctest: +SKIP
    ...     comments,
    ...     "jdbc:postgresql://db/warehouse",
    ...     table="comments",
    ...     mode=jdbc.Upsert(key_columns=["id"]),
    ...     user="loader",
    ...     password=Secret.env("DB_PASSWORD"),
    ...     checkpoint="/data/checkpoints/comments",
    ...     trigger="1 minute",
    ... )

    Args:
        df: a streaming DataFrame, which requires ``checkpoint``, or a batch, which takes none of the arguments of a
            stream.
        url: JDBC URL. The jar contains the drivers of PostgreSQL and SQLite; for another database, add its driver to
            Spark's class path.
        table: name of the table, qualified with its schema if needed.
        checkpoint: directory of the query's state. Exactly-once requires the same directory after a restart.
        trigger: ``"availableNow"`` writes the available rows, in batches, and ends; ``"5 seconds"`` or a ``timedelta``
            is the time from the start of one micro-batch to the next; unset, as fast as possible.
            ``"continuous 1 second"`` and ``"realTime 5 minutes"`` (Spark 4.1 and newer; the same as ``"realTime"``)
            run Spark's other modes, where an epoch takes that long. A real-time query gets the settings that Spark
            requires: output mode ``"update"``, synchronous progress, and no check of Spark's list of allowed sinks.
        output_mode: ``"update"`` upserts by the keys of ``mode``; ``"complete"`` replaces all rows in every epoch.
        query_name: name of the query in Spark's UI and in ``spark.streams``.
        sink_id: name of the sink in the ledger; unset, the query's id, which is stored in the checkpoint.
        mode: how rows are applied: ``jdbc.Append``, ``jdbc.Upsert``, ``jdbc.Changes``; unset, they are appended.
        create_table: whether to create a missing table from the DataFrame's schema.
        columns: mapping of the query's columns to those of the table.
        dead_letters: table for rows that cannot be stored; unset, such a row fails its epoch.
        user: database user.
        password: password of the user; secret. The driver reads a ``Secret.file`` for every connection.
        connection: driver, connection properties, number of connections and lock timeout.
        ledger: exceptions to the ledger's checks, for one start.
        transport: how rows get from the tasks to the database.
        retry: retry policy for transient database errors.
        options: options by the names that the jar gives them, such as ``{"batchSize": 500}``.

    Returns:
        The started query; None for a batch, which has been written.

    Raises:
        OptionError: an option is missing, invalid, or not allowed for a batch.
        TableError: the table does not fit the DataFrame.
        DatabaseError: the database cannot be reached.
        SinkError: the ledger refuses the query. ``epochal.errors`` lists all errors.
    """
    stream = Stream(checkpoint, trigger, output_mode, query_name)
    return start(df, JDBC, JDBC.given(locals()), options, stream)


@JDBC.helper
def jdbc_options(
    url: str,
    *,
    table: str,
    sink_id: str | None = None,
    mode: AnyMode | None = None,
    create_table: bool | None = None,
    columns: Columns | None = None,
    dead_letters: DeadLetters | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    connection: Connection | None = None,
    ledger: Ledger | None = None,
    transport: Transport | None = None,
    retry: Retry | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> dict[str, str]:
    """The options that ``epochal.write.jdbc`` sets, with the same checks.

    >>> dp.create_sink(  # doctest: +SKIP
    ...     "comments", "epochal-jdbc", epochal.write.jdbc_options("jdbc:sqlite:comments.db", table="comments")
    ... )

    The arguments are those of ``epochal.write.jdbc``. Spark logs the options of a pipeline's sink: pass the password as
    ``Secret.env`` or ``Secret.file``, which the driver reads.

    Returns:
        Options of the format ``epochal-jdbc``; secrets are masked when printed.

    Raises:
        OptionError: an argument has the wrong type, or two arguments set the same option.
    """
    return JDBC.options(JDBC.given(locals()), options)


@overload
def rest(
    df: DataFrame,
    url: str,
    *,
    checkpoint: Location,
    trigger: Trigger | None = None,
    output_mode: OutputMode = "append",
    query_name: str | None = None,
    sink_id: str | None = None,
    method: Method | None = None,
    mode: _rows.AnyMode | None = None,
    body: _rows.Body | None = None,
    batch: _rows.Batch | None = None,
    key_columns: Sequence[str] | None = None,
    idempotency_header: str | None = None,
    results: _rows.Results | None = None,
    dead_letters: _rows.DeadLetters | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    http: Http | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> StreamingQuery: ...
@overload
def rest(
    df: DataFrame,
    url: str,
    *,
    checkpoint: None = None,
    sink_id: str | None = None,
    method: Method | None = None,
    mode: _rows.AnyMode | None = None,
    body: _rows.Body | None = None,
    batch: _rows.Batch | None = None,
    key_columns: Sequence[str] | None = None,
    idempotency_header: str | None = None,
    results: _rows.Results | None = None,
    dead_letters: _rows.DeadLetters | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    http: Http | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> None: ...
@REST_SINK.helper
def rest(
    df: DataFrame,
    url: str,
    *,
    checkpoint: Location | None = None,
    trigger: Trigger | None = None,
    output_mode: OutputMode = "append",
    query_name: str | None = None,
    sink_id: str | None = None,
    method: Method | None = None,
    mode: _rows.AnyMode | None = None,
    body: _rows.Body | None = None,
    batch: _rows.Batch | None = None,
    key_columns: Sequence[str] | None = None,
    idempotency_header: str | None = None,
    results: _rows.Results | None = None,
    dead_letters: _rows.DeadLetters | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    http: Http | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> StreamingQuery | None:
    """Sends the rows of a DataFrame to an API: at least once, and exactly once if the API honours idempotency keys.

    >>> query = epochal.write.rest(  # doctest: +SKIP
    ...     orders,
    ...     "https://api.example.com/orders",
    ...     key_columns=["id"],
    ...     batch=rest.Batch(rows=100),
    ...     auth=rest.Bearer(Secret.env("TOKEN")),
    ...     checkpoint="/data/checkpoints/orders",
    ... )

    Args:
        df: a streaming DataFrame, which requires ``checkpoint``, or a batch, which takes none of the arguments of a
            stream.
        url: address of the requests. ``{name}`` stands for a column's value, percent-encoded (only with one row per
            request).
        checkpoint: directory of the query's state; keep it across restarts.
        trigger: ``"availableNow"`` sends the available rows, in batches, and ends; ``"5 seconds"`` or a ``timedelta``
            is the time from the start of one micro-batch to the next; unset, as fast as possible.
        output_mode: ``"update"`` sends the rows that have changed, ``"complete"`` all rows.
        query_name: name of the query in Spark's UI and in ``spark.streams``.
        sink_id: name of the sink in idempotency keys; unset, the query's id, which is stored in the checkpoint.
        method: HTTP method; unset, ``"POST"``, or ``"PUT"`` with ``upsert_status``.
        mode: what rows do: ``rest.Append``, or ``rest.Changes`` for a change feed; unset, all rows are sent alike.
        body: format of the request body; unset, a row as a JSON object, or with ``batch`` its rows as an array.
        batch: how many rows a request has; unset, one.
        key_columns: columns that identify a row; unset, idempotency keys derive from the row's position in its epoch.
        idempotency_header: header with the idempotency key, or ``"none"``.
        results: where a response reports the result of each row; unset, its status applies to all rows.
        dead_letters: directory for rows that the server rejects; unset, such a row fails its epoch.
        auth: the credentials of requests: ``rest.Bearer``, ``rest.Basic``, ``rest.OAuth2``, ``rest.ApiKey``,
            ``rest.Signer``; a list to combine a key or a signer with another one.
        headers: request headers; secret.
        params: query parameters of every request; secret.
        http: timeouts, retries, TLS, proxy and rate limits of requests.
        options: options by the names that the jar gives them, such as ``{"batchSize": 500}``.

    Returns:
        The started query; None for a batch, which has been sent.

    Raises:
        OptionError: an option is missing, invalid, or not allowed for a batch.
        HttpError: the API cannot be reached, or responds with an error.
        RowError: a row cannot be sent, or the API rejects it. ``epochal.errors`` lists all errors.
    """
    return start(
        df, REST_SINK, REST_SINK.given(locals()), options, Stream(checkpoint, trigger, output_mode, query_name)
    )


@REST_SINK.helper
def rest_options(
    url: str,
    *,
    sink_id: str | None = None,
    method: Method | None = None,
    mode: _rows.AnyMode | None = None,
    body: _rows.Body | None = None,
    batch: _rows.Batch | None = None,
    key_columns: Sequence[str] | None = None,
    idempotency_header: str | None = None,
    results: _rows.Results | None = None,
    dead_letters: _rows.DeadLetters | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    http: Http | None = None,
    options: Mapping[str, OptionValue] | None = None,
) -> dict[str, str]:
    """The options that ``epochal.write.rest`` sets, with the same checks.

    The arguments are those of ``epochal.write.rest``.

    Returns:
        Options of the format ``epochal-rest``; secrets are masked when printed.

    Raises:
        OptionError: an argument has the wrong type, or two arguments set the same option.
    """
    return REST_SINK.options(REST_SINK.given(locals()), options)
