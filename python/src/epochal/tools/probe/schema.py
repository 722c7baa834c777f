"""Infers a schema from the records seen, as DDL with a list of doubts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from epochal.tools.output import counted
from epochal.tools.probe.body import Record
from epochal.tools.probe.client import one_line

#: Maximum number of records in the sample.
MOST = 1000
_DEEPEST = 8
_MAX_NAMES = 200

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_DECIMAL = re.compile(r"[+-]?\d+\.\d+([eE][+-]?\d{1,3})?")
#: Numbers with a fraction or an exponent, also in other notations than JSON's.
_NUMBER = re.compile(r"[+-]?(\d*[.,]?\d+|\d{1,3}(,\d{3})+\.\d+|\d{1,3}(\.\d{3})+,\d+)([eE][+-]?\d{1,3})?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?")
#: Dates and times in other texts than those that DATE and TIMESTAMP read.
_MOMENT = re.compile(
    r"\d{4}([./-])\d{1,2}\1\d{1,2}([T ].*)?|\d{1,2}([./-])\d{1,2}\3\d{4}([T, ].*)?"
    r"|([A-Z][a-z]+,? )?(\d{1,2}[ -][A-Z][a-z]{2,8}|[A-Z][a-z]{2,8} \d{1,2}),?[ -]\d{4}( .*)?"
)
_DATA_NAME = re.compile(r"\d+|\d{4}-\d\d-\d\d.*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{24,}")
_EPOCH_NAME = re.compile(r"creat|updat|modif|time|date|_at$|At$|^ts$|expir", re.IGNORECASE)


@dataclass(frozen=True)
class Schema:
    """An inferred schema.

    Attributes:
        columns: names of the columns, and types as DDL.
        doubts: points that the sample leaves open.
    """

    columns: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...]

    @property
    def ddl(self) -> str:
        return ", ".join(f"{quoted(name)} {kind}" for name, kind in self.columns)


def infer(records: Sequence[Record], *, texts: bool) -> Schema:
    """Infers the schema of a sample.

    Args:
        records: the sample; at least one record.
        texts: whether all values are texts (CSV), so that numbers are parsed from them.
    """
    doubts: list[str] = []
    columns = list(_columns(records[:MOST], "", doubts, texts=texts, depth=0))
    return Schema(tuple(columns), tuple(doubts))


def quoted(name: str) -> str:
    """A column name in DDL, quoted if needed."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`{}`".format(name.replace("`", "``"))


def _columns(
    records: Sequence[Record], path: str, doubts: list[str], *, texts: bool, depth: int
) -> Iterator[tuple[str, str]]:
    names = list(dict.fromkeys(name for record in records for name in record))
    spellings: dict[str, str] = {}
    for name in names[:_MAX_NAMES]:
        where = f"{path}.{one_line(name)}" if path else one_line(name)
        if name.lower() in spellings:
            other = one_line(spellings[name.lower()])
            doubts.append(f"{where}: Spark does not distinguish its name from '{other}'; it has no column.")
            continue
        spellings[name.lower()] = name
        yield name, _type([record.get(name) for record in records], where, doubts, texts=texts, depth=depth)
    if len(names) > _MAX_NAMES:
        doubts.append(f"{path or 'A record'}: {len(names)} names were seen; the first {_MAX_NAMES} have columns.")


def _type(values: list[Any], where: str, doubts: list[str], *, texts: bool, depth: int) -> str:
    present = [value for value in values if value is not None]
    kinds = {_kind(value) for value in present}
    if not present:
        doubts.append(
            f"{where}: only null in {counted(len(values), 'record')}; its type is unknown, STRING accepts any."
        )
        return "STRING"
    if kinds <= {"whole number", "number"}:
        return _number(present, where, doubts)
    if len(kinds) > 1:
        doubts.append(f"{where}: mixed types ({', '.join(sorted(kinds))}); STRING reads each as JSON text.")
        return "STRING"
    (kind,) = kinds
    if kind == "text":
        return _text(present, where, doubts, texts=texts)
    if kind == "array":
        return _array(present, where, doubts, depth)
    return "BOOLEAN" if kind == "boolean" else _object(present, where, doubts, depth)


