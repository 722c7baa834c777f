"""Response formats and polling: values of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Size
from epochal._values.kind import CHARSET, COLUMNS, POINTER, POINTERS
from epochal._values.value import Value, of, option

Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
Missing = Literal["fail", "empty"]
Shape = Literal["array", "object", "map", "rows"]


class Records(Value):
    """Base class of response formats."""

    mode: Mode | None = option("mode")
    corrupt_column: str | None = option("columnNameOfCorruptRecord")
    rescued_column: str | None = option("rescuedDataColumn")
    max_bytes: Size | None = option("maxRecordBytes")
    encoding: str | None = option("encoding", CHARSET)
    event_time_column: str | None = option("eventTimeColumn")
    metadata_columns: Sequence[str] | None = option("metadataColumns", COLUMNS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corrupt_column is not None and self.mode != "PERMISSIVE":
            suggestion = 'Set mode="PERMISSIVE", or leave corrupt_column out.'
            raise self._conflict('corrupt_column without mode="PERMISSIVE"', suggestion)


class Json(Records, bodyFormat="json"):
    """JSON: an array of records, or another shape. This is the default.

    >>> Json("/data/items", mode="PERMISSIVE")
    rest.Json(pointer='/data/items', mode='PERMISSIVE')
    """

    pointer: str | Sequence[str] | None = field(default=None, kw_only=False, metadata=of("records", POINTERS))
    shape: Shape | None = option("recordShape")
    map_key_column: str | None = option("mapKeyColumn")
    columns: str | None = option("columns", POINTER)
    path: str | None = option("recordPath", POINTER)
    missing: Missing | None = option("missingRecords")
    error_pointer: str | None = option("errorPointer", POINTER)
    ok_pointer: str | None = option("okPointer", POINTER)
    retry_errors: Sequence[str] | None = option("retryErrors")
    empty_errors: Sequence[str] | None = option("emptyErrors")
    require_columns: bool | None = option("requireColumns")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.map_key_column is not None and self.shape != "map":
            raise self._conflict('map_key_column without shape="map"', 'Set shape="map", or leave map_key_column out.')
        if self.columns is not None and self.shape != "rows":
            raise self._conflict('columns without shape="rows"', 'Set shape="rows", or leave columns out.')


class Ndjson(Records, bodyFormat="ndjson"):
    """JSON with one record per line."""

    require_columns: bool | None = option("requireColumns")


class Csv(Records, bodyFormat="csv"):
    """CSV, with or without a header line."""

    sep: str | None = option("sep")
    header: bool | None = option("header")
    null_value: str | None = option("nullValue")


#: Values of ``records`` of ``epochal.read.rest``.
AnyRecords = Json | Ndjson | Csv
