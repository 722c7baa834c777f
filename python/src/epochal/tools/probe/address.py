"""Addresses: parsing, parameters, and masking of secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, quote, unquote_plus, urljoin, urlsplit

from epochal._values.secret import MASK
from epochal._values.value import without_login
from epochal.errors import OptionError

#: Characters that are not percent-encoded in an address.
_LEGAL = "%/:@!$&'()*+,;=~-._?[]"
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECRET = frozenset(
    [
        "apikey",
        "appid",
        "appkey",
        "auth",
        "authorization",
        "credential",
        "credentials",
        "jwt",
        "key",
        "password",
        "passwd",
        "pwd",
        "secret",
        "session",
        "sig",
        "signature",
        "token",
    ]
)
#: Words that make a name with one of the words above harmless: ``page_token``, ``sort_key``.
_PAGING = frozenset(
    ["after", "before", "continuation", "cursor", "next", "page", "previous", "skip", "sort", "start", "sync"]
)


@dataclass(frozen=True)
class Address:
    """An address without user info and fragment.

    Attributes:
        origin: scheme, host and port, in lower case.
        path: the path, percent-encoded.
        pairs: the parameters as written, ``name=value``.
    """

    origin: str
    path: str
    pairs: tuple[str, ...]

    @classmethod
    def parse(cls, url: str) -> Address:
        """Parses an address from the user.

        Raises:
            OptionError: it is not an HTTP address, or contains a login.
        """
        parts = _split(url.strip())
        if parts is None:
            raise OptionError(
                "OPTION_INVALID",
                f"The argument 'url' of epochal.rest.probe is {without_login(url).partition('?')[0]!r}, "
                "which is not an HTTP address.",
                'Set it like this: "https://api.example.com/comments".',
            )
        if "@" in parts.netloc:
            raise OptionError(
                "OPTION_INVALID",
                "The argument 'url' of epochal.rest.probe contains a login.",
                'Remove it, and set auth=rest.Basic(user="…", password=Secret.env("PASSWORD")) '
                "(--auth on the command line).",
            )
        origin = f"{parts.scheme.lower()}://{_host(parts.netloc.lower())}"
        pairs = tuple(quote(pair, safe=_LEGAL) for pair in parts.query.split("&") if pair)
        return cls(origin, quote(parts.path or "/", safe=_LEGAL), pairs)

    @property
    def url(self) -> str:
        return f"{self.origin}{self.target}"

    @property
    def target(self) -> str:
        """The request target: path and query."""
        return self.path + (f"?{'&'.join(self.pairs)}" if self.pairs else "")

    @property
    def params(self) -> dict[str, str]:
        """The parameters by name, decoded."""
        return dict(map(_decode, self.pairs))

    def with_params(self, params: Mapping[str, str | int]) -> Address:
        """The address with these parameters set, each of them once."""
        pairs = (f"{quote(name, safe='')}={quote(str(value), safe='')}" for name, value in params.items())
        return replace(self, pairs=(*self.without(params).pairs, *pairs))

    def without(self, names: Iterable[str]) -> Address:
        """The address without these parameters."""
        excluded_names = {*names}
        return replace(self, pairs=tuple(pair for pair in self.pairs if _decode(pair)[0] not in excluded_names))

    def follow(self, reference: str) -> Address | None:
        """Resolves a link on the page at this address; None if it is not a link, or leads to another server.

        An API behind a proxy often generates http links although clients use https: these are followed with https.
        """
        try:
            there = Address.parse(urljoin(self.url, quote(reference.strip(), safe=f"{_LEGAL}#")))
        except (OptionError, ValueError):
            return None
        secured = self.origin.startswith("https://") and there.origin == f"http://{self.origin[8:]}"
        if not secured and _with_port(there.origin) != _with_port(self.origin):
            return None
        return replace(there, origin=self.origin)

    def shown(self, secret: Collection[str] = ()) -> str:
        """The address with secrets masked: parameters with these names, and with names that suggest a secret."""

        def pair(text: str) -> str:
            name, value = _decode(text)
            return f"{text.partition('=')[0]}={MASK}" if value and (name in secret or is_secret(name)) else text

        return replace(self, pairs=tuple(map(pair, self.pairs))).url


def is_secret(name: str) -> bool:
    """Whether the name of a parameter or a header suggests that its value is secret."""
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool(words & _SECRET) and not words & _PAGING


def variable(name: str) -> str:
    """The environment variable for the value of a header or parameter: ``API_KEY`` for ``X-Api-Key``."""
    words = [word.upper() for word in re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))]
    if len(words) > 1 and words[0] == "X":
        words = words[1:]
    text = "_".join(words)
    return text if text[:1].isalpha() else f"API_{text}".rstrip("_")


def _split(url: str) -> SplitResult | None:
    """The parts of an HTTP address; None if it is not one."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    is_http = parts.scheme.lower() in ("http", "https") and parts.hostname
    return parts if is_http and not re.search(r"[\x00-\x20\x7f]", url) else None


def _host(netloc: str) -> str:
    try:
        return netloc.encode("ascii").decode()
    except UnicodeEncodeError:
        name, colon, port = netloc.partition(":")
        return name.encode("idna").decode() + colon + port


def _decode(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return unquote_plus(name), unquote_plus(value)


def _with_port(origin: str) -> str:
    port = {"http": 80, "https": 443}[origin.partition(":")[0]]
    return origin if re.search(r":\d+$", origin) else f"{origin}:{port}"
