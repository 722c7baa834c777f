"""Secrets, by value or by the place where the driver reads them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from epochal._errors import OptionError

#: Printed in place of a secret.
MASK = "***"


@dataclass(frozen=True, repr=False)
class Secret:
    """A password, token or key, by value or by the place where the driver reads it. Its value is never printed.

    Wherever a ``Secret`` is accepted, a plain string is the value. A file or an environment variable is read on the
    driver each time the secret is needed, which keeps the secret out of code and notebooks.

    >>> Secret("hunter2"), Secret.env("TOKEN"), Secret.file("/run/secrets/token")
    (Secret('***'), Secret.env('TOKEN'), Secret.file('/run/secrets/token'))
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
        """A secret in an environment variable of the driver."""
        return cls(name, "Env")

    @classmethod
    def file(cls, path: str | os.PathLike[str]) -> Secret:
        """A secret in a file that the driver reads; a line break at its end is ignored."""
        return cls(os.fspath(path), "File")

    def __repr__(self) -> str:
        return f"Secret{_METHODS[self._suffix]}({(self.value if self._suffix else MASK)!r})"

    @property
    def is_value(self) -> bool:
        """Whether this is the secret itself instead of its place."""
        return not self._suffix

    def here(self) -> Secret:
        """The secret by value, read in this process.

        Raises:
            OptionError: the variable or file does not exist, is empty or cannot be read (``SECRET_UNREADABLE``).
        """
        if self.is_value:
            return self
        content, reason = "", "it is empty"
        try:
            content = os.environ[self.value] if self._suffix == "Env" else _content(self.value)
        except KeyError:
            reason = "there is no such variable"
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not a text in UTF-8"
        if self._suffix == "File" and ("\n" in content or "\r" in content):
            content, reason = "", "it has more than one line"
        if not content:
            raise OptionError(
                "SECRET_UNREADABLE",
                f"The secret cannot be read from the {_PLACES[self._suffix]} {self.value!r}: {reason}.",
                "It is read in this process: put the secret there, in one line.",
            )
        return Secret(content)

    def option(self, name: str) -> tuple[str, str]:
        """Name and text of the option that passes the secret to the jar."""
        return f"{name}{self._suffix}", self.value


def _content(path: str) -> str:
    return Path(path).read_text("utf-8").removesuffix("\n").removesuffix("\r")


_PLACES = {"Env": "variable", "File": "file"}
_METHODS = {"": "", "Env": ".env", "File": ".file"}
#: How a secret is written in Python, by the suffix of its option.
SPELLED = {"": 'Secret("…")', "Env": 'Secret.env("…")', "File": 'Secret.file("…")'}
