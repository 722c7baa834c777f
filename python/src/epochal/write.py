"""Sinks: plain ``DataStreamWriter`` and ``DataFrameWriter`` calls with typed arguments.

Every argument but the DataFrame and ``url`` is keyword-only. ``None`` means "not set": the default of the jar holds.
With a ``checkpoint`` the DataFrame is a stream, and the started query is returned; without one it is a batch.

``jdbc_options`` and ``rest_options`` give the options that ``jdbc`` and ``rest`` would set, where something else of
Spark's starts the query: a pipeline's sink, or a writer of your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

from epochal._forms import JDBC, REST_SINK, Method
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

__all__ = ["jdbc", "jdbc_options", "rest", "rest_options"]


def __dir__() -> list[str]:
    return __all__


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
    """Writes a DataFrame into a database table: a streaming one exactly once, a batch in one transaction.

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
        df: a streaming DataFrame (``checkpoint`` is needed), or a batch (``checkpoint`` and what belongs to a stream
            stay unset).
        url: JDBC URL. PostgreSQL and SQLite have their drivers in the jar; for others put the driver's jar on Spark's
            class path.
        table: the table, with its schema where it needs one.
        checkpoint: directory of the query's state. Exactly-once needs the same one after a restart.
        trigger: ``"availableNow"`` writes what there is now, in batches, and ends; ``"5 seconds"`` or a ``timedelta``
            is the time from the start of one micro-batch to the next; unset, as fast as possible.
            ``"continuous 1 second"`` and ``"realTime 5 minutes"`` (Spark 4.1 and newer; ``"realTime"`` alone is that,
            too) run Spark's other modes, where an epoch takes that long. For a real-time query what Spark asks for is
            set: output mode ``"update"``, synchronous progress, and no check of its list of sinks.
        output_mode: ``"update"`` upserts by the keys of ``mode``; ``"complete"`` replaces the table's rows every time.
        query_name: the query's name in Spark's UI and in ``spark.streams``.
        sink_id: the sink's name in the ledger; unset, the query's id, which lives in the checkpoint.
        mode: what rows do: ``jdbc.Append``, ``jdbc.Upsert``, ``jdbc.Changes``; unset, they are added.
        create_table: whether to make a missing table from the DataFrame's schema.
        columns: how the query's columns become the table's.
        dead_letters: where rows go that cannot be stored; unset, such a row fails its epoch.
        user: name to log in with.
        password: its password; secret. The driver reads a ``Secret.file`` for every connection.
        connection: how the database is connected to.
        ledger: what is accepted that the ledger refuses.
        transport: how rows travel from the tasks to the database.
        retry: how often what failed for a while is tried again.
        options: options by the jar's own names, such as ``{"batchSize": 500}``.

    Returns:
        The started query; None for a batch, which is then written.

    Raises:
        OptionError: an option is missing, wrong, or does not go with a batch.
        TableError: the table does not fit the DataFrame.
        DatabaseError: the database cannot be reached.
        SinkError: the ledger refuses the query. See ``epochal.errors`` for all of them.
    """
    password = Secret(password) if isinstance(password, str) else password
    stream = Stream(checkpoint, trigger, output_mode, query_name)
    return start(df, JDBC, JDBC.given(locals()), options, stream)


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
    """The options that ``epochal.write.jdbc`` would set, with the same checks.

    >>> dp.create_sink(  # doctest: +SKIP
    ...     "comments", "epochal-jdbc", epochal.write.jdbc_options("jdbc:sqlite:comments.db", table="comments")
    ... )

    Args:
        url, table, sink_id, mode, create_table, columns, dead_letters, user, password, connection, ledger, transport,
            retry, options: as of ``epochal.write.jdbc``. Spark logs the options of a pipeline's sink: give the password
            by ``Secret.env`` or ``Secret.file``, which the driver reads.

    Returns:
        Options of the format ``epochal-jdbc``; printed without secrets.

    Raises:
        OptionError: an argument is no value of the right kind, or two of them set the same option.
    """
    password = Secret(password) if isinstance(password, str) else password
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
    """Sends the rows of a DataFrame to an API, at least once: once, where it honours idempotency keys.

    >>> query = epochal.write.rest(  # doctest: +SKIP
    ...     orders,
    ...     "https://api.example.com/orders",
    ...     key_columns=["id"],
    ...     batch=rest.Batch(rows=100),
    ...     auth=rest.Bearer(Secret.env("TOKEN")),
    ...     checkpoint="/data/checkpoints/orders",
    ... )

    Args:
        df: a streaming DataFrame (``checkpoint`` is needed), or a batch (``checkpoint`` and what belongs to a stream
            stay unset).
        url: where rows are sent. ``{name}`` stands for a column's value, encoded (one row a request).
        checkpoint: directory of the query's state; keep it over restarts.
        trigger: ``"availableNow"`` sends what there is now, in batches, and ends; ``"5 seconds"`` or a ``timedelta``
            is the time from the start of one micro-batch to the next; unset, as fast as possible.
        output_mode: ``"update"`` sends the rows that have changed, ``"complete"`` all of them.
        query_name: the query's name in Spark's UI and in ``spark.streams``.
        sink_id: the sink's name in its keys; unset, the query's id, which lives in the checkpoint.
        method: ``"POST"`` unless given.
        body: what a request holds; unset, a row as a JSON object, or with ``batch`` its rows as an array.
        batch: requests of several rows; unset, a request has one.
        key_columns: columns that identify a row: idempotency keys are made of their values, and not of its place.
        idempotency_header: the header that carries the key, or ``"none"``.
        results: where a response says of each row whether it was accepted; unset, its status counts for all.
        dead_letters: where rows go that the server refuses; unset, such a row fails its epoch.
        auth: who asks: ``rest.Bearer``, ``rest.Basic``, ``rest.OAuth2``, ``rest.ApiKey``, ``rest.Signer``; a list
            where a key or a signer goes with another one.
        headers: request headers; secret.
        params: query parameters that stay the same; secret.
        http: time limits, retries, TLS, proxy and budget of requests.
        options: options by the jar's own names, such as ``{"batchSize": 500}``.

    Returns:
        The started query; None for a batch, which is then sent.

    Raises:
        OptionError: an option is missing, wrong, or does not go with a batch.
        HttpError: the API cannot be reached, or says no.
        RowError: a row cannot be sent, or the API refuses it. See ``epochal.errors`` for all of them.
    """
    return start(
        df, REST_SINK, REST_SINK.given(locals()), options, Stream(checkpoint, trigger, output_mode, query_name)
    )


def rest_options(
    url: str,
    *,
    sink_id: str | None = None,
    method: Method | None = None,
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
    """The options that ``epochal.write.rest`` would set, with the same checks.

    Args:
        url, sink_id, method, body, batch, key_columns, idempotency_header, results, dead_letters, auth, headers,
            params, http, options: as of ``epochal.write.rest``.

    Returns:
        Options of the format ``epochal-rest``; printed without secrets.

    Raises:
        OptionError: an argument is no value of the right kind, or two of them set the same option.
    """
    return REST_SINK.options(REST_SINK.given(locals()), options)