def _kind(value: Any) -> str:
    kinds = ((bool, "boolean"), (int, "whole number"), (Decimal, "number"), (str, "text"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def _number(values: list[Any], where: str, doubts: list[str]) -> str:
    if all(isinstance(value, int) for value in values):
        largest = max(abs(value) for value in values)
        if largest >= 2**63:
            digits = len(str(largest))
            doubts.append(f"{where}: numbers of {digits} digits do not fit BIGINT.")
            return "DECIMAL(38,0)" if digits <= 38 else "STRING"
        if largest > 2**53:
            doubts.append(f"{where}: numbers above 2^53, which clients in JavaScript round; BIGINT keeps them.")
        if moment := _epoch(values, where):
            doubts.append(f"{where}: looks like {moment} since 1970; BIGINT keeps the number.")
        return "BIGINT"
    exact = [value for value in values if isinstance(value, Decimal)]
    if any(abs(value.adjusted()) > 307 for value in exact if value):
        doubts.append(f"{where}: numbers that are too large or too small for DOUBLE; STRING keeps them.")
        return "STRING"
    if any(len(value.as_tuple().digits) > 15 for value in exact) or any(
        abs(value) > 2**53 for value in values if isinstance(value, int)
    ):
        doubts.append(f"{where}: numbers of more than 15 digits; DOUBLE rounds them, DECIMAL(38,…) would keep them.")
    return "DOUBLE"


def _epoch(values: list[int], where: str) -> str:
    name = where.rpartition(".")[2]
    low, high = min(values), max(values)
    if not _EPOCH_NAME.search(name):
        return ""
    if low >= 600_000_000 and high < 5_000_000_000:
        return "seconds"
    return "milliseconds" if low >= 600_000_000_000 and high < 5_000_000_000_000 else ""


def _text(values: list[str], where: str, doubts: list[str], *, texts: bool) -> str:
    if all(re.fullmatch(r"[+-]?\d+", value) for value in values):
        return _digits(values, where, doubts, texts=texts)
    if texts and all(_INTEGER.fullmatch(value) or _DECIMAL.fullmatch(value) for value in values):
        return "DOUBLE"
    if texts and all(value in ("true", "false") for value in values):
        return "BOOLEAN"
    if all(_DATE.fullmatch(value) and _is_moment(value) for value in values):
        return "DATE"
    moments = [_TIMESTAMP.fullmatch(value) for value in values]
    matches = [match for match in moments if match and _is_moment(match[1])]
    if len(matches) < len(values):
        if what := _meaning(values):
            doubts.append(f"{where}: {what}, as texts; STRING keeps them as they are.")
        return "STRING"
    if len({bool(match[3]) for match in matches}) > 1 or not matches[0][3]:
        doubts.append(f"{where}: timestamps without a time zone; TIMESTAMP would read them in that of the session.")
        return "STRING"
    if any(match[2] and len(match[2]) > 7 for match in matches):
        doubts.append(f"{where}: timestamps with more than microseconds, which TIMESTAMP would cut off.")
        return "STRING"
    return "TIMESTAMP"


def _digits(values: list[str], where: str, doubts: list[str], *, texts: bool) -> str:
    leading = any(re.match(r"[+-]?0\d", value) for value in values)
    longest = max(len(value.lstrip("+-")) for value in values)
    if texts and not leading and longest <= 18:
        return "BIGINT"
    why = "with leading zeros" if leading else f"of up to {longest} digits"
    doubts.append(f"{where}: numbers {why}, as texts; STRING keeps them as they are.")
    return "STRING"


def _meaning(values: list[str]) -> str:
    """The meaning of texts that have no type of their own; empty if they are just texts."""
    if all(_NUMBER.fullmatch(value) for value in values):
        return "numbers with a fraction or an exponent"
    if all(_MOMENT.fullmatch(value) for value in values):
        return "dates or times in another form than 2026-01-31 and 2026-01-31T10:00:00Z"
    return "true and false" if all(value.lower() in ("true", "false") for value in values) else ""


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _array(arrays: list[list[Any]], where: str, doubts: list[str], depth: int) -> str:
    members = [member for array in arrays for member in array][:MOST]
    if not members:
        doubts.append(f"{where}: only empty arrays; the type of their elements is unknown.")
        return "ARRAY<STRING>"
    if depth >= _DEEPEST:
        return _too_deep(where, doubts)
    return f"ARRAY<{_type(members, f'{where}[]', doubts, texts=False, depth=depth + 1)}>"


def _object(records: list[Record], where: str, doubts: list[str], depth: int) -> str:
    names = {name for record in records for name in record}
    if not names:
        doubts.append(f"{where}: only empty objects; their fields are unknown, STRING accepts any.")
        return "STRING"
    if depth >= _DEEPEST:
        return _too_deep(where, doubts)
    if all(_DATA_NAME.fullmatch(name) for name in names):
        doubts.append(f"{where}: its names look like data ({counted(len(names), 'name')}); it is read as a map.")
        members = [member for record in records for member in record.values()][:MOST]
        return f"MAP<STRING, {_type(members, f'{where}{{}}', doubts, texts=False, depth=depth + 1)}>"
    columns = _columns(records, where, doubts, texts=False, depth=depth + 1)
    return f"STRUCT<{', '.join(f'{quoted(name)}: {kind}' for name, kind in columns)}>"


def _too_deep(where: str, doubts: list[str]) -> str:
    doubts.append(f"{where}: nested too deeply to infer; STRING reads it as JSON text.")
    return "STRING"
