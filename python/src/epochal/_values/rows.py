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


class Append(Value, mode="append"):
    """Every row is sent alike. This is the default.

    >>> Append()
    rest.Append()
    """


class Changes(Value, mode="changes"):
    """Rows insert, update or delete, as a change feed says.

    >>> Changes(delete_url="https://api.example.com/orders/{id}", upsert_status=404)
    rest.Changes(delete_url='https://api.example.com/orders/{id}', upsert_status=404)

    Args:
        op_column: Query column, not sent, with each row's operation: insert (i, c, r), update (u) or delete (d), in any
            case. Unset: _change_type.
        delete_url: URL of DELETE requests, on the server of url; {name} is a column's value. A response 404 or 410
            counts as success.
        delete_template: In place of ``delete_url``, JSON of a row that deletes, in the same body as the others;
            placeholders as in ``rest.Body(row_template=…)``.
        upsert_status: Response status to a PUT (or PATCH, by method) of a missing row, which a POST to ``create_url``
            then creates. Unset: an error.
        create_url: URL of that POST, on the server of url. Unset: url without its last segment.
    """

    op_column: str | None = option("opColumn", TEXT)
    delete_url: str | None = option("deleteUrl", TEXT)
    delete_template: str | None = option("deleteTemplate", TEXT)
    upsert_status: int | None = option("upsertStatus", whole(400))
    create_url: str | None = option("createUrl", TEXT)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._exclusive("Keep one of them.", "delete_url", "delete_template")
        self._needs("create_url", "upsert_status")


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
        status: JSON Pointer within a result to its HTTP status or boolean; a * stands for the only field of an object.
            Default: ``"/status"``.
        success: Values of ``status`` that mean success. Unset: 200 to 299, true.
        reason: The same for the reason of a rejection. Unset: the whole result.
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


AnyMode = Append | Changes
