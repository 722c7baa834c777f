"""The helpers' parameters that are options of the jar: single options, families of options, and values.

A helper's signature declares them; this module adds what a signature cannot express.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from typing import Any, Final, TypeVar, get_args, get_origin

from epochal._arguments import Spellings, suggesting
from epochal._errors import OptionError
from epochal._options import OptionValue, text
from epochal._values import ingest, pages, records
from epochal._values.kind import (
    FAMILY,
    INFERENCE,
    INSTANT,
    SECRET,
    TABLE,
    TABLES,
    TEXT,
    Kind,
    of_annotation,
    whole,
)
from epochal._values.secret import MASK
from epochal._values.value import Option, Setting, Value, settings_of, shown, within, without_login

_F = TypeVar("_F", bound=Callable[..., Any])
#: Parameters for Spark itself, and the further options.
_OF_SPARK = {
    "spark",
    "df",
    "schema",
    "streaming",
    "checkpoint",
    "trigger",
    "output_mode",
    "query_name",
    "options",
    "return",
}


class Options(dict[str, str]):
    """Options as texts, for Spark. Secrets are masked when printed."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        everything = [*settings]
        super().__init__((setting.option, setting.text) for setting in everything)
        self._secrets = frozenset(setting.option for setting in everything if setting.secret)

    def __repr__(self) -> str:
        return repr({name: MASK if name in self._secrets else without_login(text) for name, text in self.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return Options, ([Setting(name, text, "", name in self._secrets) for name, text in self.items()],)


@dataclass
class Form:
    """The parameters of a helper that are options: those whose annotations are types of options, or values.

    Attributes:
        format: name of the format.
        caller: name of the helper, for messages.
        declared: the kind of a parameter if its annotation does not show it, or its option if that has another name.
        unset: classes whose defaults apply if no value is passed.
        lacks: options of the values that the format does not have.
        plain: parameters for an option or a family of options.
        values: parameters for values, with the accepted classes.
        lists: parameters that also accept a list of values.
    """

    format: str
    caller: str
    declared: Mapping[str, Kind | Option] = field(default_factory=dict)
    unset: tuple[type[Value], ...] = ()
    lacks: frozenset[str] = frozenset()
    plain: dict[str, Option] = field(default_factory=dict)
    values: dict[str, tuple[type[Value], ...]] = field(default_factory=dict)
    lists: set[str] = field(default_factory=set)

    @property
    def is_source(self) -> bool:
        return self.caller.startswith("epochal.read.")

    def helper(self, function: _F) -> _F:
        """Decorates a function with these parameters: the error for an unknown one names the one that was meant."""
        for name, annotation in get_annotations(function).items():
            if declared := self.declared.get(name):
                self._add_option(name, declared)
            elif name not in _OF_SPARK and not str(annotation).startswith("Unpack["):
                self._add(name, eval(annotation, vars(sys.modules[function.__module__])))
        return suggesting(function, self._spellings, (*self.plain, *self.values, "options"))

    def _add(self, name: str, annotation: Any) -> None:
        parts = [part for one in get_args(annotation) or [annotation] for part in get_args(one) or [one]]
        if kinds := tuple(dict.fromkeys(one for one in parts if isinstance(one, type) and issubclass(one, Value))):
            self.values[name] = kinds
            self.lists |= {name for one in get_args(annotation) if get_origin(one) is Sequence}
        elif kind := of_annotation(annotation):
            self._add_option(name, kind)

    def _add_option(self, name: str, declared: Kind | Option) -> None:
        if isinstance(declared, Kind):
            option = re.sub(r"_(\w)", lambda match: match[1].upper(), name)
            declared = Option(option, declared, declared is SECRET or declared is FAMILY)
        self.plain[name] = declared

    def _spellings(self) -> Spellings:
        for name, option in self.plain.items():
            yield option.name, f"{name}={option.kind.example if option.kind is INFERENCE else '…'}"
        for name, kinds in self.values.items():
            for kind in kinds:
                yield kind.__name__, f"{name}={shown(kind)}(…)"
                yield from ((class_option, f"{name}=…") for class_option in kind._fixed)
                yield from within(name, kind)

    def select(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a helper that are options."""
        return {name: arguments[name] for name in (*self.plain, *self.values)}

    def options(self, arguments: Mapping[str, Any], more: Mapping[str, OptionValue] | None) -> Options:
        """The options that the arguments set, and more by their own names, as texts.

        Raises:
            OptionError: an argument has the wrong type, or two arguments set the same option.
        """
        settings: dict[str, Setting] = {}
        for setting in [*self._settings(arguments), *self._more(more or {})]:
            before = settings.setdefault(setting.option.lower(), setting)
            if before is not setting:
                raise OptionError(
                    "OPTION_CONFLICT",
                    f"{self.caller} was given '{setting.option}' twice: by {before.place} and by {setting.place}.",
                    "Keep one of them.",
                )
        return Options(settings.values())

    def _settings(self, arguments: Mapping[str, Any]) -> Iterator[Setting]:
        for name, argument in arguments.items():
            if argument is None:
                continue
            if name in self.plain:
                yield from settings_of(self.plain[name], argument, name)
                continue
            several = name in self.lists and isinstance(argument, list | tuple)
            for one in argument if several else [argument]:
                if not isinstance(one, self.values[name]):
                    raise self._wrong_type(name, one)
                for setting in one._options():
                    if setting.option in self.lacks:
                        raise OptionError("OPTION_UNKNOWN", f"{self.caller} has no {setting.place}.", "Leave it out.")
                    yield setting

    def _more(self, more: Mapping[str, OptionValue]) -> Iterator[Setting]:
        for name, value in more.items():
            yield Setting(name, text(value), f"options={{'{name}': …}}", secret=True)

    def _wrong_type(self, name: str, argument: object) -> OptionError:
        """The error for an argument of a wrong type. It does not show the argument, which may be a secret."""
        kinds = self.values[name]
        spelling = argument if isinstance(argument, str) else getattr(argument, "__name__", "")
        nearest = next((kind for kind in kinds if kind.__name__.lower() == spelling.replace("-", "").lower()), kinds[0])
        names = " or ".join(shown(kind) for kind in kinds)
        return OptionError(
            "OPTION_INVALID",
            f"The argument '{name}' of {self.caller} is of type {type(argument).__name__}, which is not {names}.",
            f"Set it like this: {name}={shown(nearest)}(…).",
        )

    def kinds(self, get: Callable[[str], str | None]) -> tuple[type[Value], ...]:
        """The classes that the options choose, including nested ones, and those whose defaults apply.

        Args:
            get: returns the text of an option, or None if it is not set.
        """
        kinds: list[type[Value]] = []
        for group in self.values.values():
            chosen = [kind for kind in group if kind._is_chosen(get)]
            kinds += chosen or [kind for kind in self.unset if kind in group]
            for one in (one for kind in chosen for one in fields(kind) if one.metadata.get("chooses")):
                text = get(one.metadata["chooses"])
                kinds += [part for part in one.metadata["part"] if text in part._fixed.values()]
        return tuple(kinds)


_NO_BYTES: Final = frozenset({"maxBytesPerBatch"})
_LONG: Final = whole(declared="long")

RANDOM: Final = Form(
    "epochal-random",
    "epochal.read.random",
    dict.fromkeys(("rows_per_second", "rows_per_batch", "seed"), _LONG)
    | {"max_rows": whole(0, "long"), "min_length": whole(0), "max_length": whole(0), "start_timestamp": INSTANT},
    lacks=_NO_BYTES,
)
INGEST: Final = Form("epochal-ingest", "epochal.read.ingest", unset=(ingest.Text,))
CDC: Final = Form(
    "epochal-cdc",
    "epochal.read.cdc",
    {"table": Option("dbtable", TABLES)},
    lacks=frozenset({"driver", "maxConnections", "lockTimeout"}),
)
REST: Final = Form(
    "epochal-rest",
    "epochal.read.rest",
    {"schema": Option("inferSchema", INFERENCE), "request_body": Option("requestBody", TEXT, secret=True)},
    unset=(pages.NoPages, records.Json),
    lacks=_NO_BYTES,
)
REST_SINK: Final = Form("epochal-rest sink", "epochal.write.rest")
JDBC: Final = Form("epochal-jdbc", "epochal.write.jdbc", {"table": Option("dbtable", TABLE)})
CHECKPOINT: Final = Form("epochal-checkpoint", "epochal.read.checkpoint_log", {"path": TEXT})
#: Spark's own format, which the jar has no part in.
JDBC_SOURCE: Final = Form("jdbc", "epochal.read.jdbc", {"table": Option("dbtable", TABLE)})
#: A sink's ledger: the table is that of the ledger.
LEDGER: Final = Form("epochal-jdbc", "epochal.ledger", {"schema": Option("dbtable", TABLE)})

#: By format, those over options of the jar.
FORMS: Final = {form.format: form for form in (REST, RANDOM, INGEST, REST_SINK, JDBC, CDC, CHECKPOINT)}
