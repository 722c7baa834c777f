"""Every hint of ``conditions.json`` names options, commands, settings and SQL that exist, in the words of each surface.

``test_hints.py`` follows hints in failed starts; these are only parsed.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from epochal import OptionError, ingest, jdbc, rest
from epochal._declarations import FORMS
from epochal._references import Spelling
from support import commands, hints
from support.databases import Postgres
from support.places import ROOT

CONDITIONS = json.loads((ROOT / "python/src/epochal/conditions.json").read_text("utf-8"))
#: By condition, and for a batch by condition and "batch".
HINTS = {
    name if key == "hint" else f"{name} batch": texts[key]
    for name, texts in CONDITIONS.items()
    for key in ("hint", "batchHint")
    if key in texts
}
#: Values of placeholders in instructions and commands; others stand for themselves.
SAMPLES = {
    "accept": "42",
    "array": "/data",
    "epoch": "3",
    "expected": "id INT, name STRING",
    "last": "37",
    "nearest": "=mail:email",
    "pagination": "link",
    "path": "/data/checkpoints/comments",
    "status": "400",
    "table": "comments",
    "columns": "id",
    "setting": "spark.epochal.allowedFiles",
}
#: Placeholders that are whole instructions: the code that raises the error makes them from the option's declaration.
MADE = {"{option:<option>}", "{option:<example>}", "{option:<option>=<path>}", "'{option:<option>}'"}
#: Values to which a hint adds a field that does not stand alone.
BEFORE: dict[type, Any] = {
    jdbc.Upsert: jdbc.Upsert(key_columns=["id"]),
    jdbc.Changes: jdbc.Changes(key_columns=["id"], op_column="op"),
    rest.Cursor: rest.Cursor(next="/next", param="after"),
    rest.Keyset: rest.Keyset(key="/id", param="after"),
    rest.Since: rest.Since("/updated_at", param="updated_since", key_columns=["id"]),
    rest.NextUrl: rest.NextUrl(next="/next"),
    rest.GraphQL: rest.GraphQL("query", connection="/data/items"),
    ingest.Tcp: ingest.Tcp(9999),
    rest.TimeWindow: rest.TimeWindow(start="2026-01-01T00:00:00Z", length="1h", from_param="since", to_param="until"),
}
#: Texts to type in a hint outside of its instructions.
COMMAND = re.compile(
    r"\bepochal (?:cdc|checkpoint|demo|info|ledger|probe|status)\b[^,;:.()']*|\bpip install '[^']+'|\b(?:curl|ss) -\w+"
)
SQL = re.compile(r"\b(?:ALTER|CREATE|DELETE|DROP|GRANT|INSERT|KILL|SELECT|SHOW|UPDATE)\b [^;:()]*(?:\([^()]*\))?")
SETTING = re.compile(r"\bspark(?:\.\w+)+")
ASSIGNMENT = re.compile(r"(?<![\w<>])[\w.-]+=\S+")
#: Assignments that are no options: a JVM's property, and an argument for a checkpoint.
OTHERS = ("-Djava.io.tmpdir=/path", "checkpoint=…")
#: Statements of MySQL and MariaDB; no such server runs here.
OF_MYSQL = {"SHOW PROCESSLIST", "KILL 0"}


def filled(text: str) -> str:
    return hints.PLACEHOLDER.sub(lambda found: SAMPLES.get(found[0][1:-1], found[0][1:-1]), text)


def outside(hint: str) -> str:
    """The text without instructions."""
    return hints.INSTRUCTION.sub("…", hint)


def of(name: str) -> list[str]:
    return [filled(one) for one in hints.instructions(HINTS[name]) if one not in MADE]


def matches(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    for name, hint in HINTS.items():
        if hint != "<suggestion>":
            yield from ((name, filled(found[0]).strip()) for found in pattern.finditer(outside(hint)))


@pytest.mark.parametrize("name", [name for name in HINTS if of(name)])
def test_an_instruction_is_an_option_and_an_argument_that_sets_it(name: str) -> None:
    for instruction in of(name):
        if instruction.startswith("{schema:"):
            assert re.fullmatch(r"\w+ [A-Z]+(, \w+ [A-Z]+)*", instruction[len("{schema:") : -1])
        elif "{option:" in instruction:
            text = hints.in_options(instruction)
            match = re.fullmatch(r"'?([\w.]+\*?)'?(?:(?:=| to )(.*))?", text)
            assert match, text
            option, value = match[1], (match[2] or "").strip("'")
            if option.endswith(".*") or option == "schema":
                assert option[:-2] in ("params", "headers", "connection") or option == "schema"
                continue
            found = hints.spelling(option)
            assert found, f"{option} is no option"
            for spelling in found.values():
                assert value or names(spelling.name), spelling.name
            assert not value or any(takes(format, option, one, value) for format, one in found.items()), instruction
        else:
            assert re.fullmatch(r"\{trigger:\w+(=\d+ \w+)?\}", instruction), instruction


def takes(format: str, option: str, spelling: Spelling, value: str) -> bool:
    """Whether Python's argument sets the option to this value."""
    text = spelling.with_value(value)
    ((name, expression),) = hints.arguments_of(text.replace("(…)", "()")).items()
    kind = hints.value_of(expression.func) if isinstance(expression, ast.Call) else None
    if text.endswith("(…)"):
        return is_dataclass(kind)
    try:
        given = hints.value_of(expression, BEFORE.get(kind) if kind else None)
        return FORMS[format].options({name: given}, None)[option] == value
    except OptionError:
        return False


