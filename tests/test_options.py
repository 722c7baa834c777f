"""Python's arguments and values match the jar's options."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import epochal
from epochal._declarations import FORMS, Form
from epochal._options import instant, text
from epochal._values.kind import FAMILY, INFERENCE, SECRET
from epochal._values.pages import Pages
from epochal._values.value import Option, Value, option_of
from support.places import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELPERS: dict[str, Callable[..., Any]] = {
    "epochal-random": epochal.read.random,
    "epochal-ingest": epochal.read.ingest,
    "epochal-cdc": epochal.read.cdc,
    "epochal-rest": epochal.read.rest,
    "epochal-rest sink": epochal.write.rest,
    "epochal-jdbc": epochal.write.jdbc,
    "epochal-checkpoint": epochal.read.checkpoint_log,
}
#: Arguments for Spark's reader or writer, not for the format.
SPARKS = {"spark", "df", "streaming", "schema", "checkpoint", "trigger", "output_mode", "query_name", "options"}
REQUIRED = ("url", "dbtable", "path", "port")
#: Options without an argument or field, with reasons.
ONLY_BY_OPTIONS = {
    ("epochal-rest", "schema"): "it goes to .schema(…)",
    ("epochal-ingest", "schema"): "it goes to .schema(…)",
}
#: Options that a value sets by its class.
BY_CLASS = {"pagination", "windowPagination", "bodyFormat", "mode", "protocol", "format", "verify"}


@pytest.fixture(scope="module")
def jar_options(spark: SparkSession) -> dict[str, dict[str, dict[str, Any]]]:
    """The jar's options, by format and name."""
    jvm: Any = spark._jvm
    said = json.loads(jvm.io.epochal.formats.Epochal.optionsJson())
    return {name: {option["name"]: option for option in group["options"]} for name, group in said.items()}


def declared_name(option: Option) -> Iterator[str]:
    """The jar's names for an option; a secret has three."""
    if option.kind is FAMILY:
        yield f"{option.name}.*"
    elif option.kind is SECRET:
        yield from (f"{option.name}{suffix}" for suffix in ("", "Env", "File"))
    else:
        yield option.name


def of_value(kind: type[Value]) -> Iterator[tuple[str, Option | None, bool]]:
    """(option, the field's kind, whether it is required) for a value and its nested values."""
    yield from ((name, None, True) for name in kind._fixed)
    for one in fields(kind):
        option = option_of(one)
        if option is not None:
            yield from ((name, option, one.default is MISSING) for name in declared_name(option))
        elif one.metadata["chooses"]:
            yield (one.metadata["chooses"], None, False)
        else:
            for part in one.metadata["part"]:
                yield from of_value(part)


def reached(form: Form) -> dict[str, list[str]]:
    """The helper's parameters by option, each once for all classes that it accepts."""
    found: dict[str, list[str]] = {}
    for name, option in form.plain.items():
        for one in declared_name(option):
            found.setdefault(one, []).append(name)
    for name, kinds in form.values.items():
        for one in {one for kind in kinds for one, _, _ in of_value(kind)} - form.lacks:
            found.setdefault(one, []).append(name)
    return found


def test_the_jar_has_the_formats_that_python_has(jar_options: dict[str, Any]) -> None:
    assert set(jar_options) == set(FORMS) == set(HELPERS)


@pytest.mark.parametrize("source", FORMS)
def test_options_and_parameters_correspond_one_to_one(source: str, jar_options: dict[str, Any]) -> None:
    ours = reached(FORMS[source])
    only_by_options = {option for name, option in ONLY_BY_OPTIONS if name == source}
    assert set(ours) == set(jar_options[source]) - only_by_options
    # Keys of records are named by the value that needs them.
    twice = {"keyColumns": ["pages", "poll"]} if source == "epochal-rest" else {}
    assert {option: names for option, names in ours.items() if len(names) != 1} == twice


@pytest.mark.parametrize("source", FORMS)
def test_a_value_sets_an_option_by_one_field(source: str) -> None:
    for kinds in FORMS[source].values.values():
        for kind in kinds:
            names = [name for name, _, _ in of_value(kind)]
            assert len(names) == len(set(names)), kind


