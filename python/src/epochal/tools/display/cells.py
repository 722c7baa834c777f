"""Columns as text that Spark formats, which is correct for every type and in the session's time zone.

Python values would not be: years above 9999 and intervals have none, timestamps lose their zone, and large numbers lose
digits in a browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from epochal.tools.display.snapshot import Column

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

#: Maximum number of characters in a cell.
LONGEST = 500

_JSON = ("array", "map", "struct", "variant")
_PLACES = ("geometry", "geography")


def columns(schema: StructType) -> tuple[Column, ...]:
    """The columns of a table."""
    from pyspark.sql.types import NumericType

    return tuple(
        Column(
            name=one.name,
            kind=_shorten(one.dataType.simpleString(), 60),
            is_number=isinstance(one.dataType, NumericType),
        )
        for one in schema.fields
    )


def names(schema: StructType) -> list[str]:
    """Positional names for the columns, independent of their own names."""
    return [f"c{place}" for place in range(len(schema.fields))]


def expressions(schema: StructType) -> list[str]:
    """SQL for each column as text, named by :func:`names`, and cut to one character more than a cell shows."""
    return [
        f"left({as_text(name, one.dataType)}, {LONGEST + 1})"
        for name, one in zip(names(schema), schema.fields, strict=True)
    ]


def as_text(expression: str, kind: DataType) -> str:
    """SQL that converts a value to text."""
    name = kind.typeName()
    if name in _PLACES:  # Spark casts them to no other type.
        expression, name = f"ST_AsBinary({expression})", "binary"
    if name == "binary":
        return f"concat('0x', hex(substring({expression}, 1, {LONGEST})))"
    if name in _JSON:
        return f"to_json({expression}, map('ignoreNullFields', 'false'))"
    return f"CAST({expression} AS STRING)"


def cell(text: str | None) -> str | None:
    """The cell for a value of :func:`expressions`."""
    return None if text is None else _shorten(text, LONGEST)


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "…"
