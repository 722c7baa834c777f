"""Addresses: their parameters, and what of them may be shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, quote, unquote_plus, urljoin, urlsplit

from epochal.errors import OptionError

_MASK = "***"
#: What may stand in an address as it is; everything else is percent-encoded.
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
#: Words beside which those above name no secret: ``page_token``, ``sort_key``.
_PAGING = frozenset(
    ["after", "before", "continuation", "cursor", "next", "page", "previous", "skip", "sort", "start", "sync"]
)


@dataclass(frozen=True)
class Address:
    """An address without user info and fragment.

    Attributes:
        origin: scheme, host and port, in lower case, as they are written.
        path: percent-encoded.
        pairs: the parameters as they are written, ``name=value``.
    """

    origin: str
    path: str
    pairs: tuple[str, ...]

    @classmethod
    def parse(cls, url: str) -> Address:
        """An address that a user gave.

        Raises:
            OptionError: it is no address of HTTP, or has a login in it.
        """
        parts = _split(url.strip())
        if parts is None:
            raise OptionError(
                "OPTION_INVALID",
                "The argument 'url' of epochal.rest.probe is not an address of HTTP.",
                'Set it like this: "https://api.example.com/comments".',
            )
        if "@" in parts.netloc:
            raise OptionError(
                "OPTION_INVALID",
                "The argument 'url' of epochal.rest.probe has a login in it.",
                'Take it out, and set auth=rest.Basic(user="…", password=Secret.env("PASSWORD")).',
            )
        origin = f"{parts.scheme.lower()}://{_host(parts.netloc.lower())}"
        pairs = tuple(quote(pair, safe=_LEGAL) for pair in parts.query.split("&") if pair)
        return cls(origin, quote(parts.path or "/", safe=_LEGAL), pairs)

    @property
    def url(self) -> str:
        return f"{self.origin}{self.target}"

    @property
    def target(self) -> str:
        """What is asked of the server: path and query."""
        return self.path + (f"?{'&'.join(self.pairs)}" if self.pairs else "")

    @property
    def params(self) -> dict[str, str]:
        """The parameters by name, decoded."""
        return dict(map(_decoded, self.pairs))

    def with_params(self, params: Mapping[str, str | int]) -> Address:
        """The address in which these parameters have these values, and each stands once."""
        added = (f"{quote(name, safe='')}={quote(str(value), safe='')}" for name, value in params.items())
        return replace(self, pairs=(*self.without(params).pairs, *added))

    def without(self, names: Iterable[str]) -> Address:
        """The address without these parameters."""
        gone = {*names}
        return replace(self, pairs=tuple(pair for pair in self.pairs if _decoded(pair)[0] not in gone))

    def follow(self, reference: str) -> Address | None:
        """The address of a link on the page that this one leads to; None where it is none, or leads to another server.

        An API behind a proxy often does not know that it is asked by https: its links are followed by https.
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
        """The address without what may be secret: parameters of these names, or of names that suggest it."""

        def pair(text: str) -> str:
            name, value = _decoded(text)
            return f"{text.partition('=')[0]}={_MASK}" if value and (name in secret or is_secret(name)) else text

        return replace(self, pairs=tuple(map(pair, self.pairs))).url


def is_secret(name: str) -> bool:
    """Whether the name of a parameter or a header suggests that its value is secret."""
    words = {word.lower() for word in _WORDS.findall(name)}
    return bool(words & _SECRET) and not words & _PAGING


def variable(name: str) -> str:
    """The variable of the environment that stands for a header or a parameter: of ``X-Api-Key`` it is ``API_KEY``."""
    words = [word.upper() for word in re.findall(r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))]
    if len(words) > 1 and words[0] == "X":
        words = words[1:]
    found = "_".join(words)
    return found if found[:1].isalpha() else f"API_{found}".rstrip("_")


def _split(url: str) -> SplitResult | None:
    """The parts of an address of HTTP; None where it is none."""
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


def _decoded(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=")
    return unquote_plus(name), unquote_plus(value)


def _with_port(origin: str) -> str:
    port = {"http": 80, "https": 443}[origin.partition(":")[0]]
    return origin if re.search(r":\d+$", origin) else f"{origin}:{port}"
