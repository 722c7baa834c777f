"""How rows get into a table: values of ``epochal.jdbc``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, Literal

from epochal._options import Duration, Location, Size
from epochal._values.kind import (
    BOOLEAN,
    BOUND,
    DURATION,
    FAMILY,
    NAMES,
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


@dataclass(frozen=True, kw_only=True, repr=False)
class OfTable(Value):
    """A value of ``epochal.jdbc``."""

    _room: ClassVar[str] = "jdbc."


@dataclass(frozen=True, kw_only=True, repr=False)
class Append(OfTable):
    """Rows are added. This is the default.

    >>> Append()
    jdbc.Append()
    """

    _fixed: ClassVar[Mapping[str, str]] = {"mode": "append"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Upsert(OfTable):
    """Rows replace those of the same key.

    >>> Upsert(key_columns=["id"], order_column="updatedAt")
    jdbc.Upsert(key_columns=('id',), order_column='updatedAt')

    Args:
        key_columns: Columns that identify a row; the table needs a primary key or unique index on exactly these.
        order_column: Of rows with the same key in one epoch the one with the greatest value here is kept. Unset: such
            rows are an error.
        update_columns: Where a row of the same key is there already, only these columns are replaced. Unset: all but
            the keys.
        key_comparison: exact refuses a key column that treats texts as equal that are different in Spark (by a
            collation that ignores case, accents or spaces at the end, or a type such as citext); database accepts that
            they are one key. Default: ``"exact"``.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"mode": "upsert"}

    key_columns: Sequence[str] = field(metadata=of("keyColumns", NAMES))
    order_column: str | None = option("orderColumn", TEXT)
    update_columns: Sequence[str] | None = option("updateColumns", NAMES)
    key_comparison: KeyComparison | None = option("keyComparison", one_of(KeyComparison))


