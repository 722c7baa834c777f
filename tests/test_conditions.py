"""``conditions.json``, the texts of all errors, matches the code of the jar and the classes of the package."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import epochal
from epochal import errors
from support.places import ROOT

CORE = ROOT / "scala/core/src/main"
CONDITIONS: dict[str, dict[str, str]] = json.loads(
    (CORE / "resources/io/epochal/core/error/conditions.json").read_text("utf-8")
)
NAMES = {name.replace("_", "").lower(): name for name in CONDITIONS}
PLACEHOLDER = re.compile(r"<([A-Za-z]\w*)>")
#: Matches a string or a parenthesis.
TOKEN = re.compile(r'""".*?"""|"(?:\\.|[^"\\])*"|[()]', re.DOTALL)
USE = re.compile(r"\bConditions\s*\.([A-Z]\w+)")
CAUSE = re.compile(r"\s*\.because(?=\()")


class Use(NamedTuple):
    """A condition in the code of the jar.

    Attributes:
        arguments: arguments of the call that creates an exception; None if the condition is only compared.
    """

    place: str
    condition: str
    arguments: str | None


def in_parentheses(text: str, start: int) -> str:
    depth = 0
    for token in TOKEN.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            return text[start + 1 : token.start()]
    raise AssertionError(f"no end of {text[start : start + 80]}")


def uses() -> Iterator[Use]:
    for file in sorted(ROOT.glob("scala/*/src/main/scala/**/*.scala")):
        text = file.read_text("utf-8")
        for found in USE.finditer(text):
            end = found.end()
            if cause := CAUSE.match(text, end):
                end = cause.end() + len(in_parentheses(text, cause.end())) + 2
            arguments = in_parentheses(text, end) if text[end : end + 1] == "(" else ""
            yield Use(file.name, NAMES[found[1].lower()], arguments if "->" in arguments else None)


def test_every_call_supplies_the_placeholders_of_the_texts() -> None:
    calls = [use for use in uses() if use.arguments is not None]
    assert len(calls) > 100
    for place, condition, arguments in calls:
        given = set(re.findall(r'"(\w+)"\s*->', arguments or ""))
        texts = CONDITIONS[condition]
        needed = set(PLACEHOLDER.findall(texts["problem"] + texts["hint"] + texts.get("batchHint", "")))
        assert needed <= given, f"{place} makes {condition} without {needed - given}"


def test_every_condition_is_used() -> None:
    java = "".join(file.read_text("utf-8") for file in ROOT.glob("scala/*/src/main/java/**/*.java"))
    used = {use.condition for use in uses()} | {name for name in CONDITIONS if f"EPOCHAL.{name}]" in java}
    assert set(CONDITIONS) == used


def test_every_condition_has_its_exception() -> None:
    assert len(CONDITIONS) > 100
    for name, texts in CONDITIONS.items():
        found = errors.from_spark(RuntimeError(f"[EPOCHAL.{name}] Something. Hint: Wait."))
        assert found is not None
        assert (found.condition, type(found)) == (name, getattr(epochal, texts["python"]))


def test_the_package_reads_the_file_of_the_jar() -> None:
    package = ROOT / "python/src/epochal/conditions.json"
    assert package.samefile(CORE / "resources/io/epochal/core/error/conditions.json")


def test_every_option_reference_in_a_text_is_an_option() -> None:
    lines = re.findall(r"^- (`.*?`) \(", (ROOT / "docs/OPTIONS.md").read_text("utf-8"), re.MULTILINE)
    options = {name for line in lines for name in re.findall(r"`([^`]+)`", line)}
    options |= {name + suffix for name in options for suffix in ("File", "Env") if name + suffix not in options}
    texts = [file.read_text("utf-8") for file in sorted(ROOT.glob("scala/*/src/main/scala/**/*.scala"))]
    texts += [text for texts in CONDITIONS.values() for text in texts.values()]
    named = {name for text in texts for name in re.findall(r"\{option:([\w.]+(?:\.\*)?)[=}]", text)}
    assert len(named) > 80
    assert named - options == set()


def shown_texts() -> Iterator[tuple[str, str]]:
    """Texts of the jar and the package that users can see: all but comments and docstrings."""
    yield from ((name, " ".join(texts.values())) for name, texts in CONDITIONS.items())
    for file in sorted(ROOT.glob("scala/*/src/main/**/*.scala")):
        code = re.sub(r"/\*.*?\*/", "", file.read_text("utf-8"), flags=re.DOTALL)
        yield from ((file.name, token[0]) for token in TOKEN.finditer(code))
    for file in sorted((ROOT / "python/src").rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                yield file.name, node.value


def test_no_text_refers_to_a_file_that_only_the_repository_has() -> None:
    assert [(place, text) for place, text in shown_texts() if re.search(r"\w\.md\b", text)] == []
