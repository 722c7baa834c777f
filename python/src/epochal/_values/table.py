"""Settings of tables: values of ``epochal.jdbc``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from typing import Literal

from epochal._options import Duration, Location, Size
from epochal._values.kind import BOUND, ON_LEDGER_EMPTY, ON_NEW_QUERY, PAIRS, TABLE, whole
from epochal._values.value import Value, of, option

KeyComparison = Literal["exact", "database"]
NulCharacter = Literal["error", "strip", "replace"]
OnEpochMismatch = Literal["fail", "keep"]
TransportKind = Literal["auto", "inline", "staged", "prepared"]


class Append(Value, mode="append"):
    """Appends rows. This is the default."""

    table_column: str | None = option("tableColumn")


class Upsert(Value, mode="upsert"):
    """Rows replace the rows with the same key."""

    key_columns: Sequence[str] = field(metadata=of("keyColumns"))
    order_column: str | None = option("orderColumn")
    update_columns: Sequence[str] | None = option("updateColumns")
    key_comparison: KeyComparison | None = option("keyComparison")


class Changes(Value, mode="changes"):
    """Rows replace or delete the rows with the same key, so that the table is a replica, or several are.

    >>> Changes(table_column="_table")
    jdbc.Changes(table_column='_table')
    """

    key_columns: Sequence[str] | None = option("keyColumns")
    order_column: str | None = option("orderColumn")
    update_columns: Sequence[str] | None = option("updateColumns")
    key_comparison: KeyComparison | None = option("keyComparison")
    op_column: str | None = option("opColumn")
    table_column: str | None = option("tableColumn")
    history_table: str | None = option("historyTable", TABLE)


class Columns(Value):
    """Mapping of the query's columns to those of the table."""

    map: Mapping[str, str] | None = option("columnMap", PAIRS)
    add: bool | None = option("addColumns")
    alter: bool | None = option("alterColumns")
    nul_character: NulCharacter | None = option("nulCharacter")


class DeadLetters(Value):
    """Stores rows that the table rejects in another table instead of failing the epoch."""

    table: str = field(metadata=of("deadLetterTable", TABLE))
    max_rows: int | None = option("maxBadRows", whole(0))


class Connection(Value):
    """Connection settings besides URL and login.

    >>> Connection(properties={"sslmode": "verify-full"}, max_connections=4)
    jdbc.Connection(properties={'sslmode': '***'}, max_connections=4)

    Args:
        properties: Properties for the driver, for example ``{"sslmode": "verify-full"}``. Secret.
    """

    driver: str | None = option("driver")
    properties: Mapping[str, str] | None = option("connection", own_doc=True)
    max_connections: int | None = option("maxConnections", whole(2))
    lock_timeout: Duration | None = option("lockTimeout")


class Ledger(Value):
    """Exceptions to the ledger's checks. An error names the argument to set, for one start."""

    on_new_query: str | None = option("onNewQuery", ON_NEW_QUERY)
    on_empty: str | None = option("onLedgerEmpty", ON_LEDGER_EMPTY)
    on_epoch_mismatch: OnEpochMismatch | None = option("onEpochMismatch")
    trusted_owners: Sequence[str] | None = option("trustedOwners")


class Transport(Value):
    """How rows get from the tasks to the database."""

    kind: TransportKind | None = option("transport")
    inline_max_bytes: Size | None = option("inlineMaxBytes")
    spill_directory: Location | None = option("spillDirectory")
    batch_size: int | None = option("batchSize")
    flush_interval: Duration | None = option("flushInterval")
    flush_rows: int | None = option("flushRows")


class Partitions(Value):
    """Parallel read of a table, for ``epochal.read.jdbc``: each task reads a range of a column's values.

    Args:
        column: A column of numbers, dates or timestamps, best with an index.
        lower: Start of the first range. It only divides the rows: smaller values are read too.
        upper: End of the last range. It only divides the rows: larger values are read too.
        count: Number of ranges, and of parallel connections.
    """

    column: str = field(metadata=of("partitionColumn"))
    lower: int | date | datetime | str = field(metadata=of("lowerBound", BOUND))
    upper: int | date | datetime | str = field(metadata=of("upperBound", BOUND))
    count: int = field(metadata=of("numPartitions"))


#: Values of ``mode`` of ``epochal.write.jdbc``.
AnyMode = Upsert | Changes | Append
