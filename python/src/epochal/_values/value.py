"""Base class of the values: they are validated when created, and mask their secrets when printed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import get_annotations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from epochal._arguments import Spellings, suggesting
from epochal._errors import OptionError
from epochal._options import text
from epochal._values.kind import FAMILY, INFERENCE, JSON, NAMES, POINTERS, ROWS, SECRET, TABLES, Kind, of_annotation
from epochal._values.secret import MASK, Secret

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # only for type checkers; in typing since Python 3.11

    def dataclass_transform(**_: Any) -> Any:
        return lambda kind: kind


#: Public modules of the values, by the module that defines them; those of ``http`` are in ``epochal`` itself.
_PUBLIC: dict[str, str] = dict.fromkeys(("auth", "each", "pages", "poll", "records", "rows"), "rest")
_PUBLIC |= {"table": "jdbc", "ingest": "ingest", "cdc": "cdc"}

#: User and password before a host. A password may have a slash, if it does not begin like a port.
_LOGIN = re.compile(
    r"""(//)(?:[^/?#\s'"]*@|[^/?#@:\[\s'"]*:(?!\d*(?:[/?#\s'"]|$))[^\s'"]*@)|(jdbc:oracle:\w+:)(?!@)[^\s'"]*@"""
)
_PASSWORD = re.compile(r"(?i)(password=)[^&;'\"\s]*")


@dataclass(frozen=True)
class Option:
    """The option of the jar that a field sets.

    Attributes:
        secret: whether its value is masked when printed.
        example: a value, as Python source; empty for the example of its kind.
        own_doc: whether the docstring of the value describes it in place of the text of the jar.
    """

    name: str
    kind: Kind
    secret: bool = False
    example: str = ""
    own_doc: bool = False


class Setting(NamedTuple):
    """An option with its text, and the Python argument that set it.

    Attributes:
        place: the argument, such as ``rest.Offset(size=…)``.
        secret: whether the text is masked when printed.
    """

    option: str
    text: str
    place: str
    secret: bool = False


def of(
    name: str, kind: Kind | None = None, *, secret: bool = False, example: str = "", own_doc: bool = False
) -> Mapping[str, Any]:
    """Metadata of a field that sets an option; without a kind, that of the field's type."""
    return {"option": (name, kind, secret, example, own_doc)}


def option(name: str, kind: Kind | None = None, **more: Any) -> Any:
    """An optional field that sets an option. The arguments are those of ``of``."""
    return field(default=None, metadata=of(name, kind, **more))


def part(*kinds: type[Value], chooses: str | None = None, own_doc: bool = False) -> Any:
    """An optional field that is a value itself; ``chooses`` names an option that follows from the value's class."""
    return field(default=None, metadata={"part": kinds, "chooses": chooses, "own_doc": own_doc})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True, repr=False)
class Value:
    """A group of related options. Its subclasses are dataclasses of the same kind.

    >>> class Offset(Value, pagination="offset"): ...  # every instance sets the option pagination
    """

    #: Options that every instance sets.
    _fixed: ClassVar[Mapping[str, str]] = {}
    #: Fields that exclude each other, after what to do.
    _alternatives: ClassVar[Sequence[tuple[str, ...]]] = ()
    #: Fields that need another one.
    _dependent: ClassVar[Sequence[tuple[str, str]]] = ()

    def __init_subclass__(cls, **fixed: str) -> None:
        cls._fixed = {**cls._fixed, **fixed}
        for name, annotation in get_annotations(cls).items():
            one = vars(cls).get(name)
            if isinstance(one, Field) and isinstance(declared := one.metadata.get("option"), tuple):
                option, kind, secret, example, own_doc = declared
                kind = kind or of_annotation(eval(annotation, vars(sys.modules[cls.__module__])))
                assert kind is not None, name
                declared = Option(option, kind, secret or kind is SECRET or kind is FAMILY, example, own_doc)
                one.metadata = MappingProxyType({"option": declared})
        dataclass(frozen=True, kw_only=True, repr=False)(cls)
        type.__setattr__(cls, "__init__", suggesting(vars(cls)["__init__"], lambda: spellings(cls)))

    def __post_init__(self) -> None:
        for one in fields(self):
            argument = getattr(self, one.name)
            if argument is None and one.default is None:
                continue
            if declared := option_of(one):
                self._check(one.name, argument, declared)
                self._keep(one.name, argument, declared.kind)
            else:
                self._check_part(one.name, argument, one.metadata)
        for suggestion, *names in self._alternatives:
            self._exclusive(suggestion, *names)
        for name, needed in self._dependent:
            self._needs(name, needed)

    def __repr__(self) -> str:
        arguments = ((one, getattr(self, one.name)) for one in fields_of(type(self)))
        parts = ", ".join(f"{one.name}={_text_of(one, value)}" for one, value in arguments if value is not None)
        return f"{shown(type(self))}({parts})"

    def _check_part(self, name: str, argument: Any, metadata: Mapping[str, Any]) -> None:
        if not isinstance(argument, metadata["part"]):
            names = " or ".join(shown(kind) for kind in metadata["part"])
            raise self._invalid(name, f"is of type {type(argument).__name__}, which is not {names}", f"{names}(…)")

    def _check(self, name: str, argument: Any, declared: Option) -> None:
        kind = declared.kind
        if not kind.fits(argument):
            what = f"is of type {type(argument).__name__}" if declared.secret else f"is {argument!r}"
            raise self._invalid(
                name, f"{what}, which is not {kind.expected}", declared.example or kind.nearest(argument)
            )

    def _keep(self, name: str, argument: Any, kind: Kind) -> None:
        """Replaces a mutable argument with a copy, and a secret text with a ``Secret``."""
        if kind is SECRET and isinstance(argument, str):
            object.__setattr__(self, name, Secret(argument))
        elif kind is NAMES or (kind is POINTERS and not isinstance(argument, str)):
            object.__setattr__(self, name, tuple(argument))
        elif isinstance(argument, Mapping):
            object.__setattr__(self, name, dict(argument))

    def _invalid(self, name: str, wrong: str, example: str) -> OptionError:
        """The error for an invalid field."""
        problem = f"The argument '{name}' of {shown(type(self))} {wrong}."
        return OptionError("OPTION_INVALID", problem, f"Set it like this: {name}={example}.")

    def _conflict(self, names: str, suggestion: str) -> OptionError:
        """The error for fields that exclude each other."""
        problem = f"{shown(type(self))} was given arguments that exclude each other: {names}."
        return OptionError("OPTION_CONFLICT", problem, suggestion)

    def _exclusive(self, suggestion: str, *names: str) -> None:
        """Rejects more than one of these fields."""
        present = [name for name in names if getattr(self, name, None) is not None]
        if len(present) > 1:
            raise self._conflict(", ".join(present), suggestion)

    def _needs(self, name: str, needed: str) -> None:
        """Rejects a field without another one that it depends on."""
        if getattr(self, name) is not None and getattr(self, needed) is None:
            raise self._conflict(f"{name} without {needed}", f"Set {needed} too, or leave {name} out.")

    @classmethod
    def _is_chosen(cls, get: Callable[[str], str | None]) -> bool:
        """Whether options are those of this class: what it sets itself, or else what it requires.

        Args:
            get: returns the text of an option, or None if it is not set.
        """
        if cls._fixed:
            return all(get(name) == text for name, text in cls._fixed.items())
        required = [option.name for one in fields(cls) if one.default is MISSING and (option := option_of(one))]
        return bool(required) and all(get(name) is not None for name in required)

    def _options(self) -> Iterator[Setting]:
        """The options that this value sets."""
        for name, fixed in self._fixed.items():
            yield Setting(name, fixed, shown(type(self)))
        for one in fields(self):
            argument = getattr(self, one.name)
            if argument is None:
                continue
            if declared := option_of(one):
                yield from settings_of(declared, argument, f"{shown(type(self))}({one.name}=…)")
            else:
                yield from argument._options()


