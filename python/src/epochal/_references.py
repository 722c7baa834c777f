"""Replaces references to options in error texts by the arguments of the Python helpers.

The jar's texts refer to options as ``{option:pageSize=10}``. A message shows the name of the option; for a query that a
helper started it shows ``pages=rest.Offset(size=10)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import NamedTuple

from epochal._calls import Call
from epochal._declarations import Form
from epochal._values.kind import FAMILY, INFERENCE, SECRET, TEXT, Kind
from epochal._values.secret import SPELLED
from epochal._values.value import Value, option_of, shown

_REFERENCE = re.compile(r"\{(option|schema|trigger):([^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*|[^}]*)\}")


def in_python(text: str, calls: Sequence[Call]) -> str:
    """``Set {option:pageSize=10}`` → ``Set pages=rest.Offset(size=10)``.

    Args:
        calls: the first call that has an option decides how it is written; an option of no call keeps its own name.
    """
    by_option: dict[str, Spelling] = {}
    for call in reversed(calls):
        by_option |= spellings(call.form, call.kinds)

    def argument_of(match: re.Match[str]) -> str:
        kind, content = match.groups()
        if kind == "schema":
            return f'schema="{content}"'
        name, _, value = content.partition("=")
        if kind == "trigger":
            return f'trigger="{value or name}"'
        spelling = by_option.get(name)
        if spelling is None:
            return str(content)
        return spelling.with_value(value) if "=" in content else spelling.name

    return _REFERENCE.sub(argument_of, text)


class Spelling(NamedTuple):
    """How an option is written in Python.

    Attributes:
        name: the argument without its value.
        argument: the argument, with ``{}`` in place of its value.
        kind: type of the value; None where a class chooses the option's text.
        classes: that class, by the option's text.
    """

    name: str
    argument: str
    kind: Kind | None
    classes: Mapping[str, str] | None = None

    def with_value(self, value: str) -> str:
        """The argument with a value as Python writes it; ``link or next-url`` is converted choice by choice."""
        if self.classes is not None:
            values = [self.classes.get(one.lower(), f'"{one}"') for one in value.split(" or ")]
        elif self.kind is not None:
            values = [*map(self.kind.literal, value.split(" or ") if self.kind.choices else [value])]
        else:
            values = [value]
        return self.argument.format(" or ".join(values))


def spellings(form: Form, priority: Sequence[type[Value]] = ()) -> dict[str, Spelling]:
    """The spelling of each option of a helper.

    Args:
        given: classes of values that take precedence over others with the same option.
    """
    by_option: dict[str, Spelling] = {}
    for name, option in form.plain.items():
        if option.kind is not FAMILY:
            label = f"{name}={option.kind.example}" if option.kind is INFERENCE else name
            _add(by_option, option.name, label, f"{name}={{}}", option.kind)
    for name, kinds in form.values.items():
        names = _by_class(kinds)
        for kind in kinds:
            for class_option in kind._fixed:
                by_option.setdefault(class_option, Spelling(name, f"{name}={{}}", None, names))
        for kind in sorted(kinds, key=lambda kind: priority.index(kind) if kind in priority else len(priority)):
            _add_fields(by_option, kind, f"{name}={{}}", priority)
    return by_option


def _add_fields(by_option: dict[str, Spelling], kind: type[Value], outer: str, priority: Sequence[type[Value]]) -> None:
    for one in fields(kind):
        option = option_of(one)
        inner = outer.replace("{}", f"{shown(kind)}({one.name}={{}})")
        if option is None:
            if choice := one.metadata["chooses"]:
                classes = _by_class(one.metadata["part"])
                by_option.setdefault(choice, Spelling(f"{shown(kind)}({one.name}=…)", inner, None, classes))
            for part in one.metadata["part"]:
                if part in priority or not part._fixed:
                    _add_fields(by_option, part, inner, priority)
        elif option.kind is not FAMILY:
            _add(by_option, option.name, f"{shown(kind)}({one.name}=…)", inner, option.kind)


def _add(by_option: dict[str, Spelling], option: str, name: str, argument: str, kind: Kind) -> None:
    by_option.setdefault(option, Spelling(name, argument, kind))
    if kind is SECRET:
        for suffix, example in SPELLED.items():
            if suffix:
                name, place = (argument.format(example.replace('"…"', one)) for one in ('"…"', "{}"))
                by_option.setdefault(f"{option}{suffix}", Spelling(name, place, TEXT))


def _by_class(kinds: Sequence[type[Value]]) -> dict[str, str]:
    return {text: f"{shown(kind)}(…)" for kind in kinds for text in kind._fixed.values()}
