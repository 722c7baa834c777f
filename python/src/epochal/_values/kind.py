"""Types of fields, as the jar declares them for its options."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce
from operator import or_
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.secret import Secret

_AMOUNT = re.compile(r"\s*\d+\s*([A-Za-z]*)\s*")
_TIMES = re.compile(r"ms|millis(?:econd)?s?|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?", re.IGNORECASE)
_SIZES = re.compile(r"|b|[kmg](?:i?b)?", re.IGNORECASE)
_STATUS = re.compile(r"[3-5](?:\d\d|xx)")


@dataclass(frozen=True)
class Kind:
    """The type of a field.

    Attributes:
        declared: name of the type in the jar's declaration of the option.
        expected: description that completes "which is not …".
        example: a value, as Python source.
        choices: the valid values of an enumeration; empty for other types.
    """

    declared: str
    expected: str
    example: str
    fits: Callable[[Any], bool]
    choices: tuple[str, ...] = ()

    def nearest(self, value: object) -> str:
        """The choice closest to a misspelt value, else the example."""
        if self.choices and isinstance(value, str):
            close = difflib.get_close_matches(value.lower(), [choice.lower() for choice in self.choices], 1)
            if close:
                return next(f'"{choice}"' for choice in self.choices if choice.lower() == close[0])
        return self.example

    def literal(self, text: str) -> str:
        """An option's text as a Python literal."""
        if self is INFERENCE:
            return self.example
        if self.declared == "boolean" and text in ("true", "false"):
            return text.capitalize()
        if self.declared in ("int", "long", "number"):
            return text
        if self.declared.partition(" ")[0] == "names":
            return "[" + ", ".join(f'"{name}"' for name in text.split(",")) + "]"
        if self.declared == "pairs of names" and all(":" in pair for pair in text.split(",")):
            return "{" + ", ".join('"{}": "{}"'.format(*pair.split(":", 1)) for pair in text.split(",")) + "}"
        return f'"{text}"'


def whole(least: int = 1, declared: str = "int") -> Kind:
    """A whole number."""
    return Kind(
        declared,
        f"a whole number of at least {least}",
        str(max(least, 1)),
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
    )


def one_of(literal: Any) -> Kind:
    """One of the values of a ``Literal``."""
    words = get_args(literal)
    return Kind("string", f"one of {', '.join(words)}", f'"{words[0]}"', lambda value: value in words, words)


def _duration(value: object) -> bool:
    return value >= timedelta(0) if isinstance(value, timedelta) else _has_unit(value, _TIMES)


def _size(value: object) -> bool:
    return value > 0 if isinstance(value, int) and not isinstance(value, bool) else _has_unit(value, _SIZES)


def _has_unit(value: object, units: re.Pattern[str]) -> bool:
    match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    return match is not None and units.fullmatch(match[1]) is not None


def _statuses(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() == "none" or _statuses(value.split(","))
    return isinstance(value, Iterable) and all(_STATUS.fullmatch(str(one).strip().lower()) for one in value)


def _names(value: object) -> bool:
    listed = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    return listed and bool(value) and all(isinstance(name, str) and name for name in value)  # type: ignore[attr-defined]


def _texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair)


