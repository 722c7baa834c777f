"""Settings of tables: values of ``epochal.jdbc``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date, datetime
from typing import Literal

from epochal._options import Duration, Location, Size
from epochal._values.kind import (
    BOOLEAN,
    BOUND,
    DURATION,
    FAMILY,
    NAMES,
    ON_LEDGER_EMPTY,
    ON_NEW_QUERY,
    PAIRS,
    PLACE,
    SIZE,
    TABLE,
    TEXT,
    one_of,
    whole,
)
from epochal._values.value import Value, of, option

KeyComparison = Literal["exact", "database"]
NulCharacter = Literal["error", "strip", "replace"]
OnEpochMismatch = Literal["fail", "keep"]
TransportKind = Literal["auto", "inline", "staged", "prepared"]


class Append(Value, mode="append"):
    """Appends rows. This is the default.

    >>> Append()
    jdbc.Append()
    """


class Upsert(Value, mode="upsert"):
    """Rows replace the rows with the same key.

    >>> Upsert(key_columns=["id"], order_column="updatedAt")
    jdbc.Upsert(key_columns=('id',), order_column='updatedAt')

    Args:
        key_columns: Columns that identify a row; the table needs a primary key or unique index on exactly these.
        order_column: Of rows with the same key in one epoch, the one with the greatest value is kept. Unset: an error.
        update_columns: Columns to replace in existing rows. Unset: all but the keys.
        key_comparison: For key columns that equate texts which differ in Spark (by case, accents, trailing spaces, or a
            type such as citext): exact refuses them, database accepts them as one key. Default: ``"exact"``.
    """

    key_columns: Sequence[str] = field(metadata=of("keyColumns", NAMES))
    order_column: str | None = option("orderColumn", TEXT)
    update_columns: Sequence[str] | None = option("updateColumns", NAMES)
    key_comparison: KeyComparison | None = option("keyComparison", one_of(KeyComparison))


class Changes(Value, mode="changes"):
    """Rows replace or delete the rows with the same key, so that the table is a replica.

    >>> Changes(key_columns=["id"], op_column="op", order_column="position")
    jdbc.Changes(key_columns=('id',), op_column='op', order_column='position')

    Args:
        key_columns: Columns that identify a row; the table needs a primary key or unique index on exactly these.
        op_column: Query column, not stored, with each row's operation: insert (i, c, r), update (u) or delete (d), in
            any case. Unset: _change_type, if the query is a change feed.
        order_column: Of rows with the same key in one epoch, the one with the greatest value is kept. Unset: an error.
        update_columns: Columns to replace in existing rows. Unset: all but the keys.
        key_comparison: For key columns that equate texts which differ in Spark (by case, accents, trailing spaces, or a
            type such as citext): exact refuses them, database accepts them as one key. Default: ``"exact"``.
    """

    key_columns: Sequence[str] = field(metadata=of("keyColumns", NAMES))
    op_column: str | None = option("opColumn", TEXT)
    order_column: str | None = option("orderColumn", TEXT)
    update_columns: Sequence[str] | None = option("updateColumns", NAMES)
    key_comparison: KeyComparison | None = option("keyComparison", one_of(KeyComparison))


class Columns(Value):
    """Mapping of the query's columns to those of the table.

    >>> Columns(map={"id": "comment_id"}, add=True)
    jdbc.Columns(map={'id': 'comment_id'}, add=True)

    Args:
        map: Columns whose names differ, as query:table pairs.
        add: Whether to add columns that the table lacks, nullable, in the transaction of the first epoch with them.
            Default: ``False``.
        nul_character: Handling of U+0000 in texts and JSON: a bad row (error), removal (strip), or U+FFFD (replace).
            Default: ``"error"``.
    """

    map: Mapping[str, str] | None = option("columnMap", PAIRS)
    add: bool | None = option("addColumns", BOOLEAN)
    nul_character: NulCharacter | None = option("nulCharacter", one_of(NulCharacter))


class DeadLetters(Value):
    """Stores rows that the table rejects in another table instead of failing the epoch.

    >>> DeadLetters(table="comments_bad")
    jdbc.DeadLetters(table='comments_bad')

    Args:
        table: Table for rows that cannot be stored, written in their epoch's transaction; created if missing. Unset:
            such a row fails its epoch.
        max_rows: Maximum rows per epoch in ``table``; more fail the epoch. Default: ``1000``.
    """

    table: str = field(metadata=of("deadLetterTable", TABLE))
    max_rows: int | None = option("maxBadRows", whole(0))


class Connection(Value):
    """Connection settings besides URL and login.

    >>> Connection(properties={"sslmode": "verify-full"}, max_connections=4)
    jdbc.Connection(properties={'sslmode': '***'}, max_connections=4)

    Args:
        driver: JDBC driver class. Unset: the usual one for the URL.
        properties: Properties for the driver, for example ``{"sslmode": "verify-full"}``. Secret.
        max_connections: Maximum connections per JVM (driver, executor) and login; tasks wait for a free one. Unset: 16
            on PostgreSQL, 2 on SQLite, else 8.
        lock_timeout: Maximum wait of one attempt for a database lock. Default: ``"30s"``.
    """

    driver: str | None = option("driver", TEXT)
    properties: Mapping[str, str] | None = option("connection", FAMILY, own_doc=True)
    max_connections: int | None = option("maxConnections", whole(2))
    lock_timeout: Duration | None = option("lockTimeout", DURATION)


class Ledger(Value):
    """Exceptions to the ledger's checks. An error names the argument to set, for one start.

    >>> Ledger(on_empty="skip:17")
    jdbc.Ledger(on_empty='skip:17')

    Args:
        on_new_query: If the ledger knows another query, sink or table: fail; ``append:<id>``,… adds this query's rows,
            for the ids that the error names and no others; replace empties the table in the first epoch's transaction
            of every new query, also after a lost checkpoint. Default: ``"fail"``.
        on_empty: If the ledger has no epoch of a query beyond its first: fail; ``write:<epoch>`` writes that epoch;
            ``skip:<epoch>`` skips it, because its rows are in the table. Applies to that epoch only. Default:
            ``"fail"``.
        on_epoch_mismatch: For a replay with other rows whose offsets cannot be read: fail, or keep the stored rows.
            Default: ``"fail"``.
        trusted_owners: PostgreSQL: further roles that may own the sink's ledger, staging and table of bad rows. Always
            trusted are its own role, the owners of the target and its schema, superusers, and roles that can act as
            these.
    """

    on_new_query: str | None = option("onNewQuery", ON_NEW_QUERY)
    on_empty: str | None = option("onLedgerEmpty", ON_LEDGER_EMPTY)
    on_epoch_mismatch: OnEpochMismatch | None = option("onEpochMismatch", one_of(OnEpochMismatch))
    trusted_owners: Sequence[str] | None = option("trustedOwners", NAMES)


class Transport(Value):
    """How rows get from the tasks to the database.

    >>> Transport(kind="staged")
    jdbc.Transport(kind='staged')

    Args:
        kind: inline: rows travel in commit messages, through the driver. staged: tasks load staging tables, from which
            the committing transaction moves rows. prepared (append only): tasks prepare transactions, which the driver
            commits one by one. auto: inline; for tasks beyond their share of ``inline_max_bytes`` staged or, without
            staging, files beside the checkpoint. Default: ``"auto"``.
        inline_max_bytes: Bytes of an epoch, as encoded, that may travel in commit messages: with inline more are an
            error, with auto a task that exceeds its share continues with staging, or with a file if the database has no
            staging. Default: ``"64m"``.
        spill_directory: Directory, reachable by driver and executors, for rows beyond ``inline_max_bytes`` without
            staging (all but PostgreSQL). Unset: the checkpoint; for a batch a temporary directory in local mode, none
            on a cluster.
        batch_size: Maximum rows per INSERT, within the database's parameter limit, where neither COPY (PostgreSQL),
            LOAD DATA LOCAL (MySQL, MariaDB) nor MariaDB's bulk protocol loads an epoch. Default: ``200``.
        flush_interval: Continuous and real-time triggers: minimum time between the starts of a task's transactions;
            rows gather in the meantime. Default: ``"10ms"``.
        flush_rows: Continuous and real-time triggers: gathered rows that are stored before ``flush_interval`` ends.
            Default: ``10000``.
    """

    kind: TransportKind | None = option("transport", one_of(TransportKind))
    inline_max_bytes: Size | None = option("inlineMaxBytes", SIZE, own_doc=True)
    spill_directory: Location | None = option("spillDirectory", PLACE)
    batch_size: int | None = option("batchSize", whole())
    flush_interval: Duration | None = option("flushInterval", DURATION)
    flush_rows: int | None = option("flushRows", whole())


class Partitions(Value):
    """Parallel read of a table, for ``epochal.read.jdbc``: each task reads a range of a column's values.

    >>> Partitions(column="id", lower=0, upper=1_000_000, count=8)
    jdbc.Partitions(column='id', lower=0, upper=1000000, count=8)

    Args:
        column: A column of numbers, dates or timestamps, best with an index.
        lower: Start of the first range. It only divides the rows: smaller values are read too.
        upper: End of the last range. It only divides the rows: larger values are read too.
        count: Number of ranges, and of parallel connections.
    """

    column: str = field(metadata=of("partitionColumn", TEXT))
    lower: int | date | datetime | str = field(metadata=of("lowerBound", BOUND))
    upper: int | date | datetime | str = field(metadata=of("upperBound", BOUND))
    count: int = field(metadata=of("numPartitions", whole()))


#: Values of ``mode`` of ``epochal.write.jdbc``.
AnyMode = Upsert | Changes | Append
