"""Generates the Python documentation of options: the ``Args`` of the values, and the lists of docs/python.md.

The source is docs/OPTIONS.md, which ``make docs`` generates from the code of the jar. The sources describe only fields
that need other words in Python; a wheel, a source distribution and the API reference have all. The package's sources
must be on the path.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import epochal
from epochal._declarations import FORMS, Form
from epochal._references import spellings
from epochal._values import auth, cdc, each, http, ingest, pages, poll, records, rows, table
from epochal._values.kind import FAMILY, INFERENCE
from epochal._values.value import Option, Value, fields_of, option_of, shown

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "python" / "src"
MODULES = (http, pages, each, auth, records, poll, rows, table, ingest, cdc)
WIDTH = 120
#: Parameters of several helpers that are no options, or have other words than the jar's.
COMMON = {
    "spark": "the session.",
    "df": "a streaming DataFrame, which requires ``checkpoint``, or a batch, which has none of a stream's arguments.",
    "headers": "request headers; secret.",
    "params": "query parameters of every request; secret.",
    "query_name": "name of the query in Spark's UI and in ``spark.streams``.",
    "streaming": "False returns a batch DataFrame.",
    "options": "further options, by the names that the jar gives them.",
}
#: Conditions that the class of a value already implies.
_IMPLIED = re.compile(r"\s*\((?:(?:pagination|bodyFormat|protocol|format)=[^)]*|mode=\w+|batchSize above 1)\)")
_LINE = re.compile(r"^- (`.*?) \(([^`,*]*)(?:, (?:default )?(`.*?`|\*\*required\*\*))?\): (.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_BEGIN, _END = "<!-- options: begin -->", "<!-- options: end -->"


class Declared(NamedTuple):
    """An option in docs/OPTIONS.md."""

    name: str
    default: str
    doc: str
    secret: bool


def declared() -> dict[str, dict[str, Declared]]:
    """The options by format and name. The file and the environment variable of a secret share its line."""
    text = (ROOT / "docs" / "OPTIONS.md").read_text("utf-8")
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    found: dict[str, dict[str, Declared]] = {}
    for title, section in sections.items():
        if title.startswith("`"):
            further = re.search(r"Further options: (.*)\.$", section, re.MULTILINE)
            shared = re.findall(r"\[([^]]+)\]", further[1]) if further else []
            lines = [line for one in (section, *(sections[name] for name in shared)) for line in _LINE.findall(one)]
            found[title.strip("`")] = {
                name: Declared(name, default.strip("`*"), doc.replace("`", ""), kind == "secret")
                for names, kind, default, doc in lines
                for name in re.findall(r"`([^`]+)`", names)
            }
    return found


def _taken() -> dict[str, set[type[Value]]]:
    """The classes of values that each format's helper accepts, including nested ones."""
    return {
        name: {part for group in form.values.values() for one in group for part in (one, *_parts(one))}
        for name, form in FORMS.items()
    }


def format_of(kind: type[Value]) -> str:
    """The first format whose helper accepts the value."""
    taken = _taken()
    order = sorted(taken, key=lambda name: name == "epochal-random")
    return next(name for name in order if kind in taken[name])


def _parts(kind: type[Value]) -> Iterator[type[Value]]:
    for one in fields(kind):
        yield from one.metadata.get("part", ())


def described(kind: type[Value]) -> str:
    """The ``Args`` of a value's docstring."""
    name = format_of(kind)
    own = {option.name: one.name for one in fields(kind) if (option := option_of(one))}
    texts = dict(_ARGUMENT.findall("\n".join(map(_clean, reversed(kind.__mro__)))))
    lines = []
    for one in fields_of(kind):
        option = option_of(one)
        if option.own_doc if option else one.metadata["own_doc"]:
            said = re.sub(r"\s+", " ", texts[one.name])
        elif option is None:
            said = str(one.metadata["part"][0].__doc__).partition("\n")[0]
        else:
            key = f"{option.name}.*" if option.kind is FAMILY else option.name
            where = (
                name if key in declared()[name] else next(form for form, known in declared().items() if key in known)
            )
            said = in_python(declared()[where][key], own, where)
            if where != name:
                callers = [FORMS[form].caller for form, known in declared().items() if key in known]
                said += f" For {' and '.join(f'``{caller}``' for caller in callers)} only."
        lines.append(_entry(one.name, said))
    return "\n".join(["    Args:", *lines]) if lines else ""


