"""Maps the parameters of a helper to options of the jar: single options, families of options, and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from epochal._arguments import Spellings, suggesting
from epochal._errors import OptionError
from epochal._options import OptionValue, text
from epochal._values.secret import MASK
from epochal._values.value import Option, Setting, Value, settings_of, shown, within, without_login

_F = TypeVar("_F", bound=Callable[..., Any])


class Options(dict[str, str]):
    """Options as texts, for Spark. Secrets are masked when printed."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        kept = [*settings]
        super().__init__((setting.option, setting.text) for setting in kept)
        self._hidden = frozenset(setting.option for setting in kept if setting.secret)

    def __repr__(self) -> str:
        return repr({name: MASK if name in self._hidden else without_login(text) for name, text in self.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return Options, ([Setting(name, text, "", name in self._hidden) for name, text in self.items()],)


@dataclass(frozen=True)
class Form:
    """The parameters of a helper that are options.

    Attributes:
        format: name of the format.
        caller: name of the helper, for messages.
        plain: parameters for an option or a family of options.
        values: parameters for values, with the accepted classes.
        lists: parameters that also accept a list of values.
        unset: classes whose defaults apply if no value is passed.
        lacks: options of the values that the format does not have.
    """

    format: str
    caller: str
    plain: Mapping[str, Option]
    values: Mapping[str, tuple[type[Value], ...]]
    lists: frozenset[str] = frozenset()
    unset: tuple[type[Value], ...] = ()
    lacks: frozenset[str] = frozenset()

    @property
    def is_source(self) -> bool:
        return self.caller.startswith("epochal.read.")

    def helper(self, function: _F) -> _F:
        """Decorates a function with these parameters: the error for an unknown one names the one that was meant."""
        return suggesting(function, self._spellings)

    def _spellings(self) -> Spellings:
        for name, option in self.plain.items():
            yield option.name, f"{name}=…"
        for name, kinds in self.values.items():
            for kind in kinds:
                yield from ((fixed, f"{name}=…") for fixed in kind._fixed)
                yield from within(name, kind)

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a helper that are options."""
        return {name: arguments[name] for name in (*self.plain, *self.values)}

    def options(self, given: Mapping[str, Any], more: Mapping[str, OptionValue] | None) -> Options:
        """The options that are set, as texts.

        Args:
            given: the helper's arguments; None means unset.
            more: options by the names that the jar gives them.

        Raises:
            OptionError: an argument has the wrong type, or two arguments set the same option.
        """
        found: dict[str, Setting] = {}
        for setting in [*self._settings(given), *self._more(more or {})]:
            before = found.setdefault(setting.option.lower(), setting)
            if before is not setting:
                raise OptionError(
                    "OPTION_CONFLICT",
                    f"{self.caller} was given '{setting.option}' twice: by {before.place} and by {setting.place}.",
                    "Keep one of them.",
                )
        return Options(found.values())

    def _settings(self, given: Mapping[str, Any]) -> Iterator[Setting]:
        for name, argument in given.items():
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
        requested = argument if isinstance(argument, str) else getattr(argument, "__name__", "")
        meant = next((kind for kind in kinds if kind.__name__.lower() == requested.replace("-", "").lower()), kinds[0])
        wanted = " or ".join(shown(kind) for kind in kinds)
        return OptionError(
            "OPTION_INVALID",
            f"The argument '{name}' of {self.caller} is of type {type(argument).__name__}, which is not {wanted}.",
            f"Set it like this: {name}={shown(meant)}(…).",
        )

    def kinds(self, get: Callable[[str], str | None]) -> tuple[type[Value], ...]:
        """The classes that the options choose, including nested ones, and those whose defaults apply.

        Args:
            get: returns the text of an option, or None if it is not set.
        """
        found: list[type[Value]] = []
        for group in self.values.values():
            chosen = [kind for kind in group for name, text in kind._fixed.items() if get(name) == text]
            found += chosen or [kind for kind in self.unset if kind in group]
            for one in (one for kind in chosen for one in fields(kind) if one.metadata.get("chooses")):
                text = get(one.metadata["chooses"])
                found += [part for part in one.metadata["part"] if text in part._fixed.values()]
        return tuple(found)
