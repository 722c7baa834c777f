"""``epochal.replicate``: replicas of the tables of a PostgreSQL database, by one slot and one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from epochal import read, write
from epochal._options import Location, OptionValue
from epochal._replication import Replication
from epochal._trigger import Trigger
from epochal._values.cdc import AnyVerify, OnSchemaChange, OnTruncate, Slot, Verify
from epochal._values.http import Limits
from epochal._values.secret import Secret
from epochal._values.table import Changes, Columns, Connection, Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def replicate(
    spark: SparkSession,
    source: str,
    target: str,
    *,
    tables: str | Sequence[str],
    checkpoint: Location,
    user: str | None = None,
    password: Secret | str | None = None,
    target_user: str | None = None,
    target_password: Secret | str | None = None,
    slot: Slot | None = None,
    into: str = "{table}",
    history: str | None = None,
    create_tables: bool = True,
    on_truncate: OnTruncate = "emit",
    on_schema_change: OnSchemaChange = "follow",
    verify: AnyVerify | None = None,
    trigger: Trigger | None = None,
    query_name: str | None = None,
    sink_id: str | None = None,
    columns: Columns | None = None,
    connection: Connection | None = None,
    target_connection: Connection | None = None,
    ledger: Ledger | None = None,
    limits: Limits | None = None,
    options: Mapping[str, OptionValue] | None = None,
    target_options: Mapping[str, OptionValue] | None = None,
) -> Replication:
    """Keeps replicas of tables of a PostgreSQL database in another database, by one slot and one query.

    An epoch commits the changes of all tables in one transaction, and ends with a whole transaction of the source,
    unless a limit cuts it: once the first rows are copied, the replicas together show a state that the source had. The
    same as ``epochal.read.cdc`` with ``rows="typed"`` and ``epochal.write.jdbc`` with
    ``jdbc.Changes(table_column="_table")``, and starts again by itself when columns or tables have changed.

    >>> from epochal import Secret, cdc
    >>> query = epochal.replicate(  # doctest: +SKIP
    ...     spark, "jdbc:postgresql://db/shop", "jdbc:postgresql://warehouse/warehouse", tables="public.*",
    ...     slot=cdc.Slot("shop"), checkpoint="/data/checkpoints/shop", user="capture",
    ...     password=Secret.env("DB_PASSWORD"), target_user="loader", target_password=Secret.env("WAREHOUSE_PASSWORD"),
    ... )

    Args:
        source: JDBC URL of the PostgreSQL server.
        target: JDBC URL of the database with the replicas: PostgreSQL, MySQL, MariaDB or SQLite.
        tables: as ``table`` of ``epochal.read.cdc``: ``"public.*"``, or a list of names. Each needs a primary key, or a
            replica identity by an index.
        into: the replicas' names: ``{table}`` and ``{schema}`` stand for the parts of a table's name, as in
            ``"replica.{schema}_{table}"``.
        history: further tables that get every change as a row, with ``_change_type``, ``_commit_version``,
            ``_commit_timestamp`` and ``_unchanged_columns``, such as ``"{table}_history"``.
        create_tables: whether missing replicas and histories are created, with the types and NOT NULL of the source.
        on_truncate: TRUNCATE empties the replica (``"emit"``), ends the query (``"fail"``), or is ignored
            (``"ignore"``).
        on_schema_change: with ``"follow"``, replicas get the new columns and types of their tables: the query ends, and
            starts again by itself. This needs a primary with PostgreSQL 14 or newer. ``"adopt"`` and ``"fail"`` are as
            in ``epochal.read.cdc``.
        verify: compares the tables with their replicas, at intervals (``cdc.Verify(every="1 day")``) and when
            ``cdc.verify`` requests it; unset, on request only. ``cdc.Repair`` corrects them.
        options: further options of ``epochal-cdc``; ``target_options`` are those of ``epochal-jdbc``.
        sink_id: the name under which the target's ledger knows the query; unset, the id in its checkpoint. Set one, so
            that a new checkpoint can load the tables again (``ledger=jdbc.Ledger(on_new_query="replace")``).
        columns: ``alter`` is True by default if changes are followed.

    Returns:
        The running query, with the members of Spark's ``StreamingQuery``.

    Raises:
        OptionError: a value is rejected.
        DatabaseError: a database cannot be reached, or the source does not allow the capture.
        TableError: a table cannot be captured, or its replica does not fit it.
        SinkError: the ledger refuses the query.
    """
    if on_schema_change == "follow" and (columns is None or columns.alter is None):
        columns = replace(columns or Columns(), alter=True)

    def start() -> StreamingQuery:
        rows = read.cdc(
            spark,
            source,
            table=tables,
            rows="typed",
            user=user,
            password=password,
            slot=slot,
            on_truncate=on_truncate,
            on_schema_change=on_schema_change,
            verify=verify or Verify(),
            connection=connection,
            limits=limits,
            options=options,
        )
        return write.jdbc(
            rows,
            target,
            table=into,
            mode=Changes(table_column="_table", history_table=history),
            create_table=create_tables,
            columns=columns,
            user=target_user,
            password=target_password,
            connection=target_connection,
            ledger=ledger,
            checkpoint=checkpoint,
            trigger=trigger,
            query_name=query_name,
            sink_id=sink_id,
            options=target_options,
        )

    return Replication(start)
