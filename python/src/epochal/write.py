"""Sinks: plain ``DataStreamWriter`` and ``DataFrameWriter`` calls with typed arguments.

All arguments except the DataFrame and ``url`` are keyword-only. ``None`` means "not set": the jar's default applies.
With a ``checkpoint`` the DataFrame is a stream, and the call returns the started query; without one it is a batch.

``jdbc_options`` and ``rest_options`` return the options that ``jdbc`` and ``rest`` set, for a query that is started in
another way: by a pipeline's sink or by your own writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from epochal._declarations import JDBC, REST_SINK, Form
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
    from typing_extensions import Unpack

Method = Literal["POST", "PUT", "PATCH"]

__all__ = ["jdbc", "jdbc_options", "rest", "rest_options"]
__dir__ = __all__.copy


class _Jdbc(TypedDict, total=False):
    sink_id: str | None
    mode: AnyMode | None
    create_table: bool | None
    columns: Columns | None
    dead_letters: DeadLetters | None
    user: str | None
    password: Secret | str | None
    connection: Connection | None
    ledger: Ledger | None
    transport: Transport | None
    retry: Retry | None
    options: Mapping[str, OptionValue] | None


class _Rest(TypedDict, total=False):
    sink_id: str | None
    method: Method | None
    mode: _rows.AnyMode | None
    body: _rows.Body | None
    batch: _rows.Batch | None
    key_columns: Sequence[str] | None
    idempotency_header: str | None
    results: _rows.Results | None
    dead_letters: _rows.DeadLetters | None
    auth: AnyAuth | Sequence[AnyAuth] | None
    headers: Mapping[str, str] | None
    params: Mapping[str, str] | None
    http: Http | None
    options: Mapping[str, OptionValue] | None


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
    **more: Unpack[_Jdbc],
) -> StreamingQuery: ...
@overload
def jdbc(df: DataFrame, url: str, *, table: str, checkpoint: None = None, **more: Unpack[_Jdbc]) -> None: ...
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
        checkpoint: directory of the query's state. Exactly-once requires the same directory after a restart.
        trigger: ``"availableNow"`` writes the available rows, in batches, and ends; ``"5 seconds"`` or a ``timedelta``
            is the time from the start of one micro-batch to the next; unset, as fast as possible.
            ``"continuous 1 second"`` and ``"realTime 5 minutes"`` (Spark 4.1 and newer; the same as ``"realTime"``)
            run Spark's other modes, where an epoch takes that long. A real-time query gets the settings that Spark
            requires: output mode ``"update"``, synchronous progress, and no check of Spark's list of allowed sinks.
        output_mode: ``"update"`` upserts by the keys of ``mode``; ``"complete"`` replaces all rows in every epoch.
        mode: how rows are applied: ``jdbc.Append``, ``jdbc.Upsert``, ``jdbc.Changes``; unset, they are appended.
        password: password of the user; secret. The driver reads a ``Secret.file`` for every connection.

    Returns:
        The started query; None for a batch, which has been written.

    Raises:
        OptionError: an option is missing, invalid, or not allowed for a batch.
        TableError: the table does not fit the DataFrame.
        DatabaseError: the database cannot be reached.
        SinkError: the ledger refuses the query. ``epochal.errors`` lists all errors.
    """
    stream = Stream(checkpoint, trigger, output_mode, query_name)
    return start(df, JDBC, JDBC.select(locals()), options, stream)


@JDBC.helper
def jdbc_options(url: str, *, table: str, **more: Unpack[_Jdbc]) -> dict[str, str]:
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
    return _options(JDBC, {"url": url, "table": table, **more})


@overload
def rest(
    df: DataFrame,
    url: str,
    *,
    checkpoint: Location,
    trigger: Trigger | None = None,
    output_mode: OutputMode = "append",
    query_name: str | None = None,
    **more: Unpack[_Rest],
) -> StreamingQuery: ...
@overload
def rest(df: DataFrame, url: str, *, checkpoint: None = None, **more: Unpack[_Rest]) -> None: ...
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
        checkpoint: directory of the query's state; keep it across restarts.
        trigger: as in ``epochal.write.jdbc``, but no continuous or real-time one.
        output_mode: ``"update"`` sends the rows that have changed, ``"complete"`` all rows.
        method: HTTP method; unset, ``"POST"``, or ``"PUT"`` with ``upsert_status``.
        mode: what rows do: ``rest.Append``, or ``rest.Changes`` for a change feed; unset, all rows are sent alike.
        body: format of the request body; unset, a row as a JSON object, or with ``batch`` its rows as an array.
        auth: the credentials of requests: ``rest.Bearer``, ``rest.Basic``, ``rest.OAuth2``, ``rest.ApiKey``,
            ``rest.Signer``; a list to combine a key or a signer with another one.

    Returns:
        The started query; None for a batch, which has been sent.

    Raises:
        OptionError: an option is missing, invalid, or not allowed for a batch.
        HttpError: the API cannot be reached, or responds with an error.
        RowError: a row cannot be sent, or the API rejects it. ``epochal.errors`` lists all errors.
    """
    return start(
        df, REST_SINK, REST_SINK.select(locals()), options, Stream(checkpoint, trigger, output_mode, query_name)
    )


@REST_SINK.helper
def rest_options(url: str, **more: Unpack[_Rest]) -> dict[str, str]:
    """The options that ``epochal.write.rest`` sets, with the same checks.

    The arguments are those of ``epochal.write.rest``.

    Returns:
        Options of the format ``epochal-rest``; secrets are masked when printed.

    Raises:
        OptionError: an argument has the wrong type, or two arguments set the same option.
    """
    return _options(REST_SINK, {"url": url, **more})


def _options(form: Form, arguments: dict[str, Any]) -> dict[str, str]:
    more = arguments.pop("options", None)
    return form.options(arguments, more)
