"""How a stream polls: values of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field as given
from datetime import datetime
from typing import Literal

from epochal._options import Duration, Size
from epochal._values.kind import POINTER, START
from epochal._values.value import Value, of, option

SinceFormat = Literal["iso", "iso-millis", "iso-date", "epoch-seconds", "epoch-millis", "raw"]


class Poll(Value):
    """Interval and size of a stream's polls for new records."""

    interval: Duration | None = option("refreshInterval")
    conditional: bool | None = option("conditionalRequests")
    max_time: Duration | None = option("maxPollTime")
    max_bytes: Size | None = option("maxPollBytes")
    max_journal_bytes: Size | None = option("maxJournalBytes")


class Since(Poll):
    """Polls for records that change: each requests those that have changed since the last one.

    >>> Since("/updated_at", param="updated_since", key_columns=["id"])
    rest.Since(field='/updated_at', param='updated_since', key_columns=('id',))

    Args:
        key_columns: Fields that identify a record: it is delivered again when it has changed.
    """

    _alternatives = (("Keep the one that the API expects.", "param", "body", "variable"),)
    _dependent = (("body", "start"),)
    field: str = given(kw_only=False, metadata=of("sinceField", POINTER))
    param: str | None = option("sinceParam")
    body: str | None = option("sinceBody", POINTER)
    variable: str | None = option("sinceVariable")
    key_columns: Sequence[str] = given(metadata=of("keyColumns", own_doc=True))
    start: datetime | str | None = option("sinceStart", START)
    format: SinceFormat | None = option("sinceFormat")
    inclusive: bool | None = option("sinceInclusive")
    lag: Duration | None = option("sinceLag")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.param is None and self.body is None and self.variable is None:
            raise self._invalid("param", "is not given, nor is body or variable", '"updated_since"')
        if self.format == "raw" and self.lag is not None:
            raise self._conflict('format="raw", lag', "Leave lag out: it needs moments.")


#: Values of ``poll`` of ``epochal.read.rest``.
AnyPoll = Poll | Since
