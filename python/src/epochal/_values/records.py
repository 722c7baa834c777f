"""How records are found in a response, and when it is polled again: values of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from epochal._options import Duration, Size
from epochal._values.kind import BOOLEAN, DURATION, POINTER, SIZE, TEXT, one_of
from epochal._values.value import Value, of, option

Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
Missing = Literal["fail", "empty"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Records(Value):
    """How a response holds records."""

    _room: ClassVar[str] = "rest."

    mode: Mode | None = option("mode", one_of(Mode))
    corrupt_column: str | None = option("columnNameOfCorruptRecord", TEXT)
    rescued_column: str | None = option("rescuedDataColumn", TEXT)
    max_bytes: Size | None = option("maxRecordBytes", SIZE)
    event_time_column: str | None = option("eventTimeColumn", TEXT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corrupt_column is not None and self.mode != "PERMISSIVE":
            suggestion = 'Set mode="PERMISSIVE", or leave corrupt_column out.'
            raise self._conflict('corrupt_column without mode="PERMISSIVE"', suggestion)


@dataclass(frozen=True, kw_only=True, repr=False)
class Json(Records):
    """An array of JSON. This is the default.

    >>> Json("/data/items", mode="PERMISSIVE")
    rest.Json(mode='PERMISSIVE', pointer='/data/items')

    Args:
        mode: What happens to a record that does not fit the schema: FAILFAST, it fails the query; PERMISSIVE, it goes
            into a column of its own; DROPMALFORMED, it is dropped. Default: ``"FAILFAST"``.
        corrupt_column: The STRING column that a record which does not fit goes into, as it came. Added where the schema
            lacks it. Default: ``"_corrupt_record"``.
        rescued_column: The STRING column that fields without a column go into, as a JSON object. Added where the schema
            lacks it. Unset: they are ignored.
        max_bytes: Largest record; a larger one does not fit, and mode says what happens to it. Unset: as large as a
            response may be.
        event_time_column: Column with the time of a row's event (TIMESTAMP, TIMESTAMP_NTZ or DATE). The highest one
            delivered is in the offsets, and its lag in the progress. Unset: rows are not looked at.
        pointer: JSON Pointer to the array of records in a response. Unset: the response is the array.
        missing: What a response is that has nothing, or null, where records says that the array is: a failure, or a
            page without records, of an API that leaves empty lists out. Default: ``"fail"``.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"bodyFormat": "json"}

    pointer: str | None = field(default=None, kw_only=False, metadata=of("records", POINTER))
    missing: Missing | None = option("missingRecords", one_of(Missing))


@dataclass(frozen=True, kw_only=True, repr=False)
class Ndjson(Records):
    """JSON with one record a line.

    >>> Ndjson()
    rest.Ndjson()

    Args:
        mode: What happens to a record that does not fit the schema: FAILFAST, it fails the query; PERMISSIVE, it goes
            into a column of its own; DROPMALFORMED, it is dropped. Default: ``"FAILFAST"``.
        corrupt_column: The STRING column that a record which does not fit goes into, as it came. Added where the schema
            lacks it. Default: ``"_corrupt_record"``.
        rescued_column: The STRING column that fields without a column go into, as a JSON object. Added where the schema
            lacks it. Unset: they are ignored.
        max_bytes: Largest record; a larger one does not fit, and mode says what happens to it. Unset: as large as a
            response may be.
        event_time_column: Column with the time of a row's event (TIMESTAMP, TIMESTAMP_NTZ or DATE). The highest one
            delivered is in the offsets, and its lag in the progress. Unset: rows are not looked at.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"bodyFormat": "ndjson"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Csv(Records):
    """CSV, with a header line or without.

    >>> Csv(sep=";", header=False)
    rest.Csv(sep=';', header=False)

    Args:
        mode: What happens to a record that does not fit the schema: FAILFAST, it fails the query; PERMISSIVE, it goes
            into a column of its own; DROPMALFORMED, it is dropped. Default: ``"FAILFAST"``.
        corrupt_column: The STRING column that a record which does not fit goes into, as it came. Added where the schema
            lacks it. Default: ``"_corrupt_record"``.
        rescued_column: The STRING column that fields without a column go into, as a JSON object. Added where the schema
            lacks it. Unset: they are ignored.
        max_bytes: Largest record; a larger one does not fit, and mode says what happens to it. Unset: as large as a
            response may be.
        event_time_column: Column with the time of a row's event (TIMESTAMP, TIMESTAMP_NTZ or DATE). The highest one
            delivered is in the offsets, and its lag in the progress. Unset: rows are not looked at.
        sep: Character between the fields of CSV. Default: ``","``.
        header: Whether the first line of each response in CSV names the fields; without it they are the schema's
            columns in their order. Default: ``True``.
        null_value: Unquoted text that is NULL in CSV, as an empty field is in any case.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"bodyFormat": "csv"}

    sep: str | None = option("sep", TEXT)
    header: bool | None = option("header", BOOLEAN)
    null_value: str | None = option("nullValue", TEXT)


@dataclass(frozen=True, kw_only=True, repr=False)
class Poll(Value):
    """How a stream polls for new records, and how much one poll takes.

    >>> Poll(interval="30s")
    rest.Poll(interval='30s')

    Args:
        interval: How long after the end of the list was seen the next poll for new records follows, in a stream. Unset:
            at each trigger, and each second in a continuous or real-time query.
        conditional: Whether the driver, which polls for new records, sends If-None-Match or If-Modified-Since where the
            API's last response has an ETag or a Last-Modified; 304 then means that nothing is new. Default: ``True``.
        max_time: How long one poll for records that are journalled may take, in a stream: what was received until then
            is a batch, and the next poll goes on. Raise it where the trigger's interval is long and the list is, too.
            Default: ``"1m"``.
        max_bytes: How many bytes of records that are journalled one poll may receive, in a stream: the page that brings
            more is the poll's last. Default: ``"128m"``.
    """

    _room: ClassVar[str] = "rest."

    interval: Duration | None = option("refreshInterval", DURATION)
    conditional: bool | None = option("conditionalRequests", BOOLEAN)
    max_time: Duration | None = option("maxPollTime", DURATION)
    max_bytes: Size | None = option("maxPollBytes", SIZE)


#: Everything that ``records`` of ``epochal.read.rest`` can be.
AnyRecords = Json | Ndjson | Csv
