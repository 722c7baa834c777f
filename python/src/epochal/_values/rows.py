"""Requests of the sink: values of ``epochal.rest`` for ``epochal.write.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.kind import BOOLEAN, DURATION, NAMES, PLACE, POINTER, SIZE, STATUSES, TEXT, one_of, whole
from epochal._values.value import Value, of, option

BodyFormat = Literal["object", "array", "ndjson"]


class Body(Value):
    """The body of a request.

    >>> Body(format="array", template='{"records": ${_rows}}')
    rest.Body(format='array', template='{"records": ${_rows}}')

    Args:
        format: Request body: one row as an object, or rows as an array or lines of JSON. Unset: object with
            ``rest.Batch(rows=1)``, else array.
        row_template: JSON of a row, in which ${name} is a column's value (within quotes: its text) and ${_row} the
            whole row. Unset: ${_row}.
        template: JSON of the body, with ${_rows} once and optionally ${_key}, the idempotency key. Unset: ${_rows}.
        content_type: Header Content-Type. Unset: application/json, or application/x-ndjson for rows as NDJSON.
        ignore_null_fields: Whether NULLs are left out; if not, they are sent as null. Default: ``False``.
    """

    format: BodyFormat | None = option("body", one_of(BodyFormat))
    row_template: str | None = option("rowTemplate", TEXT)
    template: str | None = option("bodyTemplate", TEXT)
    content_type: str | None = option("contentType", TEXT, own_doc=True)
    ignore_null_fields: bool | None = option("ignoreNullFields", BOOLEAN)


class Batch(Value):
    """Several rows per request.

    >>> Batch(rows=500, bytes="1m")
    rest.Batch(rows=500, bytes='1m')

    Args:
        rows: Maximum rows per request. Default: ``1``.
        bytes: Maximum row bytes per request; a larger row is sent alone. Default: ``"4m"``.
        flush_interval: Maximum wait for more rows. Requests are then not repeatable, so idempotency keys must be off.
            Unset: requests are filled.
        num_partitions: Sending tasks if rows are sorted by ``key_columns``. Default: ``4``.
    """

    rows: int = field(metadata=of("batchSize", whole()))
    bytes: Size | None = option("batchBytes", SIZE)
    flush_interval: Duration | None = option("flushInterval", DURATION)
    num_partitions: int | None = option("numPartitions", whole())


class Results(Value):
    """Where a response reports whether each row was accepted.

    >>> Results(pointer="/items", reason="/error/reason")
    rest.Results(pointer='/items', reason='/error/reason')

    Args:
        pointer: JSON Pointer to the array of results, in row order. Unset: the response's status counts for all rows.
        status: JSON Pointer within a result to its HTTP status or boolean. Default: ``"/status"``.
        success: Values of ``status`` that mean success. Unset: 200 to 299, true.
        reason: JSON Pointer within a result to the reason of a rejection. Unset: the whole result.
    """

    pointer: str = field(metadata=of("results", POINTER))
    status: str | None = option("resultStatus", POINTER)
    success: Sequence[str] | None = option("resultSuccess", NAMES)
    reason: str | None = option("resultReason", POINTER)


class DeadLetters(Value):
    """Stores rows that the server rejects in a directory instead of failing the epoch.

    >>> DeadLetters(path="/data/orders-refused")
    rest.DeadLetters(path='/data/orders-refused')

    Args:
        path: Directory for rejected rows: one file of JSON lines per epoch; created if missing. Unset: a rejected row
            fails its epoch.
        statuses: Response statuses that blame the rows, which then go to ``path``. Default: ``"400,413,422"``.
        max_rows: Maximum rows per epoch in ``path``; more fail the epoch. Default: ``1000``.
    """

    path: Location = field(metadata=of("deadLetterPath", PLACE))
    statuses: Statuses | None = option("rejectStatuses", STATUSES)
    max_rows: int | None = option("maxBadRows", whole(0))