def fields_of(kind: type[Value]) -> list[Field[Any]]:
    """The fields of a class, those of its base classes last."""
    names = [name for one in kind.__mro__ for name in vars(one).get("__annotations__", {})]
    return sorted(fields(kind), key=lambda one: names.index(one.name))


def spellings(kind: type[Value]) -> Spellings:
    """The names of a value's options, and of what its parts consist of, with the argument of each."""
    for one in fields(kind):
        if option := option_of(one):
            yield option.name, f"{one.name}=…"
        for part in one.metadata.get("part", ()):
            yield from within(one.name, part)


def within(argument: str, kind: type[Value]) -> Spellings:
    """The names of fields and options of a value that an argument takes."""
    for one in fields(kind):
        yield one.name, f"{argument}={shown(kind)}({one.name}=…)"
    for name, spelling in spellings(kind):
        yield name, f"{argument}={shown(kind)}({spelling})"


def settings_of(declared: Option, argument: Any, place: str) -> Iterator[Setting]:
    """The options that a field or an argument sets."""
    if declared.kind is SECRET and isinstance(argument, str):
        argument = Secret(argument)
    if declared.kind is FAMILY:
        yield from (
            Setting(f"{declared.name}.{key}", member, place, declared.secret) for key, member in argument.items()
        )
    elif declared.kind in (TABLES, POINTERS) and not isinstance(argument, str):
        # Names of tables are spelled as in the option: with quotes of SQL where needed.
        yield Setting(declared.name, ",".join(argument), place, declared.secret)
    elif declared.kind is JSON or (declared.kind is ROWS and not isinstance(argument, str)):
        yield Setting(declared.name, json.dumps(argument), place, declared.secret)
    elif declared.kind is INFERENCE:
        yield from [Setting(declared.name, "true", place)] if argument == "infer" else []
    elif isinstance(argument, Secret):
        yield Setting(*argument.option(declared.name), place, argument.is_value)
    else:
        yield Setting(declared.name, text(argument), place, declared.secret)


def without_login(text: str) -> str:
    """Masks user and password in a text that may contain a URL."""
    return _PASSWORD.sub(rf"\1{MASK}", _LOGIN.sub(lambda match: f"{match[1] or match[2]}{MASK}@", text))


def shown(kind: type[Value]) -> str:
    """The public name of a class, such as ``rest.Offset``."""
    public = _PUBLIC.get(kind.__module__.rpartition(".")[2])
    return f"{public}.{kind.__name__}" if public else kind.__name__


def option_of(one: Field[Any]) -> Option | None:
    """The option that a field sets; None if the field is a value itself."""
    return one.metadata.get("option")


def _text_of(one: Field[Any], value: Any) -> str:
    declared = option_of(one)
    if declared is None or not declared.secret or isinstance(value, Secret):
        return without_login(repr(value))
    return repr(dict.fromkeys(value, MASK) if isinstance(value, Mapping) else MASK)
