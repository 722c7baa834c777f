"""Response formats and polling: values of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Size
from epochal._values.kind import BOOLEAN, CHARSET, DURATION, NAMES, POINTER, POINTERS, SIZE, TEXT, one_of
from epochal._values.value import Value, of, option

Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
Missing = Literal["fail", "empty"]
Shape = Literal["array", "object", "map", "rows"]


class Records(Value):
    """Base class of response formats."""

    mode: Mode | None = option("mode", one_of(Mode))
    corrupt_column: str | None = option("columnNameOfCorruptRecord", TEXT)
    rescued_column: str | None = option("rescuedDataColumn", TEXT)
    max_bytes: Size | None = option("maxRecordBytes", SIZE)
    encoding: str | None = option("encoding", CHARSET)
    event_time_column: str | None = option("eventTimeColumn", TEXT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corrupt_column is not None and self.mode != "PERMISSIVE":
            suggestion = 'Set mode="PERMISSIVE", or leave corrupt_column out.'
            raise self._conflict('corrupt_column without mode="PERMISSIVE"', suggestion)


class Json(Records, bodyFormat="json"):
    """JSON: an array of records, or another shape. This is the default.

    >>> Json("/data/items", mode="PERMISSIVE")
    rest.Json(mode='PERMISSIVE', pointer='/data/items')

    Args:
        mode: A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own
            (PERMISSIVE), or is dropped (DROPMALFORMED). Default: ``"FAILFAST"``.
        corrupt_column: STRING column for unparsable records; added if the schema lacks it. Default:
            ``"_corrupt_record"``.
        rescued_column: STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they
            are ignored.
        max_bytes: Maximum record size; a larger record is handled by mode. Unset: ``Http(max_response_bytes=…)``.
        encoding: Charset of responses, whatever their Content-Type declares. Unset: the declared one, else UTF-8.
        event_time_column: Event time column (TIMESTAMP, TIMESTAMP_NTZ or DATE), whose maximum is kept in the offsets
            and whose lag is reported.
        pointer: JSON Pointer to the array of records, or several with commas between them; one step may be an asterisk,
            for each element or field. Unset: the whole response.
        shape: What is at records: an array of records, one object, an object whose fields are records (map), or an
            array of rows, which are arrays of values. Default: ``"array"``.
        map_key_column: Column for the name of a record's field; added if the schema lacks it (``shape="map"``).
            Default: ``"_key"``.
        columns: JSON Pointer to the names of a row's values: texts, or objects with a field name. Unset: the schema's
            order (``shape="rows"``).
        path: JSON Pointer within each element to the record. Unset: the element.
        missing: Whether a response without the array of records, or with an empty body, fails or is an empty page.
            Default: ``"fail"``.
        error_pointer: JSON Pointer to an error in a successful response, which fails the query with its text; null,
            false, 0 and an empty value are none.
        ok_pointer: JSON Pointer to a flag in a successful response; if it is false, the response is an error.
        retry_errors: Errors at ``error_pointer`` after which the request is repeated, as after a status of
            ``Http(retry_statuses=…)``: whole texts, or texts in the object or array there.
        empty_errors: Errors at ``error_pointer`` that mean no records: the response is an empty page.
        require_columns: Whether a column, or a field of its structs, that is in none of the records that a task reads
            fails the query; if not, it is NULL, and logged. Lines of CSV have all fields. Not for continuous and
            real-time queries. Default: ``False``.
    """

    pointer: str | Sequence[str] | None = field(default=None, kw_only=False, metadata=of("records", POINTERS))
    shape: Shape | None = option("recordShape", one_of(Shape))
    map_key_column: str | None = option("mapKeyColumn", TEXT)
    columns: str | None = option("columns", POINTER)
    path: str | None = option("recordPath", POINTER)
    missing: Missing | None = option("missingRecords", one_of(Missing))
    error_pointer: str | None = option("errorPointer", POINTER)
    ok_pointer: str | None = option("okPointer", POINTER)
    retry_errors: Sequence[str] | None = option("retryErrors", NAMES)
    empty_errors: Sequence[str] | None = option("emptyErrors", NAMES)
    require_columns: bool | None = option("requireColumns", BOOLEAN)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.map_key_column is not None and self.shape != "map":
            raise self._conflict('map_key_column without shape="map"', 'Set shape="map", or leave map_key_column out.')
        if self.columns is not None and self.shape != "rows":
            raise self._conflict('columns without shape="rows"', 'Set shape="rows", or leave columns out.')


class Ndjson(Records, bodyFormat="ndjson"):
    """JSON with one record per line.

    >>> Ndjson()
    rest.Ndjson()

    Args:
        mode: A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own
            (PERMISSIVE), or is dropped (DROPMALFORMED). Default: ``"FAILFAST"``.
        corrupt_column: STRING column for unparsable records; added if the schema lacks it. Default:
            ``"_corrupt_record"``.
        rescued_column: STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they
            are ignored.
        max_bytes: Maximum record size; a larger record is handled by mode. Unset: ``Http(max_response_bytes=…)``.
        encoding: Charset of responses, whatever their Content-Type declares. Unset: the declared one, else UTF-8.
        event_time_column: Event time column (TIMESTAMP, TIMESTAMP_NTZ or DATE), whose maximum is kept in the offsets
            and whose lag is reported.
        require_columns: Whether a column, or a field of its structs, that is in none of the records that a task reads
            fails the query; if not, it is NULL, and logged. Lines of CSV have all fields. Not for continuous and
            real-time queries. Default: ``False``.
    """

    require_columns: bool | None = option("requireColumns", BOOLEAN)


class Csv(Records, bodyFormat="csv"):
    """CSV, with or without a header line.

    >>> Csv(sep=";", header=False)
    rest.Csv(sep=';', header=False)

    Args:
        mode: A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own
            (PERMISSIVE), or is dropped (DROPMALFORMED). Default: ``"FAILFAST"``.
        corrupt_column: STRING column for unparsable records; added if the schema lacks it. Default:
            ``"_corrupt_record"``.
        rescued_column: STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they
            are ignored.
        max_bytes: Maximum record size; a larger record is handled by mode. Unset: ``Http(max_response_bytes=…)``.
        encoding: Charset of responses, whatever their Content-Type declares. Unset: the declared one, else UTF-8.
        event_time_column: Event time column (TIMESTAMP, TIMESTAMP_NTZ or DATE), whose maximum is kept in the offsets
            and whose lag is reported.
        sep: Field separator of CSV. Default: ``","``.
        header: Whether each response's first line names the fields; if not, they follow the schema's order. Default:
            ``True``.
        null_value: Unquoted text that means NULL, as an empty field does.
    """

    sep: str | None = option("sep", TEXT)
    header: bool | None = option("header", BOOLEAN)
    null_value: str | None = option("nullValue", TEXT)


class Poll(Value):
    """Interval and size of a stream's polls for new records.

    >>> Poll(interval="30s")
    rest.Poll(interval='30s')

    Args:
        interval: Delay between polls at the end of the list. Unset: 1s, doubled up to 30s while polls find nothing
            (those answered by 304 do not count); always 1s in continuous and real-time queries. Time windows are polled
            at each trigger.
        conditional: Whether polls send the last ETag or Last-Modified, so that the API can answer 304. Default:
            ``True``.
        max_time: Maximum duration of a poll with a journal, in a stream; the next poll continues. Raise it for long
            trigger intervals. Default: ``"1m"``.
        max_bytes: Record bytes after which a poll with a journal ends, in a stream. Default: ``"128m"``.
        max_journal_bytes: Received bytes that may wait to be read in a continuous or real-time query; beyond it the
            list is not polled. Default: ``"1g"``.
    """

    interval: Duration | None = option("refreshInterval", DURATION)
    conditional: bool | None = option("conditionalRequests", BOOLEAN)
    max_time: Duration | None = option("maxPollTime", DURATION)
    max_bytes: Size | None = option("maxPollBytes", SIZE)
    max_journal_bytes: Size | None = option("maxJournalBytes", SIZE)


#: Values of ``records`` of ``epochal.read.rest``.
AnyRecords = Json | Ndjson | Csv
