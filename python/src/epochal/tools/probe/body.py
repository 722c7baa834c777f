"""Finds the records in a response: in JSON, NDJSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from epochal.errors import EpochalError, HttpError, RecordError
from epochal.tools.output import counted
from epochal.tools.probe import shapes
from epochal.tools.probe.address import Address
from epochal.tools.probe.client import LOOK, Response, one_line

Record = dict[str, Any]
Format = Literal["json", "ndjson", "csv"]

#: Names of arrays that accompany the records in a response.
_COMPANIONS = frozenset(
    [
        "aggregations",
        "columns",
        "errors",
        "facets",
        "failures",
        "fields",
        "included",
        "includes",
        "link",
        "links",
        "messages",
        "meta",
        "notices",
        "parameters",
        "warnings",
    ]
)
#: Usual names of the array of records, the likeliest first.
_USUAL_NAMES = ("data", "items", "results", "records", "value", "values", "entries", "entry", "rows", "hits", "list")
_SEPARATORS = ",;\t|"
_DEEPEST = 5
_LOGIN = re.compile(rb"type\s*=\s*[\"']?password|sign[ -]?in|log[ -]?in", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The format of a response.

    Attributes:
        pointer: JSON Pointer to the array of records, or to what has them.
        shape: what is there: an array of objects, rows of values, or an object of objects.
        columns: JSON Pointer to the names of a row's values.
        sep: separator of CSV fields.
        header: whether the first line of CSV is a header.
    """

    format: Format = "json"
    pointer: str = ""
    shape: Literal["array", "map", "rows"] = "array"
    columns: str = ""
    sep: str = ","
    header: bool = True

    @property
    def accept(self) -> str:
        """The ``Accept`` header that the jar sends for this format."""
        return {"json": "application/json", "ndjson": "application/x-ndjson", "csv": "text/csv"}[self.format]


@dataclass(frozen=True)
class Listing:
    """A response with its records.

    Attributes:
        outline: scalars around the records, by JSON Pointer.
        relations: addresses from an array of links, by relation.
        how: how the records were found.
        doubts: other possible interpretations.
        missing: whether there is nothing, or null, in place of the array of records, or an empty body.
    """

    response: Response
    layout: Layout
    records: tuple[Record, ...]
    outline: Mapping[str, Any] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    how: str = ""
    doubts: tuple[str, ...] = ()
    missing: bool = False

    @property
    def address(self) -> Address:
        return self.response.address

    @property
    def count(self) -> int:
        return len(self.records)


def read(response: Response, place: str) -> Listing:
    """Finds the records in the first response.

    Args:
        place: the address for messages.

    Raises:
        HttpError: the body cannot be parsed.
        RecordError: it has no records.
    """
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = response.body.strip()
    if not body:
        raise RecordError("RECORDS_NOT_FOUND", f"The response from {place} is empty.", _OTHER)
    if body[:1] == b"<":
        raise _markup(kind, body, place)
    if kind in ("text/csv", "application/csv", "text/tab-separated-values"):
        return _csv(response, place)
    try:
        document = _json(response.body)
    except ValueError as error:
        lines = _lines(response.body)
        if lines is not None:
            return Listing(response, Layout("ndjson"), tuple(lines), how=f"each of its {len(lines)} lines is an object")
        if kind in ("text/plain", "application/octet-stream", "") and b"\n" in body:
            return _csv(response, place)
        what = f" (its content type is {one_line(kind)})" if kind else ""
        reason = f"it is not JSON: {one_line(error)}{what}"
        problem = f"{place} responded with a body that cannot be read: {reason}."
        raise HttpError("HTTP_BODY_INVALID", problem, LOOK) from None
    if isinstance(document, dict) and re.search("ndjson|jsonl|json-seq", kind):
        return Listing(response, Layout("ndjson"), (document,), how=f"its content type is {one_line(kind)}")
    return _locate(response, document, place)


def read_like(response: Response, layout: Layout) -> Listing | None:
    """Reads another response in a known format; None if it is an error or has another format."""
    if response.status == 204:
        return Listing(response, layout, ())
    if layout.format == "json" and response.status in (200, 202) and not response.body.strip():
        return Listing(response, layout, (), missing=True)
    if response.status != 200:
        return None
    try:
        if layout.format == "ndjson":
            lines = _lines(response.body) if response.body.strip() else []
            return None if lines is None else Listing(response, layout, tuple(lines))
        if layout.format == "csv":
            return Listing(response, layout, tuple(_rows(response.body, layout)[0]))
        document = _json(response.body)
    except (ValueError, EpochalError):
        return None
    outline, relations = _around(document, layout.pointer)
    there = at(document, layout.pointer)
    if there is None and isinstance(document, dict):
        return Listing(response, layout, (), outline, relations, missing=True)
    if layout.shape == "map":
        there = shapes.keyed(there)
    elif layout.shape == "rows":
        there = shapes.named(there, shapes.columns(at(document, layout.columns)))
    if not isinstance(there, list) or not all(isinstance(one, dict) for one in there):
        return None
    return Listing(response, layout, tuple(there), outline, relations)


