"""Requests of the sink: values of ``epochal.rest`` for ``epochal.write.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.kind import POINTER, whole
from epochal._values.value import Value, of, option

BodyFormat = Literal["object", "array", "ndjson"]


class Body(Value):
    """The body of a request.

    Args:
        content_type: Header Content-Type. Unset: application/json, or application/x-ndjson for rows as NDJSON.
    """

    format: BodyFormat | None = option("body")
    row_template: str | None = option("rowTemplate")
    template: str | None = option("bodyTemplate")
    content_type: str | None = option("contentType", own_doc=True)
    ignore_null_fields: bool | None = option("ignoreNullFields")


class Append(Value, mode="append"):
    """Every row is sent alike. This is the default."""


class Changes(Value, mode="changes"):
    """Rows insert, update or delete, as a change feed says.

    >>> Changes(delete_url="https://api.example.com/orders/{id}", upsert_status=404)
    rest.Changes(delete_url='https://api.example.com/orders/{id}', upsert_status=404)
    """

    _alternatives = (("Keep one of them.", "delete_url", "delete_template"),)
    _dependent = (("create_url", "upsert_status"),)
    op_column: str | None = option("opColumn")
    delete_url: str | None = option("deleteUrl")
    delete_template: str | None = option("deleteTemplate")
    upsert_status: int | None = option("upsertStatus", whole(400))
    create_url: str | None = option("createUrl")


class Batch(Value):
    """Several rows per request."""

    rows: int = field(metadata=of("batchSize"))
    bytes: Size | None = option("batchBytes")
    flush_interval: Duration | None = option("flushInterval")
    num_partitions: int | None = option("numPartitions")


class Results(Value):
    """Where a response reports whether each row was accepted."""

    pointer: str = field(metadata=of("results", POINTER))
    status: str | None = option("resultStatus", POINTER)
    success: Sequence[str] | None = option("resultSuccess")
    reason: str | None = option("resultReason", POINTER)


class DeadLetters(Value):
    """Stores rows that the server rejects in a directory instead of failing the epoch."""

    path: Location = field(metadata=of("deadLetterPath"))
    statuses: Statuses | None = option("rejectStatuses")
    max_rows: int | None = option("maxBadRows", whole(0))


AnyMode = Append | Changes
