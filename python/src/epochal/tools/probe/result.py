"""The result of a probe, for people and for programs."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from epochal.tools.output import as_json, counted

#: ``tested``: verified with a request; ``seen``: occurs in a response, but was not verified.
Certainty = Literal["tested", "seen"]

_WIDTH = 110


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding of a probe.

    Args:
        name: subject, such as ``"records"``, ``"pages"`` or ``"order"``.
        value: the finding.
        how: the evidence.
        certainty: ``"tested"`` if a request has verified it, ``"seen"`` if it only occurs in a response.
    """

    name: str
    value: str
    how: str
    certainty: Certainty = "seen"


@dataclass(frozen=True, kw_only=True, repr=False)
class Probe:
    """The result of ``rest.probe``. ``print`` shows all of it.

    Args:
        url: the address, without secrets.
        requests: number of requests made.
        complete: whether ``call`` reads the whole list, as far as is known; if not, ``unknown`` has the reason.
        findings: the findings, with their evidence.
        doubts: where the API may differ from the sample.
        unknown: what the probe could not find out.
        schema: the columns of the records seen, as DDL.
        options: the options of ``format("epochal-rest")``, with environment variables (``$NAME``) in place of secrets.
        call: a program that calls ``epochal.read.rest``, for a session ``spark``.
        plain: the same program with only ``format("epochal-rest")`` and options.
    """

    url: str
    requests: int
    complete: bool
    findings: tuple[Finding, ...]
    doubts: tuple[str, ...]
    unknown: tuple[str, ...]
    schema: str
    options: Mapping[str, str] = field(hash=False)
    call: str
    plain: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    def find(self, name: str) -> Finding | None:
        """The finding with a name; None if there is none."""
        return next((one for one in self.findings if one.name == name), None)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON types."""
        values: dict[str, Any] = as_json(self)
        return values | {"options": dict(self.options)}

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return partial(Probe, **{**fields, "options": dict(self.options)}), ()

    def __repr__(self) -> str:
        parts = [f"{one.name.replace(' ', '_')}={one.value!r}" for one in self.findings if one.name in _IN_SHORT]
        fields = ", ".join([repr(self.url), *parts, f"complete={self.complete}", f"requests={self.requests}"])
        return f"rest.Probe({fields})"

    def __str__(self) -> str:
        parts = [f"{self.url}: {counted(self.requests, 'request')}", _table(self.findings)]
        parts += [_list(title, lines) for title, lines in self._lists() if lines]
        parts += [f"# Python\n{self.call}".rstrip(), f"# Spark alone\n{self.plain}".rstrip()]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("Doubts", self.doubts), ("Not found out", self.unknown)


_IN_SHORT = ("records", "pages", "total", "order")


def _table(findings: tuple[Finding, ...]) -> str:
    width = max((len(one.name) for one in findings), default=0)
    lines = []
    for one in findings:
        lines.append(f"{one.name:<{width}}  {one.value}")
        lines += _wrap(f"{one.certainty}: {one.how}", " " * (width + 4))
    return "\n".join(lines)


def _list(title: str, lines: tuple[str, ...]) -> str:
    return "\n".join([title, *(line for text in lines for line in _wrap(text, "    ", "  - "))])


def _wrap(text: str, indent: str, first: str | None = None) -> list[str]:
    before = indent if first is None else first
    return textwrap.wrap(
        text, _WIDTH, initial_indent=before, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