def _entry(name: str, text: str) -> str:
    return textwrap.fill(
        f"{name}: {text}", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False
    )


def described_helper(form: Form, function: Callable[..., Any]) -> str:
    """The ``Args`` of a helper's docstring."""
    texts = dict(_ARGUMENT.findall(_clean(function)))
    lines = []
    for name in inspect.signature(function).parameters:
        if name in texts:
            text = re.sub(r"\s+", " ", texts[name])
        elif name in COMMON:
            text = COMMON[name]
        elif name in form.plain:
            option = form.plain[name]
            key = f"{option.name}.*" if option.kind is FAMILY else option.name
            text = in_python(declared()[form.format][key], {}, form.format)
        elif len(kinds := form.values.get(name, ())) == 1:
            text = str(kinds[0].__doc__).partition("\n")[0]
        else:
            text = ", ".join(f"``{shown(kind)}``" for kind in kinds) + "."
        lines.append(_entry(name, text))
    return "\n".join(["    Args:", *lines])


def in_python(option: Declared, own: Mapping[str, str], name: str) -> str:
    """The documentation of an option, with Python arguments in place of option names."""
    others = {key: spelling.name for key, spelling in spellings(FORMS[name], FORMS[name].unset).items()}

    def word(match: re.Match[str]) -> str:
        key, value = match["name"], match["value"]
        spelled = own.get(key, others[key])
        if value is not None:
            spelled = spelled.replace("…", _literal(value)) if "…" in spelled else f"{spelled}={_literal(value)}"
        return f"``{spelled}``"

    keys = [key for key in {*own, *others} if not (key.islower() and key.isalpha())]
    names = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
    # A plain word such as *signature* stands for an option only if a value follows.
    for key in own:
        if key.islower() and key.isalpha():
            names += f"|{key}(?==)"
    text = _IMPLIED.sub("", option.doc)
    if names:
        text = re.sub(rf"(?<![\w.{{])(?P<name>{names})(?:=(?P<value>\w+))?(?![\w=]|\.[\w*])", word, text)
    text = re.sub(r"(?<!`)[\w:]*<[A-Za-z][^<>]*>", r"``\g<0>``", text)
    default = f" Default: ``{_literal(option.default)}``." if option.default not in ("", "required") else ""
    return text + (" Secret." if option.secret else "") + default


def _literal(text: str) -> str:
    if text in ("true", "false"):
        return text.capitalize()
    return text if re.fullmatch(r"\d+", text) else f'"{text}"'


def docstring(kind: type[Value]) -> str:
    """The whole docstring of a value, as in the source of its class."""
    summary = _indented(_clean(kind).partition("\n\nArgs:\n")[0])
    args = described(kind)
    return f"{summary}\n\n{args}\n    " if args else summary


def helper_docstring(form: Form, function: Callable[..., Any]) -> str:
    """The whole docstring of a helper, as in its source."""
    before, _, after = _clean(function).partition("\n\nArgs:\n")
    rest = _indented(f"\n\n{after.partition(chr(10) * 2)[2]}")
    return f"{_indented(before)}\n\n{described_helper(form, function)}{rest}\n    "


def _clean(subject: Any) -> str:
    """Its own docstring without indentation, which Python's compiler removes since 3.13."""
    own = subject.__doc__ if inspect.isfunction(subject) else vars(subject).get("__doc__")
    return inspect.cleandoc(own or "")


def _indented(text: str) -> str:
    """The lines after the first as in the source."""
    return text.replace("\n", "\n    ").replace("\n    \n", "\n\n").replace("\n    \n", "\n\n")


def helpers() -> dict[Callable[..., Any], Form]:
    """The functions over options of the jar."""
    names = {form.caller.removeprefix("epochal."): form for form in FORMS.values()}
    return {operator.attrgetter(name)(epochal): form for name, form in names.items()}


