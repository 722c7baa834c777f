"""Where a secret comes from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from epochal._errors import OptionError

_MASK = "***"


@dataclass(frozen=True, repr=False)
class Secret:
    """A password, token or key: by its value, or by where the driver reads it. It is printed without its value.

    A plain text in its place is the value. A file, or a variable of the environment, is read on the driver, whenever
    the secret is needed; it stays out of the code and out of notebooks.

    >>> Secret("hunter2"), Secret.env("TOKEN"), Secret.file("/run/secrets/token")
    (Secret('***'), Secret.env('TOKEN'), Secret.file('/run/secrets/token'))

    Args:
        value: the secret itself.
    """

    value: str
    _suffix: str = ""

    def __post_init__(self) -> None:
        given: object = self.value
        if not isinstance(given, str) or not given:
            raise OptionError(
                "OPTION_INVALID",
                f"A Secret{_METHODS[self._suffix]} is not a text, or empty.",
                'Set it like this: Secret.env("TOKEN"), Secret.file("/run/secrets/token") or Secret("value").',
            )

    @classmethod
    def env(cls, name: str) -> Secret:
        """In an environment variable of the driver."""
        return cls(name, "Env")

    @classmethod
    def file(cls, path: str | os.PathLike[str]) -> Secret:
        """In a file that the driver reads; a line break at its end does not count."""
        return cls(os.fspath(path), "File")

    def __repr__(self) -> str:
        return f"Secret{_METHODS[self._suffix]}({(self.value if self._suffix else _MASK)!r})"

    @property
    def is_value(self) -> bool:
        """Whether it is the secret itself, and not the place where it is."""
        return not self._suffix

    def here(self) -> Secret:
        """By its value, read in this process.

        Raises:
            OptionError: there is no such variable or file (``SECRET_UNREADABLE``).
        """
        if self.is_value:
            return self
        try:
            found = os.environ[self.value] if self._suffix == "Env" else _content(self.value)
        except (KeyError, OSError, UnicodeDecodeError) as error:
            why = {KeyError: "it is not set", UnicodeDecodeError: "it is no text"}.get(type(error), "it cannot be read")
            raise OptionError(
                "SECRET_UNREADABLE",
                f"{self!r} has no secret in this process: {why}.",
                'Correct it, or give the password itself: Secret("…").',
            ) from None
        return Secret(found)

    def option(self, name: str) -> tuple[str, str]:
        """The option that says where it is, and that option's text."""
        return f"{name}{self._suffix}", self.value


def _content(path: str) -> str:
    return Path(path).read_text("utf-8").removesuffix("\n").removesuffix("\r")


_METHODS = {"": "", "Env": ".env", "File": ".file"}
#: By the suffix of the option, how a secret is written.
SPELLED = {"": 'Secret("…")', "Env": 'Secret.env("…")', "File": 'Secret.file("…")'}
