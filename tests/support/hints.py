"""Instructions in the hints of errors, and calls that follow them as a user would who types them.

An instruction is a part of a template of ``conditions.json``: ``{option:createTable=true}``, ``{schema:id INT}``,
``'{option:sourceId}' to '<sourceId>'``. The text that a message has in its place is what the user types: an argument
of a helper, or an option.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import _declarations, cdc, errors, ingest, jdbc, rest
from epochal._calls import Call
from epochal._references import Spelling, in_python, spellings
from epochal._trigger import triggered
from support.streams import finish

#: An option with or without a value, a schema, a trigger; or an option with its value behind "to".
INSTRUCTION = re.compile(r"'?\{option:(?P<to>[\w.]+)\}'? to '(?P<value>[^']*)'|\{(?:option|schema|trigger):[^{}]*\}")
PLACEHOLDER = re.compile(r"<[A-Za-z]\w*>")
HELPERS: Mapping[str, Any] = {
    "epochal-rest": epochal.read.rest,
    "epochal-random": epochal.read.random,
    "epochal-ingest": epochal.read.ingest,
    "epochal-cdc": epochal.read.cdc,
    "epochal-jdbc": epochal.write.jdbc,
    "epochal-rest sink": epochal.write.rest,
}
#: The names that a program of a document imports.
NAMES: Mapping[str, Any] = {
    "rest": rest, "jdbc": jdbc, "ingest": ingest, "cdc": cdc, "Secret": epochal.Secret,
    **{name: getattr(epochal, name) for name in ("Http", "Retry", "Budget", "Tls", "Proxy", "Limits")},
}  # fmt: skip


def instructions(hint: str) -> list[str]:
    """The instructions of a template, in order."""
    return [found[0] for found in INSTRUCTION.finditer(hint)]


def in_options(instruction: str) -> str:
    """An instruction in the words of Spark's own API, as the jar writes it."""
    kind, _, content = instruction.strip("'{}").partition(":")
    name, _, value = content.partition("=")
    if kind == "schema":
        return f'.schema("{content}")'
    if kind == "trigger":
        return f'.trigger({name}="{value}")' if value else f".trigger({name}=True)"
    return re.sub(r"\{option:([^{}]*)\}", r"\1", instruction)


def of_python(instruction: str, form: _declarations.Form, kinds: Sequence[type] = ()) -> str:
    return in_python(instruction, [Call(form, tuple(kinds))])


def typed(message: str, spelled: str) -> str:
    """The text of a message in the place of an instruction, which may have placeholders."""
    pattern = "(.+?)".join(re.escape(part) for part in PLACEHOLDER.split(spelled))
    match = re.search(rf"{pattern}(?=[,.;:) ]|$)", message)
    assert match, f"{spelled!r} is not in {message!r}"
    return match[0]


def arguments_of(text: str) -> dict[str, ast.expr]:
    """``create_table=True`` as an argument's name and its expression; ``'table' to 'x'`` too."""
    if match := re.fullmatch(r"'?([\w.]+)'? to ('[^']*')", text):
        text = f"{match[1]}={match[2]}"
    (call,) = [ast.parse(f"dict({text})", mode="eval").body]
    assert isinstance(call, ast.Call)
    return {str(one.arg): one.value for one in call.keywords}


def value_of(expression: ast.expr, before: Any = None) -> Any:
    """The value of an expression; a class's call changes the fields that it names in an instance that is there."""
    kind: Any = _evaluate(expression.func) if isinstance(expression, ast.Call) else None
    if not isinstance(expression, ast.Call) or not hasattr(kind, "__dataclass_fields__"):
        return _evaluate(expression)
    names = [one.name for one in fields(kind)]
    given = {str(one.arg): one.value for one in expression.keywords}
    old = before if isinstance(before, kind) else None
    new = {name: value_of(one, getattr(old, name, None)) for name, one in given.items()}
    assert set(new) <= set(names), f"{ast.unparse(expression)}: {set(new) - set(names)}"
    if old is not None:
        return replace(old, **new)
    positional = [
        _evaluate(one) for one in expression.args if not isinstance(one, ast.Constant) or one.value is not ...
    ]
    return kind(*positional, **new)


