"""Python's arguments and the jar's options are the same."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

import epochal
from epochal._names import FAMILIES, option_name
from epochal._options import given, instant, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS: dict[str, Callable[..., Any]] = {
    "epochal-random": epochal.read.random,
    "epochal-rest": epochal.read.rest,
    "epochal-rest sink": epochal.write.rest,
    "epochal-jdbc": epochal.write.jdbc,
}
#: What goes to Spark's reader or writer and not to the format.
SPARKS = {"spark", "df", "streaming", "checkpoint", "output_mode", "available_now", "processing_time", "query_name"}
#: What is an option too, but goes to ``.schema(…)``.
SCHEMA = {"schema"}


@pytest.fixture(scope="module")
def jar_options(spark: SparkSession) -> dict[str, dict[str, dict[str, Any]]]:
    """By format and name, what the jar says of its options."""
    said = json.loads(spark._jvm.io.epochal.formats.Epochal.optionsJson())  # type: ignore[attr-defined]
    return {name: {option["name"]: option for option in group["options"]} for name, group in said.items()}


def arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """The arguments that are options, and their types."""
    names = {"DataFrame": DataFrame, "StreamingQuery": StreamingQuery, "StructType": StructType, "SparkSession": object}
    hints = get_type_hints(function, localns=names)
    hints.pop("return")
    return {name: hint for name, hint in hints.items() if name not in SPARKS | SCHEMA}


def test_the_jar_has_the_formats_that_python_has(jar_options: dict[str, Any]) -> None:
    assert set(jar_options) == set(FORMATS)


@pytest.mark.parametrize("source", FORMATS)
def test_every_option_is_an_argument_and_every_argument_an_option(source: str, jar_options: dict[str, Any]) -> None:
    ours = {option_name(name) for name in arguments(FORMATS[source])}
    assert ours == set(jar_options[source]) - SCHEMA


@pytest.mark.parametrize("source", FORMATS)
def test_arguments_are_keyword_only_and_unset_by_default_unless_required(
    source: str, jar_options: dict[str, Any]
) -> None:
    parameters = inspect.signature(FORMATS[source]).parameters
    for name in arguments(FORMATS[source]):
        parameter, option = parameters[name], jar_options[source][option_name(name)]
        assert (parameter.default is inspect.Parameter.empty) == option["required"], name
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY or name == "url", name
        if not option["required"]:
            assert parameter.default is None, name


@pytest.mark.parametrize("source", FORMATS)
def test_argument_types_fit_the_options(source: str, jar_options: dict[str, Any]) -> None:
    for name, hint in arguments(FORMATS[source]).items():
        option = jar_options[source][option_name(name)]
        kinds = {kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)}
        words = [get_args(kind) for kind in kinds if get_args(kind) and isinstance(get_args(kind)[0], str)]
        if option["type"] == "boolean":
            assert kinds == {bool}, name
        elif words or option["allowed"]:
            assert [sorted(option["allowed"])] == [sorted(word) for word in words], name
        elif option["type"] in ("int", "long"):
            assert kinds == {int}, name
        elif option["type"] == "duration":
            assert kinds == {timedelta, str}, name
        elif option["type"] == "bytes":
            assert kinds == {int, str}, name
        elif option["type"] == "names":
            assert any(get_origin(kind) for kind in kinds), name
        elif option["type"] == "number":
            assert kinds == {float}, name


class Recorder:
    """Stands for a session, a reader, a DataFrame or a writer; keeps the options."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.isStreaming = True
        self.readStream = self.writeStream = self

    def options(self, **options: str) -> Recorder:
        self.seen.update(options)
        return self

    def option(self, name: str, value: str) -> Recorder:
        self.seen[name] = value
        return self

    def __getattr__(self, name: str) -> Callable[..., Recorder]:
        return lambda *args, **named: self


@pytest.mark.parametrize("source", FORMATS)
def test_every_argument_sets_its_own_option_and_no_other(source: str) -> None:
    function = FORMATS[source]
    required = {"url": "x", "table": "x", "checkpoint": "x", "schema": "x"}
    first, *signature = inspect.signature(function).parameters.values()
    assert first.name in SPARKS
    needed = {p.name: required[p.name] for p in signature if p.default is inspect.Parameter.empty or p.name in required}
    without = Recorder()
    function(without, **needed)
    for name in arguments(function):
        if name in needed:
            assert without.seen[option_name(name)] == "x"
            continue
        value: Any = {"k": "v"} if name in FAMILIES else ["v"] if name == "key_columns" else "v"
        recorder = Recorder()
        function(recorder, **needed, **{name: value})
        added = {key: value for key, value in recorder.seen.items() if key not in without.seen}
        assert added == {option_name(name).replace("*", "k"): "v"}


def test_values_become_the_texts_that_the_jar_reads() -> None:
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


def test_what_is_none_is_not_set() -> None:
    assert given({"a": None, "b": 0, "c": False}, headers={"X": "y"}, params=None) == {
        "b": "0",
        "c": "false",
        "headers.X": "y",
    }