@dataclass(frozen=True, kw_only=True, repr=False)
class Changes(OfTable):
    """Rows replace those of the same key, or delete them: the table is a replica.

    >>> Changes(key_columns=["id"], op_column="op", order_column="position")
    jdbc.Changes(key_columns=('id',), op_column='op', order_column='position')

    Args:
        key_columns: Columns that identify a row; the table needs a primary key or unique index on exactly these.
        op_column: Column of the query, not of the table, that says what a row does: insert (i, c, r), update (u) or
            delete (d), in any case.
        order_column: Of rows with the same key in one epoch the one with the greatest value here is kept. Unset: such
            rows are an error.
        update_columns: Where a row of the same key is there already, only these columns are replaced. Unset: all but
            the keys.
        key_comparison: exact refuses a key column that treats texts as equal that are different in Spark (by a
            collation that ignores case, accents or spaces at the end, or a type such as citext); database accepts that
            they are one key. Default: ``"exact"``.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"mode": "changes"}

    key_columns: Sequence[str] = field(metadata=of("keyColumns", NAMES))
    op_column: str = field(metadata=of("opColumn", TEXT))
    order_column: str | None = option("orderColumn", TEXT)
    update_columns: Sequence[str] | None = option("updateColumns", NAMES)
    key_comparison: KeyComparison | None = option("keyComparison", one_of(KeyComparison))


@dataclass(frozen=True, kw_only=True, repr=False)
class Columns(OfTable):
    """How the query's columns become the table's.

    >>> Columns(map={"id": "comment_id"}, add=True)
    jdbc.Columns(map={'id': 'comment_id'}, add=True)

    Args:
        map: Columns of the query whose names differ from the table's, as query:table pairs.
        add: Adds columns of the query that the table lacks, nullable, in the transaction of the first epoch that has
            them. Default: ``False``.
        nul_character: The character U+0000 in a text or in JSON, which databases cannot keep: error makes the row a bad
            row, strip leaves the character out, replace puts U+FFFD in its place. Default: ``"error"``.
    """

    map: Mapping[str, str] | None = option("columnMap", PAIRS)
    add: bool | None = option("addColumns", BOOLEAN)
    nul_character: NulCharacter | None = option("nulCharacter", one_of(NulCharacter))


@dataclass(frozen=True, kw_only=True, repr=False)
class DeadLetters(OfTable):
    """Rows that cannot be stored are put aside, and the query goes on.

    >>> DeadLetters(table="comments_bad")
    jdbc.DeadLetters(table='comments_bad')

    Args:
        table: Where rows go that cannot be stored, in their epoch's transaction; made if it does not exist. Unset: such
            a row fails its epoch.
        max_rows: Maximum rows of one epoch in ``table``; one more fails the epoch. Default: ``1000``.
    """

    table: str = field(metadata=of("deadLetterTable", TABLE))
    max_rows: int | None = option("maxBadRows", whole(0))


@dataclass(frozen=True, kw_only=True, repr=False)
class Connection(OfTable):
    """How the database is connected to, beside its URL and login.

    >>> Connection(properties={"sslmode": "verify-full"}, max_connections=4)
    jdbc.Connection(properties={'sslmode': '***'}, max_connections=4)

    Args:
        driver: Class of the JDBC driver. Unset: the usual one for the URL.
        properties: Properties for the driver, for example connection.sslmode=verify-full. Secret.
        max_connections: Connections that one JVM, the driver or an executor, may hold to the database with one login;
            tasks wait for a free one. Unset: 16 on PostgreSQL, 8 on others, 2 on SQLite.
        lock_timeout: How long one attempt waits for a lock in the database. Default: ``"30s"``.
    """

    driver: str | None = option("driver", TEXT)
    properties: Mapping[str, str] | None = option("connection", FAMILY)
    max_connections: int | None = option("maxConnections", whole(2))
    lock_timeout: Duration | None = option("lockTimeout", DURATION)


@dataclass(frozen=True, kw_only=True, repr=False)
class Ledger(OfTable):
    """What is accepted that the ledger refuses. An error says what to set here, for one start.

    >>> Ledger(on_empty="skip:17")
    jdbc.Ledger(on_empty='skip:17')

    Args:
        on_new_query: When the ledger knows the sink from another query, the table from another sink, or the sink from
            another table: fail says so, append:<id> goes on with this query's rows added. The id is what the error
            names; more than one have commas between them. An id that the ledger does not hold accepts nothing. replace
            empties the table in the transaction of the query's first epoch: it holds for every query that begins, also
            after a lost checkpoint. Default: ``"fail"``.
        on_empty: When the ledger knows no epoch of a query that is at a later one than its first: fail says so,
            write:<epoch> writes that epoch and goes on from there, skip:<epoch> goes on behind it, since its rows are
            in the table. It counts for that epoch only. Default: ``"fail"``.
        on_epoch_mismatch: When an epoch is replayed with other rows and its offsets cannot be read: fail, or keep what
            is there. Default: ``"fail"``.
        trusted_owners: PostgreSQL: roles whose tables may be the sink's ledger, staging and table of bad rows, beside
            its own role, the owners of the target and of its schema, superusers, and whoever can act as one of these.
    """

    on_new_query: str | None = option("onNewQuery", TEXT)
    on_empty: str | None = option("onLedgerEmpty", TEXT)
    on_epoch_mismatch: OnEpochMismatch | None = option("onEpochMismatch", one_of(OnEpochMismatch))
    trusted_owners: Sequence[str] | None = option("trustedOwners", NAMES)


@dataclass(frozen=True, kw_only=True, repr=False)
class Transport(OfTable):
    """How rows travel from the tasks to the database.

    >>> Transport(kind="staged")
    jdbc.Transport(kind='staged')

    Args:
        kind: How rows reach the database. inline: with the tasks' commit messages, through the driver. staged: tasks
            load them into staging tables, from where the committing transaction moves them. prepared: tasks load them
            into the table and prepare their transactions, which the driver commits one by one; append only. auto:
            inline, and staged for the tasks whose rows exceed their share of ``inline_max_bytes``, where the database
            has that, else in files beside the checkpoint. Default: ``"auto"``.
        inline_max_bytes: Bytes of an epoch, as encoded, that may travel in commit messages: with transport=inline more
            are an error, with auto a task whose share they exceed goes on by staging, or by a file where the database
            has no staging. Default: ``"64m"``.
        spill_directory: Directory, on a file system that driver and executors reach, for files of rows that exceed
            ``inline_max_bytes`` where the database has no staging (all but PostgreSQL). Unset: the checkpoint; for a
            batch in local mode a temporary directory, and on a cluster none.
        batch_size: Rows in one INSERT where the database has no bulk load (all but PostgreSQL), as far as its
            parameters allow. Default: ``200``.
        flush_interval: Continuous and real-time triggers: the shortest time from the beginning of one transaction of a
            task to that of its next. A row that comes later is stored at once, those that come sooner gather. Shorter
            is sooner, and more transactions. Default: ``"10ms"``.
        flush_rows: Continuous and real-time triggers: rows at which a task stores what it has gathered, before
            ``flush_interval`` is over. Default: ``10000``.
    """

    kind: TransportKind | None = option("transport", one_of(TransportKind))
    inline_max_bytes: Size | None = option("inlineMaxBytes", SIZE)
    spill_directory: Location | None = option("spillDirectory", PLACE)
    batch_size: int | None = option("batchSize", whole())
    flush_interval: Duration | None = option("flushInterval", DURATION)
    flush_rows: int | None = option("flushRows", whole())


@dataclass(frozen=True, kw_only=True, repr=False)
class Partitions(OfTable):
    """Tasks that read a table at the same time, for ``epochal.read.jdbc``: each reads a range of a column's values.

    >>> Partitions(column="id", lower=0, upper=1_000_000, count=8)
    jdbc.Partitions(column='id', lower=0, upper=1000000, count=8)

    Args:
        column: A column of numbers, dates or timestamps, best with an index.
        lower: Where the second range begins, less one range: it decides how rows are divided, and leaves none out.
        upper: Where the last range would end: it leaves no row out either.
        count: Number of ranges, and of connections at the same time.
    """

    column: str = field(metadata=of("partitionColumn", TEXT))
    lower: int | date | datetime | str = field(metadata=of("lowerBound", BOUND))
    upper: int | date | datetime | str = field(metadata=of("upperBound", BOUND))
    count: int = field(metadata=of("numPartitions", whole()))


#: Everything that ``mode`` of ``epochal.write.jdbc`` can be.
AnyMode = Append | Upsert | Changes
