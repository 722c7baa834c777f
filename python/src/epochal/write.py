"""Sinks: plain ``DataStreamWriter`` and ``DataFrameWriter`` calls with typed arguments.

Every argument but the DataFrame and ``url`` is keyword-only and named like the jar's option, in snake case (``table``
is ``dbtable``, ``checkpoint`` is ``checkpointLocation``). ``None`` means "not set": the default of the jar holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, overload

from epochal._options import Duration, Location, Size, given
from epochal._rest_sink import rest
from epochal._start import OutputMode, Stream, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["jdbc", "rest"]

_Mode = Literal["append", "upsert", "changes"]
_Transport = Literal["auto", "inline", "staged", "prepared"]


@overload
def jdbc(
    df: DataFrame,
    url: str,
    *,
    table: str,
    checkpoint: Location,
    output_mode: OutputMode = "append",
    available_now: bool = False,
    processing_time: Duration | None = None,
    query_name: str | None = None,
    sink_id: str | None = None,
    mode: _Mode | None = None,
    key_columns: Sequence[str] | None = None,
    order_column: str | None = None,
    key_comparison: Literal["exact", "database"] | None = None,
    update_columns: Sequence[str] | None = None,
    op_column: str | None = None,
    column_map: Mapping[str, str] | None = None,
    add_columns: bool | None = None,
    dead_letter_table: str | None = None,
    max_bad_rows: int | None = None,
    create_table: bool | None = None,
    nul_character: Literal["error", "strip", "replace"] | None = None,
    user: str | None = None,
    password: str | None = None,
    password_file: Location | None = None,
    password_env: str | None = None,
    driver: str | None = None,
    connection: Mapping[str, str] | None = None,
    max_connections: int | None = None,
    on_new_query: str | None = None,
    on_ledger_empty: str | None = None,
    on_epoch_mismatch: Literal["fail", "keep"] | None = None,
    trusted_owners: Sequence[str] | None = None,
    transport: _Transport | None = None,
    inline_max_bytes: Size | None = None,
    spill_directory: Location | None = None,
    batch_size: int | None = None,
    lock_timeout: Duration | None = None,
    retry_max_attempts: int | None = None,
    retry_initial_delay: Duration | None = None,
    retry_max_delay: Duration | None = None,
    retry_deadline: Duration | None = None,
) -> StreamingQuery: ...
@overload
def jdbc(
    df: DataFrame,
    url: str,
    *,
    table: str,
    checkpoint: None = None,
    mode: _Mode | None = None,
    key_columns: Sequence[str] | None = None,
    order_column: str | None = None,
    key_comparison: Literal["exact", "database"] | None = None,
    update_columns: Sequence[str] | None = None,
    op_column: str | None = None,
    column_map: Mapping[str, str] | None = None,
    add_columns: bool | None = None,
    dead_letter_table: str | None = None,
    max_bad_rows: int | None = None,
    create_table: bool | None = None,
    nul_character: Literal["error", "strip", "replace"] | None = None,
    user: str | None = None,
    password: str | None = None,
    password_file: Location | None = None,
    password_env: str | None = None,
    driver: str | None = None,
    connection: Mapping[str, str] | None = None,
    max_connections: int | None = None,
    trusted_owners: Sequence[str] | None = None,
    transport: _Transport | None = None,
    inline_max_bytes: Size | None = None,
    spill_directory: Location | None = None,
    batch_size: int | None = None,
    lock_timeout: Duration | None = None,
    retry_max_attempts: int | None = None,
    retry_initial_delay: Duration | None = None,
    retry_max_delay: Duration | None = None,
    retry_deadline: Duration | None = None,
) -> None: ...
def jdbc(
    df: DataFrame,
    url: str,
    *,
    table: str,
    checkpoint: Location | None = None,
    output_mode: OutputMode = "append",
    available_now: bool = False,
    processing_time: Duration | None = None,
    query_name: str | None = None,
    sink_id: str | None = None,
    mode: _Mode | None = None,
    key_columns: Sequence[str] | None = None,
    order_column: str | None = None,
    key_comparison: Literal["exact", "database"] | None = None,
    update_columns: Sequence[str] | None = None,
    op_column: str | None = None,
    column_map: Mapping[str, str] | None = None,
    add_columns: bool | None = None,
    dead_letter_table: str | None = None,
    max_bad_rows: int | None = None,
    create_table: bool | None = None,
    nul_character: Literal["error", "strip", "replace"] | None = None,
    user: str | None = None,
    password: str | None = None,
    password_file: Location | None = None,
    password_env: str | None = None,
    driver: str | None = None,
    connection: Mapping[str, str] | None = None,
    max_connections: int | None = None,
    on_new_query: str | None = None,
    on_ledger_empty: str | None = None,
    on_epoch_mismatch: Literal["fail", "keep"] | None = None,
    trusted_owners: Sequence[str] | None = None,
    transport: _Transport | None = None,
    inline_max_bytes: Size | None = None,
    spill_directory: Location | None = None,
    batch_size: int | None = None,
    lock_timeout: Duration | None = None,
    retry_max_attempts: int | None = None,
    retry_initial_delay: Duration | None = None,
    retry_max_delay: Duration | None = None,
    retry_deadline: Duration | None = None,
) -> StreamingQuery | None:
    """Writes a DataFrame into a database table: a streaming one exactly once, a batch in one transaction.

    Args:
        df: a streaming DataFrame (``checkpoint`` is needed), or a batch (``checkpoint`` and what belongs to a stream
            stay unset).
        url: JDBC URL. PostgreSQL and SQLite have their drivers in the jar; for others put the driver's jar on Spark's
            class path.
        table: the table, with its schema where it needs one.
        checkpoint: directory of the query's state. Exactly-once needs the same one after a restart.
        output_mode: ``"update"`` upserts by ``key_columns``; ``"complete"`` replaces the table's rows every time.
        available_now: whether to write what there is now, in batches, and end.
        processing_time: time from the start of one micro-batch to the next; unset, as fast as possible.
        query_name: the query's name in Spark's UI and in ``spark.streams``.
        sink_id: the sink's name in the ledger; unset, the query's id, which lives in the checkpoint.
        mode: ``"upsert"`` replaces rows of equal ``key_columns`` in an append query; ``"changes"`` also deletes them.
        key_columns: names of the columns that identify a row.
        order_column: of rows with equal keys in one epoch, the one greatest in this column wins.
        key_comparison: ``"database"`` accepts keys that the database takes for equal though they differ in Spark.
        update_columns: names of the only columns that are replaced where the key is there already; unset, all others.
        op_column: the column that says what a row does: insert (i, c, r), update (u) or delete (d); not stored itself.
        column_map: the DataFrame's columns whose names differ from the table's, and those names.
        add_columns: whether the table gets the DataFrame's columns that it lacks, nullable.
        dead_letter_table: the table for rows that cannot be stored; unset, such a row fails its epoch.
        max_bad_rows: rows of one epoch that it takes at the most.
        create_table: whether to make a missing table from the DataFrame's schema.
        nul_character: what becomes of U+0000 in texts: ``"error"`` makes the row a bad row.
        user: database user.
        password: its password; secret.
        password_file: a file with it that the driver reads for every connection, instead of ``password``.
        password_env: the driver's environment variable that holds it, instead of ``password``.
        driver: class of the JDBC driver, where the URL does not imply it.
        connection: properties for the driver; secret.
        max_connections: connections that the driver, and each executor, may hold; tasks wait for a free one.
        on_new_query: ``"append:<id>"`` accepts the one other query, sink or table that an error named by this id.
        on_ledger_empty: ``"write:<epoch>"`` or ``"skip:<epoch>"`` says of the epoch that an error named whether it
            is to be written, or is in the table already.
        on_epoch_mismatch: what to do when an epoch is replayed with other rows and its offsets cannot be read.
        trusted_owners: PostgreSQL: further roles that may own the sink's ledger, staging and table of bad rows.
        transport: how rows come from the tasks to the database: in commit messages (``"inline"``), by staging tables
            (``"staged"``), by prepared transactions (``"prepared"``); unset, by what an epoch's size asks for.
        inline_max_bytes: bytes of one epoch that may travel in Spark's commit messages.
        spill_directory: a directory that the driver and all executors reach, for files of rows that are too many for
            commit messages, where the database has no staging; unset, the checkpoint.
        batch_size: rows of one INSERT batch.
        lock_timeout: how long to wait for the ledger's lock.
        retry_max_attempts: tries in all, the first one included.
        retry_initial_delay: upper bound of the first delay; it doubles with every try.
        retry_max_delay: upper bound of any delay.
        retry_deadline: time for all tries together.

    Returns:
        The started query; None for a batch, which is then written.

    Raises:
        OptionError: an option is missing, wrong, or does not go with a batch.
        TableError: the table does not fit the DataFrame.
        DatabaseError: the database cannot be reached.
        SinkError: the ledger refuses the query. See ``epochal.errors`` for all of them.
    """
    options = given(
        {
            "url": url,
            "dbtable": table,
            "sinkId": sink_id,
            "mode": mode,
            "keyColumns": key_columns,
            "orderColumn": order_column,
            "keyComparison": key_comparison,
            "updateColumns": update_columns,
            "opColumn": op_column,
            "columnMap": column_map,
            "addColumns": add_columns,
            "deadLetterTable": dead_letter_table,
            "maxBadRows": max_bad_rows,
            "createTable": create_table,
            "nulCharacter": nul_character,
            "user": user,
            "password": password,
            "passwordFile": password_file,
            "passwordEnv": password_env,
            "driver": driver,
            "maxConnections": max_connections,
            "onNewQuery": on_new_query,
            "onLedgerEmpty": on_ledger_empty,
            "onEpochMismatch": on_epoch_mismatch,
            "trustedOwners": trusted_owners,
            "transport": transport,
            "inlineMaxBytes": inline_max_bytes,
            "spillDirectory": spill_directory,
            "batchSize": batch_size,
            "lockTimeout": lock_timeout,
            "retry.maxAttempts": retry_max_attempts,
            "retry.initialDelay": retry_initial_delay,
            "retry.maxDelay": retry_max_delay,
            "retry.deadline": retry_deadline,
        },
        connection=connection,
    )
    return start(
        df,
        "epochal-jdbc",
        "epochal.write.jdbc",
        options,
        Stream(checkpoint, output_mode, available_now, processing_time, query_name),
    )
