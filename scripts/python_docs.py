"""Writes what Python says of options: the ``Args`` of the values, and the tables of docs/python.md.

The declaration is docs/OPTIONS.md, which ``make docs`` writes from the code of the jar. It needs the package's sources
on the path.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from epochal._forms import FORMS
from epochal._references import spellings
from epochal._values import auth, http, ingest, pages, records, rows, table
from epochal._values.kind import FAMILY
from epochal._values.value import Value, option_of, shown

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "python" / "src"
MODULES = (http, pages, auth, records, rows, table, ingest)
WIDTH = 120
#: What a class says by being one.
_SAID = re.compile(r"\s*\((?:(?:pagination|bodyFormat|protocol|format)=[^)]*|mode=\w+|batchSize above 1)\)")
_BEGIN, _END = "<!-- options: begin -->", "<!-- options: end -->"


class Declared(NamedTuple):
    """An option, as docs/OPTIONS.md has it."""

    name: str
    type: str
    default: str
    doc: str
    secret: bool


def declared() -> dict[str, dict[str, Declared]]:
    """By format and name."""
    text = (ROOT / "docs" / "OPTIONS.md").read_text("utf-8")
    found: dict[str, dict[str, Declared]] = {}
    for name, section in re.findall(r"^## `([^`]+)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        lines = re.findall(r"^\| `([^`]+)` \| (.*?) \| (.*?) \| (.*) \|$", section, re.MULTILINE)
        found[name] = {
            option: Declared(
                option,
                kind.replace("\\", ""),
                default.strip("`"),
                doc.replace("\\|", "|").removesuffix(" *Secret: shown nowhere.*"),
                doc.endswith("*Secret: shown nowhere.*"),
            )
            for option, kind, default, doc in lines
        }
    return found


def _taken() -> dict[str, set[type[Value]]]:
    """By format, the values that its helper takes, and those within them."""
    return {
        name: {part for group in form.values.values() for one in group for part in (one, *_parts(one))}
        for name, form in FORMS.items()
    }


def format_of(kind: type[Value]) -> str:
    """The first format whose helper takes the value."""
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
    lines = []
    for one in fields(kind):
        option = option_of(one)
        if option is None and not one.metadata["chooses"]:
            said = str(one.metadata["part"][0].__doc__).partition("\n")[0]
        else:
            key = one.metadata["chooses"] if option is None else option.name
            said = in_python(declared()[name][f"{key}.*" if option and option.kind is FAMILY else key], own, name)
        text = textwrap.fill(
            f"{one.name}: {said}", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False
        )
        lines.append(text)
    return "\n".join(["    Args:", *lines]) if lines else ""


def in_python(option: Declared, own: Mapping[str, str], name: str) -> str:
    """An option's line of documentation, in the words of somebody who writes a value."""
    others = {key: spelling.name for key, spelling in spellings(FORMS[name], FORMS[name].unset).items()}

    def word(match: re.Match[str]) -> str:
        key, value = match["name"], match["value"]
        spelled = own.get(key, others[key])
        if value is not None:
            spelled = spelled.replace("…", _literal(value)) if "…" in spelled else f"{spelled}={_literal(value)}"
        return f"``{spelled}``"

    keys = [key for key in {*own, *others} if not (key.islower() and key.isalpha())]
    names = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
    text = _SAID.sub("", option.doc)
    text = re.sub(rf"(?<![\w.])(?P<name>{names})(?:=(?P<value>\w+))?(?![\w=]|\.[\w*])", word, text)
    default = f" Default: ``{_literal(option.default)}``." if option.default not in ("", "**required**") else ""
    return text + (" Secret." if option.secret else "") + default


def _literal(text: str) -> str:
    if text in ("true", "false"):
        return text.capitalize()
    return text if re.fullmatch(r"\d+", text) else f'"{text}"'


def with_docs(path: Path, kinds: Mapping[str, type[Value]]) -> str:
    """A module with the docstrings of its values."""
    text = path.read_text("utf-8")
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.ClassDef) and (kind := kinds.get(node.name)) and (args := described(kind)):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            assert first.end_lineno is not None
            doc = "".join(lines[first.lineno - 1 : first.end_lineno]).partition("\n\n    Args:\n")[0]
            doc = doc.rstrip().removesuffix('"""').rstrip()
            lines[first.lineno - 1 : first.end_lineno] = [f'{doc}\n\n{args}\n    """\n']
    return "".join(lines)


def tables() -> str:
    """For each helper, how each of its options is written."""
    parts = []
    for name, form in FORMS.items():
        listed = spellings(form, form.unset)
        rows = [f"| `{key}` | {_written(key, listed, name)} |" for key in declared()[name]]
        parts.append(f"### `{form.caller}`\n\n| option | in Python |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _written(option: str, listed: Mapping[str, Any], name: str) -> str:
    form = FORMS[name]
    places = [f"`{key}={{…}}`" for key, one in form.plain.items() if f"{one.name}.*" == option]
    for parameter, group in form.values.items():
        for kind in group:
            for one in fields(kind):
                found = option_of(one)
                names = (found.name, f"{found.name}.*") if found else (one.metadata["chooses"],)
                if option in names:
                    places.append(f"`{parameter}={shown(kind)}({one.name}=…)`")
    if len(places) > 1:
        return ", ".join([places[0], *(place.partition("=")[2].rstrip("`").join("``") for place in places[1:])])
    if places:
        return places[0]
    if option in listed:
        return "`{}`".format(listed[option].argument.replace("{}", "…"))
    return "`schema=…`" if option == "schema" else f'`options={{"{option}": …}}`'


def documents() -> dict[Path, str]:
    """By file, what it must contain."""
    found = {}
    for module in MODULES:
        kinds = {
            name: kind for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, Value)
        }
        path = SOURCE.joinpath(*module.__name__.split(".")).with_suffix(".py")
        own = {name: kind for name, kind in kinds.items() if kind.__module__ == module.__name__}
        found[path] = with_docs(path, {name: kind for name, kind in own.items() if is_public(kind)})
    page = ROOT / "docs" / "python.md"
    before, _, rest = page.read_text("utf-8").partition(_BEGIN)
    found[page] = f"{before}{_BEGIN}\n\n{tables()}\n\n{_END}{rest.partition(_END)[2]}"
    return found


def is_public(kind: type[Value]) -> bool:
    """Whether it is no base class of others."""
    return any(kind in taken for taken in _taken().values())


if __name__ == "__main__":
    for path, text in documents().items():
        path.write_text(text, "utf-8")