def names(text: str) -> bool:
    """Whether ``rest.Offset(size=…)`` is a class with that field, or ``table`` an argument."""
    found = re.fullmatch(r"(?:\w+=)?([\w.]+)\((\w+)=…\)", text)
    if not found:
        name = text.partition("=")[0]
        return any(name in (*form.plain, *form.values) for form in FORMS.values()) or text.endswith(")")
    kind = hints.value_of(hints.arguments_of(f"x={found[1]}")["x"])
    return found[2] in {one.name for one in fields(kind)}


@pytest.mark.parametrize(("name", "command"), [*matches(COMMAND)], ids=lambda text: text.replace("/", "_"))
def test_a_command_is_complete(name: str, command: str) -> None:
    if command.startswith("pip install "):
        assert f'["{shlex.split(command)[2]}"]' in commands.PYPROJECT
    elif command not in ("curl -v", "ss -ltnp"):
        assert [*commands.unknown(shlex.split(command))] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "statement"), [*matches(SQL)])
def test_a_statement_runs_in_postgresql(name: str, statement: str, postgres: Postgres) -> None:
    statement = re.sub(r"\b(number|process)\b", "0", statement)
    if "replication_slot" in statement:
        postgres.query("SELECT pg_create_logical_replication_slot('slot', 'pgoutput')")
    if statement not in OF_MYSQL:
        postgres.execute("CREATE TABLE comments (id integer)", statement)


def test_settings_exist_and_all_assignments_are_options() -> None:
    assert [found for found in matches(SETTING) if not commands.is_setting(found[1])] == []
    assert [
        found for found in matches(ASSIGNMENT) if not found[1].startswith(OTHERS) and "allowedFiles" not in found[1]
    ] == []


def test_commands_and_statements_are_found() -> None:
    assert len({*matches(COMMAND)}) >= 6
    assert len({*matches(SQL)}) >= 4


def test_texts_of_the_jars_code_name_options_by_references_too() -> None:
    """Else a helper or a command would show a name that it does not have."""
    plain = []
    for path in ROOT.glob("scala/*/src/main/**/*.scala"):
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text("utf-8")):
            rest = re.sub(r"\{(?:option|schema|trigger):(?:[^{}]|\$\{[^}]*\})*\}", "…", text)
            found = re.findall(
                r"\b(?:[Ss]et|[Rr]aise|[Ll]ower|[Ll]eave|is) '?(\w+(?:\.\w+)*)|Options\.\w+(\.name\}=)", rest
            )
            plain += [
                (path.name, text) for name, made in found if made or (name != name.lower() and hints.spelling(name))
            ]
    assert plain == []


def test_log_lines_name_options_in_words_or_in_both_spellings() -> None:
    """A log line does not know in which language its query was written."""
    plain = []
    for path in ROOT.glob("scala/*/src/main/**/*.scala"):
        for call in re.findall(
            r"\blog\.(?:warn|info|error)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", path.read_text("utf-8")
        ):
            text = " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', call))
            words = {*re.findall(r"[\w.]*\w", re.sub(r"\$\{[^}]*\}|\$\w+", "", text))}
            for name in (word for word in words if word != word.lower() or "." in word):
                spellings = {
                    one.name.rpartition("(")[2].partition("=")[0] for one in (hints.spelling(name) or {}).values()
                }
                if spellings - words or name.startswith("connection."):
                    plain.append((path.name, name))
    assert plain == []
