"""Names in the documents exist: pages, headings, files, options, values, conditions, tests and make targets."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pyspark
import pytest
from pyspark.sql import DataFrame, DataFrameWriter, GroupedData, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import epochal
from epochal import _trigger
from support import commands, documents
from support.documents import Page
from support.places import ROOT

PAGES = documents.pages()
CONDITIONS = json.loads((ROOT / "python/src/epochal/conditions.json").read_text("utf-8"))
NAMES = re.compile(r"[A-Z]+(?:_[A-Z]+)+")
CAMEL_CASE = re.compile(r"([a-z]+(?:[A-Z][a-z]*)+)(?:=.*)?")
PYTHON_VALUE = re.compile(r"(?<![\w.])(?:epochal\.)?(?:(rest|jdbc|ingest|cdc)\.)?([A-Z]\w+)(?:\(([^()]*)\))?")


def texts(*patterns: str) -> str:
    return "\n".join(path.read_text("utf-8") for pattern in patterns for path in ROOT.glob(pattern))


@pytest.fixture(scope="module")
def words() -> set[str]:
    """All words of the code and the options, and the methods that users of Spark call, in lower case."""
    code = texts("scala/*/src/*/**/*.scala", "scala/*/src/main/**/*.txt", "python/src/**/*.py")
    code += texts("bench/*.py", "examples/*.py", "docs/OPTIONS.md")
    methods = {
        name for kind in (SparkSession, DataFrame, GroupedData, DataFrameWriter, DataStreamWriter) for name in dir(kind)
    }
    return {word.lower() for word in methods.union(re.findall(r"\w+", code))}


@pytest.fixture(scope="module")
def conditions() -> set[str]:
    """Conditions of the jar, of the package and of Spark, and environment variables that the code reads."""
    (errors,) = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    with zipfile.ZipFile(errors) as jar:
        sparks = jar.read("error/error-conditions.json").decode()
    code = texts("Makefile", ".ci/run", "tests/**/*.py", "python/src/**/*.py", "scala/*/src/*/**/*.scala")
    variables = re.findall(r"\b(?:EPOCHAL|SPARK)_\w+", code)
    own = re.findall(r"\w+", documents.page("docs/ERRORS.md").source) + re.findall(r'"([A-Z_]+)"', code)
    return {*own, *variables, *re.findall(r'"(\w+)" : \{', sparks)}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_link_leads_to_a_file_or_a_heading(page: Page) -> None:
    dead = []
    for link in page.links():
        path, _, anchor = unquote(link).partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        if not re.match(r"\w+:", link) and not (target.exists() and (not anchor or anchor in Page(target).anchors())):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_make_target_exists(page: Page) -> None:
    named = re.findall(r"^make ([a-z-]+)", "\n".join(page.inline()), re.MULTILINE)
    assert [name for name in named if name not in commands.TARGETS] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_command_of_the_package_exists(page: Page) -> None:
    wrong = []
    for text in page.inline():
        words = re.sub(r"\b[A-Z]{3,}\b", "3", text).removeprefix("python -m ").split()
        if words[:1] != ["epochal"] or not words[1:]:
            continue
        only_named = all(word.isalpha() for word in words)
        with contextlib.suppress(SystemExit):  # after --help
            wrong += [(text, name) for name in commands.unknown([*words, "--help"] if only_named else words)]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_named_test_exists(page: Page) -> None:
    suites = {path.stem for path in ROOT.glob("scala/*/src/test/**/*.scala")}
    suites.update(re.findall(r"class (\w+Suite)\b", texts("scala/*/src/test/**/*.scala")))
    named = {name for name in page.inline() if re.fullmatch(r"\w+Suite", name)}
    assert named - suites == set()
    files = {name.removeprefix("tests/") for name in page.inline() if re.fullmatch(r"[\w/]*test_\w+\.py", name)}
    assert [name for name in files if not (ROOT / "tests" / name).is_file()] == []


def test_the_tests_page_names_every_test() -> None:
    named = "\n".join(documents.page("tests/README.md").inline())
    files = {str(path.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("test_*.py")}
    assert {name for name in files if name not in named} == set()


def test_the_python_page_names_every_public_function_and_trigger() -> None:
    named = set(re.findall(r"\w+", "\n".join(documents.page("docs/python.md").inline())))
    modules = (epochal, epochal.read, epochal.write, epochal.rest, epochal.jdbc, epochal.ingest, epochal.errors)
    functions = {name for one in modules for name in one.__all__ if inspect.isfunction(getattr(one, name))}
    assert functions - named == {"named"}  # for exceptions of other code
    assert {*_trigger._WORDS.values(), "continuous"} <= named


def test_the_python_page_lists_the_conditions_that_only_the_package_raises() -> None:
    raised = set()
    for path in (ROOT / "python/src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=kind), args=[ast.Constant(value=str(condition)), *_]) if (
                    kind == "cls" or kind.endswith("Error")
                ):
                    raised.add(condition)
    _, _, after = documents.page("docs/python.md").source.partition("The package has its own:\n\n")
    listed = re.findall(r"^- `([A-Z_]+)`", after.partition("\n\n")[0], re.MULTILINE)
    assert sorted(listed) == sorted(name for name in raised - set(CONDITIONS) if NAMES.fullmatch(name))


def test_an_install_command_names_what_is_published_or_built_here() -> None:
    said = "".join(page.source for page in PAGES)
    said += texts("examples/*.*", "python/src/**/*.py", "scala/*/src/main/**/*.java", "scala/*/src/main/**/*.json")
    assert re.findall(r"pip install[^\n`]*\bepochal\b(?!-)[^\n`]*", said) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_named_condition_exists(page: Page, conditions: set[str]) -> None:
    named = {name.partition(".")[0] for name in page.inline() if NAMES.fullmatch(name.partition(".")[0])}
    assert named - conditions == set()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_named_option_or_metric_exists(page: Page, words: set[str]) -> None:
    named = {match[1] for name in page.inline() if (match := CAMEL_CASE.fullmatch(name))}
    assert {name for name in named if name.lower() not in words} == set()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_python_value_has_the_given_fields(page: Page) -> None:
    wrong = []
    for text in page.inline():
        for module, name, given in PYTHON_VALUE.findall(text):
            kind = getattr(getattr(epochal, module) if module else epochal, name, None)
            fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
            if (module and kind is None) or (fields and not set(re.findall(r"\b([a-z_]+)=", given)) <= fields):
                wrong.append(text)
    assert wrong == []
