"""Columns as text, made by Spark: what it prints for a value is right for every type, in the session's time zone.

Python's own values would not do: a year above 9999 and an interval have none, a timestamp loses its zone, and a large
number loses digits in a browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from epochal.tools.display.snapshot import Column

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

#: Characters of a cell; the rest is cut.
LONGEST = 500

_JSON = ("array", "map", "struct", "variant")


def columns(schema: StructType) -> tuple[Column, ...]:
    """The heads of a table."""
    from pyspark.sql.types import NumericType

    return tuple(
        Column(
            name=one.name,
            kind=_shortened(one.dataType.simpleString(), 60),
            is_number=isinstance(one.dataType, NumericType),
        )
        for one in schema.fields
    )


def names(schema: StructType) -> list[str]:
    """Names for the columns by their place, whatever they are called."""
    return [f"c{place}" for place in range(len(schema.fields))]


def expressions(schema: StructType) -> list[str]:
    """SQL for each column under its name of :func:`names`: a text of one character too many where it is too long."""
    return [
        f"left({as_text(name, one.dataType)}, {LONGEST + 1})"
        for name, one in zip(names(schema), schema.fields, strict=True)
    ]


def as_text(expression: str, kind: DataType) -> str:
    """SQL for a value as text."""
    name = kind.typeName()
    if name == "binary":
        return f"concat('0x', hex(substring({expression}, 1, {LONGEST})))"
    if name in _JSON:
        return f"to_json({expression}, map('ignoreNullFields', 'false'))"
    return f"CAST({expression} AS STRING)"


def cell(text: str | None) -> str | None:
    """A value of :func:`expressions` as it is shown."""
    return None if text is None else _shortened(text, LONGEST)


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "…"
