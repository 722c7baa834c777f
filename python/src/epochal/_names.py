"""Options in the texts of errors, as somebody who uses the helpers writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from typing import Any, NamedTuple

from epochal._form import Form
from epochal._forms import FORMS
from epochal._values.kind import FAMILY, SECRET, Kind
from epochal._values.secret import SPELLED
from epochal._values.value import Value, option_of, shown

_helping: ContextVar[str | None] = ContextVar("helping", default=None)
#: The sink's format of each run that a helper started.
_runs: dict[str, str] = {}
#: By format, the classes of the values that were given last: of several that have an option, the one that is meant.
_given: dict[str, tuple[type[Value], ...]] = {}
#: A value, or one of several with commas and no spaces between them.
_VALUE = r"[^\s,;()'\"?]*[^\s,;()'\".:?]"
_RUN = re.compile(r"runId = ([0-9a-f-]{36})")


class Spelling(NamedTuple):
    """How an option is written.

    Attributes:
        name: without its value.
        argument: with its value, which stands for ``{}``.
        kind: None where the value is a class.
        classes: by the option's text, where that is chosen by a class.
    """

    name: str
    argument: str
    kind: Kind | None
    classes: Mapping[str, str] | None = None

    def with_value(self, value: str) -> str:
        if self.classes is not None:
            return self.argument.format(self.classes.get(value.lower(), f'"{value}"'))
        return self.argument.format(self.kind.literal(value) if self.kind else value)


@contextmanager
def helper(form: Form, given: Mapping[str, Any]) -> Iterator[None]:
    """Errors within are read by somebody who called a helper with these arguments."""
    _given[form.format] = form.kinds(given)
    token = _helping.set(form.format)
    try:
        yield
    finally:
        _helping.reset(token)


def helping() -> bool:
    """Whether a helper is at work in this context."""
    return _helping.get() is not None


def started(run_id: object, form: Form) -> None:
    """Errors of this query, too."""
    _runs[str(run_id)] = form.format


def formats(message: str, before_start: bool, of_source: bool) -> Sequence[str]:
    """The formats whose helpers the reader of a message has called, the likeliest one first; none, if they called none.

    Args:
        before_start: whether it is of the kind that a plain call of Spark's raises before anything runs.
        of_source: whether it is of the kind that sources raise.
    """
    sources = [name for name, form in FORMS.items() if form.is_source]
    if helping := _helping.get():
        return (helping, *(name for name in sources if name != helping))
    match = _RUN.search(message)
    sink = _runs.get(match[1]) if match else None
    if match and sink is None:
        return ()
    if sink is None and (before_start or not _given):
        return ()
    sinks = [sink] if sink else [name for name in _given if name not in sources]
    return (*sources, *sinks) if of_source else (*sinks, *sources)


def in_python(text: str, formats: Sequence[str]) -> str:
    """``Set pageSize=10`` → ``Set pages=rest.Offset(size=10)``. A word such as *records* alone stays what it is."""
    known: dict[str, Spelling] = {}
    for form in (FORMS[name] for name in reversed(formats) if name in FORMS):
        known |= spellings(form, _given.get(form.format, form.unset))
    text = re.sub(r"\b([Tt]he )option (?='[\w.]+')", r"\1argument ", text)
    text = re.sub(r"\.schema\((\"[^\"]*\")\)", r"schema=\1", text)
    text = text.replace(".trigger(availableNow=True)", 'trigger="availableNow"')
    text = re.sub(r"\.trigger\(processingTime=(\"[^\"]*\")\)", r"trigger=\1", text)

    def replaced(match: re.Match[str]) -> str:
        name, value, spelling = match["name"], match["value"], known[match["name"]]
        if value is not None:
            return spelling.with_value(value)
        is_word = name.islower() and name.isalpha() and "(" in spelling.name
        quoted = text[match.start() - 1 : match.start()] == "'"
        return name if is_word and not quoted else spelling.name

    names = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    return re.sub(
        rf"(?<![\w./?&-])(?P<name>{names})(?:=(?P<value>{_VALUE}(?:,{_VALUE})*)|(?![\w=-]|\.\w))", replaced, text
    )


def spellings(form: Form, given: Sequence[type[Value]] = ()) -> dict[str, Spelling]:
    """By option, how a helper's user writes it.

    Args:
        given: classes of values that come before others that have the option, too.
    """
    found: dict[str, Spelling] = {}
    for name, option in form.plain.items():
        if option.kind is not FAMILY:
            _add(found, option.name, name, f"{name}={{}}", option.kind)
    for name, kinds in form.values.items():
        chosen = _by_class(kinds)
        for kind in kinds:
            for fixed in kind._fixed:
                found.setdefault(fixed, Spelling(name, f"{name}={{}}", None, chosen))
        for kind in sorted(kinds, key=lambda kind: given.index(kind) if kind in given else len(given)):
            _add_fields(found, kind, f"{name}={{}}", given)
    return found


def _add_fields(found: dict[str, Spelling], kind: type[Value], outer: str, given: Sequence[type[Value]]) -> None:
    for one in fields(kind):
        option = option_of(one)
        inner = outer.replace("{}", f"{shown(kind)}({one.name}={{}})")
        if option is None:
            if chosen := one.metadata["chooses"]:
                classes = _by_class(one.metadata["part"])
                found.setdefault(chosen, Spelling(f"{shown(kind)}({one.name}=…)", inner, None, classes))
            for part in one.metadata["part"]:
                if part in given or not part._fixed:
                    _add_fields(found, part, inner, given)
        elif option.kind is not FAMILY:
            _add(found, option.name, f"{shown(kind)}({one.name}=…)", inner, option.kind)


def _add(found: dict[str, Spelling], option: str, name: str, argument: str, kind: Kind) -> None:
    found.setdefault(option, Spelling(name, argument, kind))
    if kind is SECRET:
        for suffix, written in SPELLED.items():
            if suffix:
                found.setdefault(
                    f"{option}{suffix}", Spelling(argument.format(written), argument.format(written), None)
                )


def _by_class(kinds: Sequence[type[Value]]) -> dict[str, str]:
    return {text: f"{shown(kind)}(…)" for kind in kinds for text in kind._fixed.values()}
