"""What the parameters of a helper mean: an option of the jar, a family of options, or a value that has some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from epochal._errors import OptionError
from epochal._options import OptionValue, text
from epochal._values.value import MASK, Option, Setting, Value, settings_of, shown, without_login


class Options(dict[str, str]):
    """Options as texts, for Spark; printed without secrets."""

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
        format: the name of the format in the jar's declaration of options.
        caller: the helper, for messages.
        plain: parameters that are an option, or a family of options.
        values: parameters that take a value, and its classes.
        lists: those of them that take several.
        unset: the classes whose defaults hold where no value is given.
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

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Of a helper's arguments, those that are options."""
        return {name: arguments[name] for name in (*self.plain, *self.values)}

    def options(self, given: Mapping[str, Any], more: Mapping[str, OptionValue] | None) -> Options:
        """The options that are set, as texts.

        Args:
            given: the helper's arguments; None is not set.
            more: options by the jar's own names.

        Raises:
            OptionError: an argument is no value of the right kind, or two of them set the same option.
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
                    raise self._no_value(name, one)
                for setting in one._options():
                    if setting.option in self.lacks:
                        raise OptionError("OPTION_UNKNOWN", f"{self.caller} has no {setting.place}.", "Leave it out.")
                    yield setting

    def _more(self, more: Mapping[str, OptionValue]) -> Iterator[Setting]:
        for name, value in more.items():
            yield Setting(name, text(value), f"options={{'{name}': …}}", secret=True)

    def _no_value(self, name: str, argument: object) -> OptionError:
        """Says what is wanted, and not what was given, which may be a secret."""
        kinds = self.values[name]
        said = argument if isinstance(argument, str) else getattr(argument, "__name__", "")
        meant = next((kind for kind in kinds if kind.__name__.lower() == said.replace("-", "").lower()), kinds[0])
        wanted = " or ".join(shown(kind) for kind in kinds)
        return OptionError(
            "OPTION_INVALID",
            f"The argument '{name}' of {self.caller} is of type {type(argument).__name__}, which is not {wanted}.",
            f"Set it like this: {name}={shown(meant)}(…).",
        )

    def kinds(self, get: Callable[[str], str | None]) -> tuple[type[Value], ...]:
        """The classes that options choose, those within others after them, and those whose defaults hold.

        Args:
            get: the text of an option, None where it is not set.
        """
        found: list[type[Value]] = []
        for group in self.values.values():
            chosen = [kind for kind in group for name, text in kind._fixed.items() if get(name) == text]
            found += chosen or [kind for kind in self.unset if kind in group]
            for one in (one for kind in chosen for one in fields(kind) if one.metadata.get("chooses")):
                text = get(one.metadata["chooses"])
                found += [part for part in one.metadata["part"] if text in part._fixed.values()]
        return tuple(found)