def at(value: Any, pointer: str) -> Any:
    """The value at a JSON Pointer; None if there is none."""
    for name in pointer.split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(name)] if name.isascii() and name.isdigit() and int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def step(pointer: str, name: str) -> str:
    """A JSON Pointer to a member of the value at another one."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def canonical(record: Any) -> str:
    """A text that is the same for equal JSON values."""
    return json.dumps(record, sort_keys=True, default=str)


def _json(body: bytes) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(body.decode(json.detect_encoding(body)), parse_float=Decimal, parse_constant=refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _lines(body: bytes) -> list[Record] | None:
    """The records of NDJSON; None if the body is not NDJSON."""
    records = []
    for line in body.split(b"\n"):
        if line.strip():
            try:
                record = _json(line)
            except ValueError:
                return None
            if not isinstance(record, dict):
                return None
            records.append(record)
    return records


def _locate(response: Response, document: Any, place: str) -> Listing:
    arrays = [(pointer, array) for pointer, array in _arrays(document) if all(isinstance(one, dict) for one in array)]
    full = [(pointer, array) for pointer, array in arrays if array]
    if all(_last(pointer) in _COMPANIONS for pointer, _ in full) and (other := _other_shape(response, document)):
        return other
    if not full:
        raise RecordError(
            "RECORDS_NOT_FOUND", f"The response from {place} {_why_no_records(document, arrays)}.", _OTHER
        )
    likely = [one for one in full if _last(one[0]) not in _COMPANIONS] or full
    pointer, array = min(likely, key=_likelihood)
    others = ", ".join(f"'{one}' ({counted(len(more), 'record')})" for one, more in likely if one != pointer)
    how = f"{'an' if others else 'the only'} array of objects; it has {counted(len(array), 'record')}"
    doubts = [f"The records may be in another array: {others}."] if others else []
    outline, relations = _around(document, pointer)
    if pointer and any(name.lower() in ("/id", "/_id", "/uuid") for name in outline):
        doubts.append(f"The response has an id beside '{pointer}': it may be one record with a list in it.")
    return Listing(response, Layout("json", pointer), tuple(array), outline, relations, how, tuple(doubts))


def _other_shape(response: Response, document: Any) -> Listing | None:
    """The records of a response that are in no array of objects."""
    if table := shapes.rows(list(_arrays(document))):
        pointer, columns, rows = table
        outline, relations = _around(document, pointer)
        how = f"an array of rows, whose values are named at '{columns}'; it has {counted(len(rows), 'row')}"
        layout = Layout("json", pointer, "rows", columns)
        return Listing(response, layout, tuple(rows), outline, relations, how) if rows else None
    if largest := max(shapes.maps(document), key=lambda one: len(one[1]), default=None):
        pointer, objects = largest
        outline, relations = _around(document, pointer)
        doubt = "The objects under names may be no records: an array of objects would be surer."
        how = f"{len(objects)} objects under names, with fields in common; the names are in the column {shapes.KEY}"
        records = shapes.keyed(objects) or []
        return Listing(response, Layout("json", pointer, "map"), tuple(records), outline, relations, how, (doubt,))
    return None


def _arrays(value: Any, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, list):
        yield pointer, value
    elif isinstance(value, dict) and depth < _DEEPEST:
        for name, member in value.items():
            yield from _arrays(member, step(pointer, name), depth + 1)


def _likelihood(one: tuple[str, list[Any]]) -> tuple[int, int, int]:
    pointer, array = one
    name = _last(pointer)
    return (_USUAL_NAMES.index(name) if name in _USUAL_NAMES else len(_USUAL_NAMES), pointer.count("/"), -len(array))


def _last(pointer: str) -> str:
    return pointer.rpartition("/")[2].lower()


def _why_no_records(document: Any, empty: list[tuple[str, list[Any]]]) -> str:
    if empty:
        return f"has an empty array at '{one_line(empty[0][0])}', and no other one, so nothing can be inferred"
    if isinstance(document, dict):
        names = ", ".join(one_line(name) for name in list(document)[:10])
        if document and all(isinstance(one, dict) for one in document.values()):
            return f"has objects under names ({names}), and no array of objects"
        return f"is an object without an array of objects; its fields are {names or 'none'}"
    if isinstance(document, list):
        return f"is an array of {type(document[0]).__name__}, and not of objects"
    return f"is {type(document).__name__}, and no array of objects"


def _around(document: Any, records: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The scalars around the records by JSON Pointer, and the addresses of an array of links by relation."""
    outline, relations = dict[str, Any](), dict[str, str]()

    def walk(value: Any, pointer: str, depth: int) -> None:
        if pointer == records or len(outline) > 1000:
            return
        if isinstance(value, dict) and depth <= _DEEPEST:
            for name, member in value.items():
                walk(member, step(pointer, name), depth + 1)
        elif isinstance(value, list) and _last(pointer) in ("link", "links"):
            for link in value:
                if isinstance(link, dict) and isinstance(link.get("rel", link.get("relation")), str):
                    relations[str(link.get("rel", link.get("relation")))] = str(link.get("href", link.get("url", "")))
        elif not isinstance(value, dict | list):
            outline[pointer] = value

    if isinstance(document, dict):
        walk(document, "", 0)
    return outline, relations


