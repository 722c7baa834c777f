"""How rows become requests: values of ``epochal.rest`` for ``epochal.write.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.kind import (
    BOOLEAN,
    DURATION,
    NAMES,
    PLACE,
    POINTER,
    SIZE,
    STATUSES,
    TEXT,
    one_of,
    whole,
)
from epochal._values.value import Value, of, option

BodyFormat = Literal["object", "array", "ndjson"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Body(Value):
    """What a request holds.

    >>> Body(format="array", template='{"records": ${_rows}}')
    rest.Body(format='array', template='{"records": ${_rows}}')

    Args:
        format: What a request holds: one row as a JSON object, its rows as a JSON array, or as lines of JSON. Unset:
            object with ``rest.Batch(rows=1)``, else array.
        row_template: How a row is written: JSON in which ${name} stands for a column's value, as JSON or within quotes
            as text, and ${_row} for the whole row. Unset: ${_row}.
        template: What stands around the rows: JSON in which ${_rows} stands for them, once, and ${_key} for the
            request's idempotency key. Unset: ${_rows}.
        content_type: Header Content-Type. Unset: application/json, application/x-ndjson with body=ndjson.
        ignore_null_fields: Whether NULLs are left out of a row; if not, they are written as null. Default: ``False``.
    """

    _room: ClassVar[str] = "rest."

    format: BodyFormat | None = option("body", one_of(BodyFormat))
    row_template: str | None = option("rowTemplate", TEXT)
    template: str | None = option("bodyTemplate", TEXT)
    content_type: str | None = option("contentType", TEXT)
    ignore_null_fields: bool | None = option("ignoreNullFields", BOOLEAN)


@dataclass(frozen=True, kw_only=True, repr=False)
class Batch(Value):
    """Requests of several rows.

    >>> Batch(rows=500, bytes="1m")
    rest.Batch(rows=500, bytes='1m')

    Args:
        rows: Maximum rows in one request. Default: ``1``.
        bytes: Maximum bytes of the rows in one request; a larger row is sent alone. Default: ``"4m"``.
        flush_interval: A request that has waited so long for more rows is sent as it is. Requests are then not
            repeatable: only without idempotency keys. Unset: requests are filled.
        num_partitions: Tasks that send, where rows are sorted by ``key_columns``. Default: ``4``.
    """

    _room: ClassVar[str] = "rest."

    rows: int = field(metadata=of("batchSize", whole()))
    bytes: Size | None = option("batchBytes", SIZE)
    flush_interval: Duration | None = option("flushInterval", DURATION)
    num_partitions: int | None = option("numPartitions", whole())


@dataclass(frozen=True, kw_only=True, repr=False)
class Results(Value):
    """A response says of each row whether it was accepted.

    >>> Results(pointer="/items", reason="/error/reason")
    rest.Results(pointer='/items', reason='/error/reason')

    Args:
        pointer: JSON Pointer to the array in a response that has the result of each row, in the order of the rows.
            Unset: the response's status counts for all rows.
        status: JSON Pointer, within an entry of results, to the row's status: an HTTP status, or true or false.
            Default: ``"/status"``.
        success: Values at ``status`` that mean success. Unset: 200 to 299, and true.
        reason: JSON Pointer, within an entry of results, to why a row was refused. Unset: the whole entry.
    """

    _room: ClassVar[str] = "rest."

    pointer: str = field(metadata=of("results", POINTER))
    status: str | None = option("resultStatus", POINTER)
    success: Sequence[str] | None = option("resultSuccess", NAMES)
    reason: str | None = option("resultReason", POINTER)


@dataclass(frozen=True, kw_only=True, repr=False)
class DeadLetters(Value):
    """Rows that the server refuses are put aside, and the query goes on.

    >>> DeadLetters(path="/data/orders-refused")
    rest.DeadLetters(path='/data/orders-refused')

    Args:
        path: Directory for rows that the server refuses, as JSON lines in one file for each epoch; made if it does not
            exist. Unset: such a row fails its epoch.
        statuses: Statuses of a whole response that mean that the rows of the request are at fault, and not url or
            login: they go to ``path``. Default: ``"400,413,422"``.
        max_rows: Maximum rows of one epoch in ``path``; one more fails the epoch. Default: ``1000``.
    """

    _room: ClassVar[str] = "rest."

    path: Location = field(metadata=of("deadLetterPath", PLACE))
    statuses: Statuses | None = option("rejectStatuses", STATUSES)
    max_rows: int | None = option("maxBadRows", whole(0))
