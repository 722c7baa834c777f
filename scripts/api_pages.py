"""Griffe extension for docs/api.md, the reference that mkdocstrings makes of the package's docstrings.

A value takes its fields as arguments, since Python makes a dataclass of it, and has its whole docstring. Docstrings
lose the flags of doctest, and their pages become links.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from griffe import Attribute, Class, Extension, Function, Module, Object, Parameter, ParameterKind, Parameters

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT / "scripts"), str(_ROOT / "python" / "src")]

import python_docs  # noqa: E402

_FLAG = re.compile(r" *# doctest: \+\w+$", re.MULTILINE)
_PAGE = re.compile(r"``docs/([\w-]+)\.md``")
_DOCS = {f"{kind.__module__}.{kind.__qualname__}": python_docs.docstring(kind) for kind in python_docs.values()} | {
    form.caller: python_docs.helper_docstring(form, helper) for helper, form in python_docs.helpers().items()
}


class ApiPages(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            if text := _DOCS.get(obj.path):
                obj.docstring.value = inspect.cleandoc(text)
            obj.docstring.value = _PAGE.sub(r"[\1](\1.md)", _FLAG.sub("", obj.docstring.value))

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        self.on_object(obj=pkg)
        for module in pkg["_values"].modules.values():
            for kind in module.classes.values():
                if not kind.is_alias and (given := list(_arguments(kind))):
                    kind.set_member("__init__", Function("__init__", parameters=Parameters(*given)))


def _arguments(kind: Class) -> Iterator[Parameter]:
    """``self`` and the arguments of a value, those of its bases first; none for another class."""
    chain = [kind, *kind.mro()]
    if not any(one.name == "Value" for one in chain):
        return
    yield Parameter("self", kind=ParameterKind.positional_or_keyword)
    found = {name: member for one in reversed(chain) for name, member in one.members.items()}
    given = []
    for name, member in found.items():
        if isinstance(member, Attribute) and member.annotation is not None and not name.startswith("_"):
            declared = str(member.value)
            required = declared.startswith("field(") and "default=" not in declared
            positional = "kw_only=False" in declared
            kind_of = ParameterKind.positional_or_keyword if positional else ParameterKind.keyword_only
            given.append(
                Parameter(name, annotation=member.annotation, kind=kind_of, default=None if required else "None")
            )
    yield from sorted(given, key=lambda one: one.kind is ParameterKind.keyword_only)