TEXT = Kind("string", "a text that is not empty", '"text"', lambda value: isinstance(value, str) and value != "")
TABLE = Kind("table name", TEXT.expected, '"schema.table"', TEXT.fits)
TABLES = Kind(
    "table names",
    "a table's name, or a list of names",
    '["public.orders", "public.items"]',
    lambda value: TEXT.fits(value) or _names(value),
)
POINTER = Kind(
    "JSON Pointer",
    "a JSON Pointer (empty, or starting with /)",
    '"/data/items"',
    lambda value: isinstance(value, str) and (value == "" or value.startswith("/")),
)
POINTERS = Kind(
    "JSON Pointers",
    "a JSON Pointer (empty, or starting with /), or a list of them",
    POINTER.example,
    lambda value: POINTER.fits(value) or (_names(value) and all(map(POINTER.fits, value))),
)
PLACE = Kind("string", "a path", '"/data"', lambda value: isinstance(value, str | os.PathLike) and bool(str(value)))
BOOLEAN = Kind("boolean", "True or False", "True", lambda value: isinstance(value, bool))
NUMBER = Kind(
    "number",
    "a number above 0",
    "5",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"),
)
DURATION = Kind("duration", 'a timedelta, or a text such as "500ms" or "30 seconds"', '"30s"', _duration)
ON_NEW_QUERY = Kind("fail/replace/append:ids", TEXT.expected, '"append:5b3c9f0e"', TEXT.fits)
ON_LEDGER_EMPTY = Kind("fail/write:epoch/skip:epoch", TEXT.expected, '"skip:17"', TEXT.fits)
LOG_POSITION = Kind(
    "initial/latest/position",
    "initial, latest or a log position",
    '"latest"',
    lambda value: isinstance(value, str) and bool(value),
)
SIZE = Kind("bytes", 'a number of bytes, or a text such as "64m"', '"64m"', _size)
COLUMNS = Kind(
    "names of _url/_status/_fetchedAt/_headers/_params", "a list of names", '["_url"]', lambda value: _names(value)
)
NAMES = Kind("names", "a list of names", '["id"]', _names)
FIELDS = Kind(
    "fields",
    'a dict of JSON Pointers by name, such as {"owner": "/owner/login"}',
    '{"owner": "/owner/login"}',
    lambda value: _texts(value) and bool(value) and all(one.startswith("/") for one in value.values()),
)
PAIRS = Kind("pairs of names", "a dict of names", '{"id": "comment_id"}', _texts)
STATUSES = Kind("statuses", 'a list of statuses from 300 on, such as [429, "5xx"]', '[429, "5xx"]', _statuses)
INSTANT = Kind(
    "instant",
    "a datetime, or a moment in UTC (ISO 8601)",
    '"2026-01-01T00:00:00Z"',
    lambda value: isinstance(value, datetime) or (isinstance(value, str) and value != ""),
)
START = Kind("string", "a datetime, or a text that is not empty", INSTANT.example, INSTANT.fits)
BOUND = Kind(
    "bound",
    "a number, a date, a datetime, or one of these as a text",
    "0",
    lambda value: isinstance(value, int | date | str) and not isinstance(value, bool) and value != "",
)
CHARSET = Kind("charset", TEXT.expected, '"ISO-8859-1"', TEXT.fits)
JSON = Kind("string", "a dict that is a JSON object", '{"owner": "apache"}', lambda value: isinstance(value, Mapping))
ROWS = Kind(
    "string",
    "a list of dicts, or the same as JSON in a text or a file",
    '[{"repo": "a"}, {"repo": "b"}]',
    lambda value: (
        TEXT.fits(value)
        or (isinstance(value, Sequence) and bool(value) and all(isinstance(row, Mapping) for row in value))
    ),
)
#: ``schema="infer"``.
INFERENCE = Kind("boolean", "a schema", '"infer"', lambda value: value == "infer")
FAMILY = Kind("string", "a dict of texts", '{"name": "value"}', _texts)
SECRET = Kind(
    "string",
    "a Secret, or a text that is not empty",
    'Secret.env("NAME")',
    lambda value: isinstance(value, Secret) or (isinstance(value, str) and value != ""),
)

#: The kinds of annotations.
_BY_TYPE: dict[Any, Kind] = {
    str: TEXT,
    int: whole(),
    float: NUMBER,
    bool: BOOLEAN,
    Duration: DURATION,
    Size: SIZE,
    Location: PLACE,
    Statuses: STATUSES,
    Secret | str: SECRET,
    Sequence[str]: NAMES,
    Mapping[str, str]: FAMILY,
}


def of_annotation(annotation: Any) -> Kind | None:
    """The kind of a field or parameter, by its type without None; None if the type is not that of an option."""
    if get_origin(annotation) is Literal:
        return one_of(annotation)
    parts = [part for part in get_args(annotation) if part is not NoneType]
    if len(parts) < len(get_args(annotation)):
        return of_annotation(reduce(or_, parts))
    return _BY_TYPE.get(annotation)
