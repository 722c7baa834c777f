"""Records that change: a value of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field as given
from datetime import datetime
from typing import Literal

from epochal._options import Duration
from epochal._values.kind import POINTER, START
from epochal._values.records import Poll
from epochal._values.value import of, option

SinceFormat = Literal["iso", "iso-millis", "iso-date", "epoch-seconds", "epoch-millis", "raw"]


class Since(Poll):
    """Polls for records that change: each requests those that have changed since the last one.

    >>> Since("/updated_at", param="updated_since", key_columns=["id"])
    rest.Since(field='/updated_at', param='updated_since', key_columns=('id',))

    Args:
        field: JSON Pointer within a record to the moment or number of its last change.
        param: Parameter for the least value that a poll requests: the greatest one delivered.
        body: JSON Pointer to the place in ``request_body`` for that value, as JSON, instead of ``param``; needs
            ``start``.
        variable: Variable of the query for that value, instead of ``param`` (``rest.GraphQL``).
        key_columns: Fields that identify a record: it is delivered again when it has changed.
        start: That value in the first poll: a moment in UTC or a date, with ``format="raw"`` any text. Unset: the first
            poll requests all records, without the parameter; ``variable`` is null.
        format: Format of that value: 2024-01-01T00:00:00Z, with milliseconds, the date alone, Unix time, or numbers and
            texts that are compared and sent as they are (raw). Default: ``"iso"``.
        inclusive: Whether the API returns records with the requested value itself. If not, one unit less is requested,
            so that later records of the same moment are not lost. Default: ``True``.
        lag: How much earlier than the greatest value delivered a poll requests records, for an API that shows changes
            late. Default: ``"0s"``.
    """

    field: str = given(kw_only=False, metadata=of("sinceField", POINTER, own_doc=True))
    param: str | None = option("sinceParam", own_doc=True)
    body: str | None = option("sinceBody", POINTER, own_doc=True)
    variable: str | None = option("sinceVariable", own_doc=True)
    key_columns: Sequence[str] = given(metadata=of("keyColumns", own_doc=True))
    start: datetime | str | None = option("sinceStart", START, own_doc=True)
    format: SinceFormat | None = option("sinceFormat", own_doc=True)
    inclusive: bool | None = option("sinceInclusive")
    lag: Duration | None = option("sinceLag")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._exclusive("Keep the one that the API expects.", "param", "body", "variable")
        if self.param is None and self.body is None and self.variable is None:
            raise self._invalid("param", "is not given, nor is body or variable", '"updated_since"')
        self._needs("body", "start")
        if self.format == "raw" and self.lag is not None:
            raise self._conflict('format="raw", lag', "Leave lag out: it needs moments.")


#: Values of ``poll`` of ``epochal.read.rest``.
AnyPoll = Poll | Since
