"""Generates the programs to paste."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from epochal._declarations import REST
from epochal._options import text
from epochal._values.secret import Secret
from epochal._values.value import Value, fields_of, shown
from epochal.tools.probe.credentials import Environ

_WIDTH = 110
_INDENT = "    "


def options(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The options of the jar, with ``$NAME`` in place of secrets."""
    return {name: f"${value}" if isinstance(value, Environ) else value for name, value in _options(arguments).items()}


def helper(arguments: Mapping[str, Any], schema: str, note: str = "") -> str:
    """The program that calls ``epochal.read.rest``.

    Args:
        arguments: those of ``epochal.read.rest``; None means unset.
        note: a comment on what is missing.
    """
    lines = ["spark", literal(arguments["url"])]
    lines += [f"{name}={source(value)}" for name, value in arguments.items() if name != "url" and value is not None]
    lines.append(f"schema={_long(schema)}")
    body = "".join(f"{_INDENT}{line},\n" for line in lines)
    call = f"records = epochal.read.rest(\n{_comment(note, _INDENT)}{body})\n"
    return f"{_imports(call)}\n{call}"


def plain(arguments: Mapping[str, Any], schema: str, note: str = "") -> str:
    """The program that sets options directly."""
    set_options = [f".option({literal(name)}, {source(value)})" for name, value in _options(arguments).items()]
    chain = ['spark.readStream.format("epochal-rest")', *set_options, f".schema({_long(schema)})", ".load()"]
    call = f"records = (\n{_comment(note, _INDENT)}" + "".join(f"{_INDENT}{line}\n" for line in chain) + ")\n"
    return f"{_imports(call, epochal=False)}{call}"


def literal(text: str) -> str:
    """A text as a Python literal on one line."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def source(value: Any) -> str:
    """A value as Python source."""
    if isinstance(value, Environ):
        return f"os.environ[{literal(value)}]"
    if isinstance(value, Secret):
        return re.sub(r"'([^'\\]*)'", r'"\1"', repr(value))
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {source(member)}" for name, member in value.items()) + "}"
    if isinstance(value, timedelta | os.PathLike):
        return literal(text(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(source(member) for member in value) + "]"
    return f"{shown(type(value))}({', '.join(_arguments(value))})" if isinstance(value, Value) else repr(value)


def _arguments(value: Value) -> Iterator[str]:
    for one in fields_of(type(value)):
        argument = getattr(value, one.name)
        if argument is not None:
            yield source(argument) if not one.kw_only else f"{one.name}={source(argument)}"


def _options(arguments: Mapping[str, Any]) -> dict[str, str]:
    return REST.options(arguments, None)


def _imports(call: str, *, epochal: bool = True) -> str:
    names = re.findall(r"\b(Budget|Http|Proxy|Retry|Secret|Tls|rest)[.(]", re.sub(r"epochal\.read\.rest", "", call))
    lines = ["import os\n\n"] if "os.environ[" in call else []
    if epochal:
        lines.append("import epochal\n")
        if names:
            lines.append(f"from epochal import {', '.join(sorted({*names}))}\n")
    return "".join(lines)


def _long(schema: str) -> str:
    """A long schema as several string literals, split between columns."""
    if len(schema) + 20 <= _WIDTH:
        return literal(schema)
    pieces, line = [], ""
    for part in re.split(r"(?<=, )", schema):
        if line and len(line) + len(part) > _WIDTH - 12:
            pieces.append(line)
            line = ""
        line += part
    pieces.append(line)
    return "(\n" + "".join(f"{_INDENT * 2}{literal(piece)}\n" for piece in pieces if piece) + f"{_INDENT})"


def _comment(note: str, indent: str) -> str:
    return f"{indent}# {note}\n" if note else ""