def with_docs(path: Path, docs: Mapping[str, str]) -> str:
    """The source of a module with whole docstrings of its values or helpers, by their names."""
    text = path.read_text("utf-8")
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        first = node.body[0] if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in docs else None
        if isinstance(first, ast.Expr) and first.end_lineno and ast.get_docstring(node):  # type: ignore[arg-type]
            lines[first.lineno - 1 : first.end_lineno] = [f'    """{docs[node.name]}"""\n']  # type: ignore[attr-defined]
    return "".join(lines)


def tables() -> str:
    """The arguments of each helper, and the fields of its values, whose options have other names."""
    places = {kind: name for form in FORMS.values() for name, group in form.values.items() for kind in group}
    kinds = [kind for form in FORMS.values() for group in form.values.values() for kind in group]
    uses = Counter(part for kind in kinds for part in _all(kind))
    parts = []
    for form in FORMS.values():
        plain = [written for name, option in form.plain.items() if (written := _written(name, option))]
        lines = ["- " + ", ".join(plain)] if plain else []
        for name, group in form.values.items():
            lines += [line for kind in group if uses[kind] == 1 for line in _fields(kind, name)]
        if lines:
            parts.append(f"### `{form.caller}`\n\n" + "\n".join(lines))
    listed = [line for kind, name in places.items() if uses[kind] > 1 for line in _fields(kind, name)]
    parts.append("### Values of several functions\n\n" + "\n".join(dict.fromkeys(listed)))
    return "\n\n".join(parts)


def _all(kind: type[Value]) -> Iterator[type[Value]]:
    """The class and its nested classes, except for those that choose an option."""
    yield kind
    for one in fields(kind):
        if not option_of(one) and not one.metadata["chooses"]:
            for part in one.metadata["part"]:
                yield from _all(part)


def _fields(kind: type[Value], place: str) -> Iterator[str]:
    """A line for a value, and one for each nested value."""
    written = []
    for one in fields_of(kind):
        option = option_of(one)
        chosen = option or not one.metadata["chooses"]
        written.append(_written(one.name, option) if chosen else f"`{one.name}` (`{one.metadata['chooses']}`)")
    if any(written):
        yield f"- `{place}={shown(kind)}(…)`: " + ", ".join(filter(None, written))
    for one in fields(kind):
        if not option_of(one) and not one.metadata["chooses"]:
            for part in one.metadata["part"]:
                yield from _fields(part, one.name)


def _written(name: str, option: Option | None) -> str:
    """The name and its option; nothing if they are alike."""
    if option is None:
        return ""
    alike = re.sub(r"([A-Z])", r"_\1", option.name.rpartition(".")[2]).lower() == name
    if option.kind is FAMILY:
        return "" if alike else f"`{name}={{…}}` (`{option.name}.*`)"
    written = f"{name}={option.kind.example}" if option.kind is INFERENCE else name
    return "" if alike else f"`{written}` (`{option.name}`)"


def values() -> list[type[Value]]:
    """The classes that users create, without base classes."""
    everything = (kind for module in MODULES for kind in vars(module).values())
    return [*dict.fromkeys(kind for kind in everything if isinstance(kind, type) and is_public(kind))]


def sources() -> dict[Path, str]:
    """The modules of values and helpers with whole docstrings."""
    docs: dict[str, dict[str, str]] = defaultdict(dict)
    for kind in values():
        docs[kind.__module__][kind.__name__] = docstring(kind)
    for function, form in helpers().items():
        docs[function.__module__][function.__name__] = helper_docstring(form, function)
    paths = {name: SOURCE.joinpath(*name.split(".")).with_suffix(".py") for name in docs}
    return {path: with_docs(path, docs[name]) for name, path in paths.items()}


def page() -> tuple[Path, str]:
    """docs/python.md with the generated lists."""
    path = ROOT / "docs" / "python.md"
    before, _, rest = path.read_text("utf-8").partition(_BEGIN)
    return path, f"{before}{_BEGIN}\n\n{tables()}\n\n{_END}{rest.partition(_END)[2]}"


def is_public(kind: type[Value]) -> bool:
    """Whether users create instances of the class: it is not only a base class."""
    return any(kind in taken for taken in _taken().values())


if __name__ == "__main__":
    path, text = page()
    path.write_text(text, "utf-8")
