"""Errors for unknown keyword arguments that name the one that was meant."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from epochal._errors import UnknownArgumentError

_F = TypeVar("_F", bound=Callable[..., Any])
#: Other names for an argument, each with the argument as it is written, such as ``http=Http(timeout=…)``.
Spellings = Iterable[tuple[str, str]]


def suggesting(function: _F, spellings: Callable[[], Spellings] = tuple, more: Sequence[str] = ()) -> _F:
    """Adds what was meant to the ``TypeError`` for an unknown argument, as Python 3.13 does without ``spellings``.

    Args:
        more: names of the function's ``**`` parameter; without any, it accepts all.
    """
    parameters = inspect.signature(function).parameters.values()
    names = [one.name for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(names) < len(parameters):
        if not more:
            return function
        names += more

    @wraps(function)
    def call(*positional: Any, **keywords: Any) -> Any:
        if misspelling := next((name for name in keywords if name not in names), None):
            nearest = _nearest(misspelling, names, spellings())
            suggestion = f". Did you mean {nearest}?" if nearest else ""
            raise UnknownArgumentError(
                f"{function.__qualname__}() got an unexpected keyword argument '{misspelling}'{suggestion}"
            )
        return function(*positional, **keywords)

    return cast("_F", call)


def _nearest(misspelling: str, names: Sequence[str], spellings: Spellings) -> str | None:
    close = difflib.get_close_matches(misspelling, names, 1)
    if not difflib.get_close_matches(misspelling, close, 1, 0.85):
        for name, argument in spellings:
            if _plain(name) == _plain(misspelling):
                return argument
    return f"'{close[0]}'" if close else None


def _plain(name: str) -> str:
    """``retry.maxAttempts`` and ``max_attempts`` are the same name."""
    return name.rpartition(".")[2].replace("_", "").lower()