def _evaluate(expression: ast.expr) -> Any:
    return eval(compile(ast.Expression(expression), "a hint", "eval"), dict(NAMES))


class Caller:
    """Calls the helpers, or Spark's readers and writers with the same options, with what was typed since.

    Attributes:
        python: whether it calls the helpers.
    """

    def __init__(self, spark: SparkSession, python: bool) -> None:
        self.spark = spark
        self.python = python
        self._typed: list[tuple[str, str]] = []
        self._left_out: set[str] = set()

    def spelled(self, instruction: str, form: str, kinds: Sequence[type] = ()) -> str:
        return of_python(instruction, _declarations.FORMS[form], kinds) if self.python else in_options(instruction)

    def type(self, form: str, text: str) -> None:
        """Adds an argument or an option to later calls for this form."""
        self._typed.append((form, text))

    def leave_out(self, *arguments: str) -> None:
        """Leaves arguments of a helper out, and their options."""
        self._left_out |= {*arguments}

    def read(
        self, form: str, *, streaming: bool = False, schema: str | None = "id INT, name STRING", **given: Any
    ) -> DataFrame:
        kept = {name: value for name, value in {**given, "schema": schema}.items() if name not in self._left_out}
        if self.python:
            kept = self._with_arguments(_declarations.FORMS[form], kept)
            more = {} if form == "epochal-ingest" else {"streaming": streaming}
            frame: DataFrame = HELPERS[form](self.spark, **kept, **more)
            return frame
        schema = kept.pop("schema", None)
        if schema == "infer":
            kept["schema"], schema = schema, None
        options = self._with_options(_declarations.FORMS[form], kept)
        reader = self.spark.readStream if streaming else self.spark.read
        for text in self._of(form):
            if match := re.fullmatch(r'\.schema\("(.*)"\)', text):
                schema = match[1]
        return (reader.schema(schema) if schema else reader).format(form).options(**options).load()

    def write(
        self,
        form: str,
        rows: DataFrame,
        *,
        checkpoint: Any,
        output_mode: Any = "append",
        trigger: str = "availableNow",
        **given: Any,
    ) -> None:
        """Writes the available rows, and waits for the end; raises Epochal's error."""
        kept = {name: value for name, value in given.items() if name not in self._left_out}
        with errors.named():
            if self.python:
                kept = self._with_arguments(_declarations.FORMS[form], {**kept, "trigger": trigger})
                finish(HELPERS[form](rows, checkpoint=checkpoint, output_mode=output_mode, **kept))
                return
            options = self._with_options(_declarations.FORMS[form], kept)
            writer = rows.writeStream.format(form.removesuffix(" sink")).options(**options).outputMode(output_mode)
            triggers = [text for text in self._of(form) if text.startswith(".trigger(")]
            writer = eval(f"writer{triggers[0]}", {"writer": writer}) if triggers else triggered(writer, trigger)
            finish(writer.option("checkpointLocation", str(checkpoint)).start())

    def _of(self, form: str) -> list[str]:
        return [text for of, text in self._typed if of == form]

    def _with_arguments(self, form: _declarations.Form, given: dict[str, Any]) -> dict[str, Any]:
        for text in self._of(form.format):
            for name, expression in arguments_of(text).items():
                given[name] = value_of(expression, given.get(name))
        return given

    def _with_options(self, form: _declarations.Form, given: Mapping[str, Any]) -> dict[str, str]:
        options = dict(form.options(given, None))
        for text in self._of(form.format):
            if match := re.fullmatch(r"'?([\w.]+)'?(?:=| to ')(.*?)'?", text):
                options[match[1]] = match[2]
        return options


def spelling(option: str) -> dict[str, Spelling]:
    """How the helpers that have an option write it, by format."""
    found = {name: spellings(form).get(option) for name, form in _declarations.FORMS.items()}
    return {name: one for name, one in found.items() if one is not None}