@pytest.mark.parametrize("source", FORMS)
def test_kinds_fit_the_options(source: str, jar_options: dict[str, Any]) -> None:
    form = FORMS[source]
    all_of_values = [one for kinds in form.values.values() for kind in kinds for one in of_value(kind)]
    plain = [(name, option, False) for option in form.plain.values() for name in declared_name(option)]
    for name, option, _ in [one for one in (*plain, *all_of_values) if one[0] not in form.lacks]:
        declared = jar_options[source][name]
        if option is None:
            assert name in BY_CLASS
            continue
        assert option.kind.declared == declared["type"], name
        if option.kind.choices or (declared["allowed"] and declared["type"] != "boolean"):
            assert sorted(option.kind.choices) == sorted(declared["allowed"]), name
        if name in (option.name, f"{option.name}.*"):
            assert option.secret == declared["secret"], name


@pytest.mark.parametrize("source", FORMS)
def test_classes_match_the_words_of_their_option(source: str, jar_options: dict[str, Any]) -> None:
    for kinds in FORMS[source].values.values():
        for name in {name for kind in kinds for name in kind._fixed}:
            words = [kind._fixed[name] for kind in kinds]
            assert sorted(words) == sorted(jar_options[source][name]["allowed"])


@pytest.mark.parametrize("source", FORMS)
def test_a_helper_has_at_most_twenty_parameters_keyword_only_and_unset_unless_required(
    source: str, jar_options: dict[str, Any]
) -> None:
    form = FORMS[source]
    first, *parameters = inspect.signature(HELPERS[source]).parameters.values()
    assert len(parameters) < (18 if source == "epochal-rest" else 20)
    assert {one.name for one in parameters} - SPARKS == (set(form.plain) | set(form.values)) - SPARKS
    assert first.name in SPARKS
    for parameter in parameters:
        required = parameter.name in form.plain and form.plain[parameter.name].name in REQUIRED
        assert (parameter.default is inspect.Parameter.empty) == required, parameter.name
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY or parameter.name in ("url", "path"), parameter.name
        if not required and parameter.name not in SPARKS:
            assert parameter.default is None, parameter.name
    for name, option in jar_options[source].items():
        assert option["required"] == (name in REQUIRED), name


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("python_docs", ROOT / "scripts" / "python_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_documents_match_the_declarations_of_options(jar_options: dict[str, Any]) -> None:
    declared = script().declared()
    assert {name: {*options} for name, options in declared.items()} == {
        name: {*options} for name, options in jar_options.items()
    }
    for source, options in jar_options.items():
        for name, option in options.items():
            base = options.get(name.removesuffix("File").removesuffix("Env"), option)
            said = base if base["secret"] else option
            found = declared[source][name]
            assert (found.doc, found.secret) == (said["doc"], said["secret"])
            assert found.default == ("required" if option["required"] else option["default"] or "")


def test_fields_are_documented_as_their_options_are_declared() -> None:
    """``make docs`` generates the page; a wheel has the modules."""
    docs = script()
    path, page = docs.page()
    assert path.read_text("utf-8") == page
    modules: dict[Path, str] = docs.sources()
    assert len(modules) > 5
    for kind in docs.values():
        (source,) = [text for path, text in modules.items() if path.stem == kind.__module__.rpartition(".")[2]]
        assert docs.docstring(kind) in source
        for one in fields(kind):
            assert re.search(rf"^ {{8}}{one.name}: \S", docs.docstring(kind), re.MULTILINE), (kind, one.name)


class Recorder:
    """Stands for a session, a reader, a DataFrame or a writer; keeps the options."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.isStreaming = True
        self.read = self.readStream = self.writeStream = self

    def options(self, **options: str) -> Recorder:
        self.seen.update(options)
        return self

    def option(self, name: str, value: str) -> Recorder:
        self.seen[name] = value
        return self

    def __getattr__(self, name: str) -> Callable[..., Recorder]:
        return lambda *args, **named: self


@pytest.mark.parametrize("source", FORMS)
def test_every_argument_sets_its_own_options_and_no_others(source: str) -> None:
    form, function = FORMS[source], HELPERS[source]
    required = {"url": "x", "table": "x", "checkpoint": "x", "schema": "x", "path": "x"}
    needed = {name: "x" for name in inspect.signature(function).parameters if name in required}
    without = Recorder()
    function(without, **needed)
    for name, option in form.plain.items():
        if option.kind is INFERENCE:
            continue
        given = {"k": "v"} if option.kind is FAMILY else ["v"] if option.kind.declared == "names" else "v"
        recorder = Recorder()
        function(recorder, **(needed | {name: given}))
        added = {key: value for key, value in recorder.seen.items() if without.seen.get(key) != value}
        assert added == {f"{option.name}.k" if option.kind is FAMILY else option.name: "v"}
    for name, kinds in form.values.items():
        for kind in kinds:
            value = made(kind, form.lacks)
            recorder = Recorder()
            function(recorder, **needed, **{name: [value] if name in form.lists else value})
            added = {key: value for key, value in recorder.seen.items() if key not in without.seen}
            assert added == {one.option: one.text for one in value._options()}
            assert added or kind.__name__ in ("Limits", "Poll", "Http", "Retry", "Ledger", "Transport")


def made(kind: type[Value], lacks: frozenset[str] = frozenset()) -> Value:
    """A value with as many fields as possible without conflicts."""
    given: dict[str, Any] = {}
    excluded = {"next_header", "header", "total_header", "last_page", "delete_template"}
    excluded |= {"key_store_file", "key_store_password"} if kind is epochal.ingest.Tls else set()
    excluded |= {"has_more", "max_pages"} if kind is epochal.rest.TimeWindow else set()
    excluded |= {"map_key_column", "columns"} if kind is epochal.rest.Json else set()
    excluded |= {"body", "offset_body", "page_body"} if issubclass(kind, Pages) else set()
    excluded |= {"body", "variable"} if kind is epochal.rest.Since else set()
    excluded |= {"table"} if kind is epochal.rest.Each else set()
    for one in fields(kind):
        option = option_of(one)
        if (one.name in excluded and kind is not epochal.rest.Csv) or (option is not None and option.name in lacks):
            continue
        if option is None and not one.metadata["part"]:
            continue
        if option is None:
            given[one.name] = made(one.metadata["part"][0])
        elif option.kind.choices:
            choices = option.kind.choices
            given[one.name] = "PERMISSIVE" if "PERMISSIVE" in choices else choices[0]
        else:
            given[one.name] = eval(option.kind.example, {"Secret": epochal.Secret})
    if kind is epochal.rest.TimeWindow:
        given["pages"] = epochal.rest.Link()
    return kind(**given)


def test_values_are_formatted_as_the_jar_reads_them() -> None:
    assert text(True) == "true"
    assert text(False) == "false"
    assert text(12) == "12"
    assert text(0.5) == "0.5"
    assert text([429, "5xx"]) == "429,5xx"
    assert text(timedelta(seconds=1.5)) == "1500ms"
    assert text(timedelta(microseconds=1)) == "1ms"
    assert text(["id", "name"]) == "id,name"
    assert text(["a b", 'c"d', "e,f", " g", '"h']) == 'a b,c"d,"e,f"," g","""h"'
    assert text({"id": "comment_id", "a:b": "c,d"}) == 'id:comment_id,"a:b":"c,d"'
    assert text(Path("/a/b")) == "/a/b"
    assert text(datetime(2026, 1, 2, 3, tzinfo=timezone.utc)) == "2026-01-02T03:00:00Z"
    assert instant(datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-02T01:00:00Z"


def test_a_negative_length_of_time_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        text(timedelta(seconds=-1))


def test_security_md_lists_files_and_variables_by_the_ending_that_each_secret_has(
    jar_options: dict[str, dict[str, dict[str, Any]]],
) -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    for options in jar_options.values():
        variants = {name for name in options if f"{name}File" in options or f"{name}Env" in options}
        assert [name for name in variants if not {f"{name}File", f"{name}Env"} <= {*options}] == []
    assert [ending for ending in ("File", "Env") if f"ends in `{ending}`" not in " ".join(page.split())] == []


@pytest.mark.parametrize("source", FORMS)
def test_a_value_describes_itself_and_names_no_option_of_the_jar(source: str) -> None:
    for kind in (kind for kinds in FORMS[source].values.values() for kind in kinds):
        said = re.sub(r"``.*?``", "", script().docstring(kind).partition("Args:")[2], flags=re.DOTALL)
        assert re.findall(r"\b[\w.]+=[\w-]+", said) == [], kind


def test_a_limit_in_bytes_is_for_the_source_that_has_one() -> None:
    limits = epochal.Limits(rows=10, bytes="64m")
    assert FORMS["epochal-ingest"].options({"limits": limits}, None)["maxBytesPerBatch"] == "64m"
    with pytest.raises(epochal.OptionError, match=r"epochal.read.rest has no Limits\(bytes=…\)"):
        FORMS["epochal-rest"].options({"limits": limits}, None)