def _csv(response: Response, place: str) -> Listing:
    try:
        layout, how, doubts = _csv_layout(response)
        records, more = _rows(response.body, layout)
    except ValueError as error:
        problem = f"{place} responded with a body that cannot be read: it is not CSV: {one_line(error)}."
        raise HttpError("HTTP_BODY_INVALID", problem, LOOK) from None
    if not records:
        raise RecordError("RECORDS_NOT_FOUND", f"The response from {place} is CSV without records.", _OTHER)
    return Listing(response, layout, tuple(records), how=how, doubts=(*doubts, *more))


def _csv_layout(response: Response) -> tuple[Layout, str, list[str]]:
    text = response.body.decode("utf-8-sig")
    kind = response.headers.get("content-type", "").lower()
    widths = {sep: width for sep in _SEPARATORS if (width := _width(text, sep)) > 1}
    if not widths and not ("csv" in kind and _width(text, ",") == 1 and not set(text) & set(_SEPARATORS)):
        raise ValueError("its lines have different numbers of fields, or one only")
    sep = max(widths, key=lambda one: widths[one], default=",")
    first, *rest = _csv_lines(text, sep)
    how = f"lines of {first.count} fields each, separated by {sep!r}"
    if parameter := re.search(r"header\s*=\s*(present|absent)", kind):
        return (
            Layout("csv", sep=sep, header=parameter[1] == "present"),
            f"{how}; its content type says header={parameter[1]}",
            [],
        )
    if any(_is_number(cell) for cell in first):
        return Layout("csv", sep=sep, header=False), f"{how}; the first line has a number, and so is a record", []
    doubts = []
    if not any(_is_number(cell) for row in rest for cell in row):
        doubts.append("The first line of the CSV is taken for names; all fields are texts, so it may be a record.")
    return Layout("csv", sep=sep), f"{how}; the first line has names", doubts


def _width(text: str, sep: str) -> int:
    """The number of fields per line; 0 if it differs between lines."""
    try:
        widths = {len(row) for row in _csv_lines(text, sep)}
    except ValueError:
        return 0
    return widths.pop() if len(widths) == 1 else 0


def _rows(body: bytes, layout: Layout) -> tuple[list[Record], list[str]]:
    """The records of CSV, and doubts about their field names."""
    rows = list(_csv_lines(body.decode("utf-8-sig"), layout.sep))
    if not rows:
        return [], []
    names = rows.pop(0) if layout.header else [f"_c{index}" for index in range(len(rows[0]))]
    if any(len(row) != len(names) for row in rows):
        raise ValueError("its lines have different numbers of fields")
    twice = sorted({name for name in names if names.count(name) > 1 or not name})
    indexes = [index for index, name in enumerate(names) if name not in twice]
    doubts = [f"The CSV names several fields {name!r}: they have no column." for name in twice]
    return [{names[index]: row[index] or None for index in indexes} for row in rows], doubts


def _csv_lines(text: str, sep: str) -> Iterator[list[str]]:
    try:
        yield from (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep, strict=True) if row)
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", cell.strip()) is not None


def _markup(kind: str, body: bytes, place: str) -> HttpError:
    title = re.search(rb"<title[^>]*>(.*?)</title>", body[:20000], re.IGNORECASE | re.DOTALL)
    title_clause = f" titled '{one_line(title[1].decode('utf-8', 'replace'))}'" if title else ""
    if "html" not in kind and b"<html" not in body[:2000].lower():
        problem = f"{place} responded with XML, which Epochal does not read."
        return HttpError("HTTP_BODY_INVALID", problem, 'Ask for JSON or CSV: headers={"Accept": "application/json"}.')
    hint = "Check the path: this address is for browsers. The API may have another host, or a path like /api."
    if _LOGIN.search(body[:200000]):
        hint = "It looks like a login page: set credentials with auth (--auth on the command line). " + hint
    return HttpError(
        "HTTP_BODY_INVALID", f"{place} responded with an HTML page{title_clause} instead of records.", hint
    )


_OTHER = "Pass the address of a list of objects that is not empty, with the API's parameters in url or params."
