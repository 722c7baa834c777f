"""Options by the names that Python gives them, in the texts of errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

#: Arguments whose options have other names.
ALIASES: Final = {"table": "dbtable", "checkpoint": "checkpointLocation"}

#: Arguments for a family of options.
FAMILIES: Final = {
    "headers": "headers.*",
    "params": "params.*",
    "connection": "connection.*",
    "oauth_params": "oauth.params.*",
    "signer": "signer.*",
}

_depth: ContextVar[int] = ContextVar("depth", default=0)
_runs: set[str] = set()
_helped = False
#: A value, or one of several with commas and no spaces between them.
_VALUE = r"[^\s,;()'\"?]*[^\s,;()'\".:?]"
_RUN = re.compile(r"runId = ([0-9a-f-]{36})")


def option_name(argument: str) -> str:
    """``retry_max_attempts`` → ``retry.maxAttempts``; ``rows_per_second`` → ``rowsPerSecond``."""
    if argument in ALIASES | FAMILIES:
        return (ALIASES | FAMILIES)[argument]
    family, _, rest = argument.partition("_")
    if family in ("retry", "oauth", "tls"):
        return f"{family}.{option_name(rest)}"
    return re.sub(r"_(.)", lambda match: match[1].upper(), argument)


@contextmanager
def helper() -> Iterator[None]:
    """Errors within are read by somebody who wrote Python arguments."""
    global _helped
    _helped = True
    token = _depth.set(_depth.get() + 1)
    try:
        yield
    finally:
        _depth.reset(token)


def started(run_id: object) -> None:
    """Errors of this query, too."""
    _runs.add(str(run_id))


def are_pythons(message: str, before_start: bool) -> bool:
    """Whether the reader of a message wrote Python arguments: in a helper, or of a query that a helper started.

    Args:
        before_start: whether it is of the kind that a plain call of Spark's raises before anything runs.
    """
    if _depth.get() > 0:
        return True
    if match := _RUN.search(message):
        return match[1] in _runs
    return _helped and not before_start


def in_python(text: str) -> str:
    """``Set onNewQuery=append`` → ``Set on_new_query="append"``."""
    arguments, pattern = _known()
    text = re.sub(r"\b([Tt]he )option (?='[\w.]+')", r"\1argument ", text)
    text = re.sub(r"\.schema\((\"[^\"]*\")\)", r"schema=\1", text)
    text = text.replace(".trigger(availableNow=True)", "available_now=True")
    text = re.sub(r"\.trigger\(processingTime=(\"[^\"]*\")\)", r"processing_time=\1", text)

    def replaced(match: re.Match[str]) -> str:
        name, hint = arguments[match["name"]]
        return name if match["value"] is None else f"{name}={_literal(match['value'], hint)}"

    return pattern.sub(replaced, text)


@cache
def _known() -> tuple[dict[str, tuple[str, str]], re.Pattern[str]]:
    """By option, its argument and that one's type; and what finds an option in a text, alone or with a value."""
    from epochal import read, write

    functions: list[Callable[..., Any]] = [read.random, read.rest, write.rest, write.jdbc]
    arguments = {
        option_name(name): (name, str(parameter.annotation))
        for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in FAMILIES and name not in ("spark", "df", "streaming")
    }
    names = "|".join(re.escape(name) for name in sorted(arguments, key=len, reverse=True))
    return arguments, re.compile(
        rf"(?<![\w./?&-])(?P<name>{names})(?:=(?P<value>{_VALUE}(?:,{_VALUE})*)|(?![\w=-]|\.\w))"
    )


def _literal(value: str, hint: str) -> str:
    if "bool" in hint and value in ("true", "false"):
        return value.capitalize()
    if re.match(r"(int|float)\b", hint):
        return value
    if "Sequence[str]" in hint:
        return "[" + ", ".join(f'"{one}"' for one in value.split(",")) + "]"
    if hint.startswith("Mapping") and all(":" in pair for pair in value.split(",")):
        return "{" + ", ".join('"{}": "{}"'.format(*pair.split(":", 1)) for pair in value.split(",")) + "}"
    return f'"{value}"'
