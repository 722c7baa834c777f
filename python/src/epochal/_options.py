"""Converts Python values to the texts of options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta, timezone

#: A duration: ``timedelta``, or a text such as ``"500ms"`` or ``"30 seconds"``.
Duration = timedelta | str

#: A size: bytes, or a text such as ``"64m"`` (powers of 1024).
Size = int | str

#: A path or URI, on the local file system or any that Spark supports.
Location = str | os.PathLike[str]

#: HTTP statuses: numbers and classes such as ``[429, "5xx"]``, or the same as a comma-separated text.
Statuses = Iterable[int | str] | str

#: Values of ``options={…}``; ``int`` includes ``bool``, and ``date`` includes ``datetime``.
OptionValue = str | int | float | timedelta | date | os.PathLike[str] | Mapping[str, str] | Iterable[int | str]


def text(value: OptionValue) -> str:
    """The option text for a Python value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        return f"{milliseconds(value)}ms"
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        return ",".join(f"{_name(str(left), ',:')}:{_name(str(right), ',:')}" for left, right in value.items())
    return ",".join(_name(str(name), ",") for name in value)


def _name(name: str, separators: str) -> str:
    """Quotes a name if it contains a separator or could be read as quoted."""
    plain = name and name == name.strip() and not name.startswith('"') and not any(c in name for c in separators)
    return name if plain else '"{}"'.format(name.replace('"', '""'))


def milliseconds(value: timedelta) -> int:
    """Whole milliseconds, rounded up.

    Raises:
        ValueError: the duration is negative.
    """
    if value < timedelta(0):
        raise ValueError(f"a duration cannot be negative: {value}")
    return -(-value // timedelta(milliseconds=1))


def instant(value: datetime) -> str:
    """ISO 8601 in UTC; a ``datetime`` without a zone is local time."""
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
