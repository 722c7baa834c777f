"""The command ``probe``: arguments and output. It needs neither Spark nor rich."""

from __future__ import annotations

import argparse
import re
from typing import Any

from epochal._values.auth import AnyAuth, ApiKey, Basic, Bearer
from epochal._values.http import Http, Proxy, Tls
from epochal._values.secret import Secret
from epochal.errors import OptionError
from epochal.tools.cli import shared
from epochal.tools.probe import DELAY, REQUESTS, probe

#: Exit code if the printed program does not read the whole list, or may not.
INCOMPLETE = 3

_AUTH = (
    "bearer:SECRET, basic:USER:SECRET, header:NAME:SECRET or param:NAME:SECRET; SECRET is env:NAME, file:PATH or itself"
)


def add(commands: Any) -> None:
    """Adds the command to the parser's own."""
    parser = shared.command(commands, "probe", "find out with a few requests how to read a REST API", run)
    parser.add_argument("url", help="address of a list of records")
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="a request header")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="a query parameter")
    parser.add_argument("--auth", action="append", default=[], metavar="SCHEME", help=f"credentials: {_AUTH}")
    parser.add_argument("--requests", type=int, default=REQUESTS, help=f"maximum requests (default: {REQUESTS})")
    parser.add_argument("--delay", type=float, default=DELAY, help=f"seconds between requests (default: {DELAY})")
    parser.add_argument("--timeout", help="how long to wait for the server's next bytes (default: 20s)")
    parser.add_argument("--ca-file", help="certificate authorities to trust, in PEM")
    parser.add_argument("--proxy", help="HTTP proxy, as http://host:port")


def run(options: argparse.Namespace) -> int:
    """Probes the API and prints the result; returns the exit code: 0, or ``INCOMPLETE``."""
    try:
        result = probe(
            options.url,
            headers=dict(_pair("--header", text, ":") for text in options.header) or None,
            params=dict(_pair("--param", text, "=") for text in options.param) or None,
            auth=[_auth(text) for text in options.auth] or None,
            http=_http(options),
            requests=options.requests,
            delay=options.delay,
        )
    except OptionError as error:
        raise OptionError(error.condition, *map(_in_arguments, (error.problem, error.hint))) from None
    shared.show(options, result, result.as_dict())
    return shared.FINE if result.complete else INCOMPLETE


def _pair(name: str, text: str, separator: str) -> tuple[str, str]:
    left, mark, right = text.partition(separator)
    if not mark or not left.strip():
        raise _wrong(name, f"is not NAME{separator}VALUE", f"{name} 'name{separator}value'")
    return left.strip(), right.strip() if separator == ":" else right


def _auth(text: str) -> AnyAuth:
    kind, _, rest = text.partition(":")
    if kind == "bearer" and rest:
        return Bearer(_secret(rest))
    name, _, secret = rest.partition(":")
    if kind in ("basic", "header", "param") and name and secret:
        if kind == "basic":
            return Basic(user=name, password=_secret(secret))
        return ApiKey(_secret(secret), **{kind: name})
    raise _wrong("--auth", f"is none of {_AUTH}", "--auth bearer:env:TOKEN")


def _secret(text: str) -> Secret:
    kind, _, rest = text.partition(":")
    if kind in ("env", "file") and rest:
        return Secret.env(rest) if kind == "env" else Secret.file(rest)
    return Secret(text)


def _http(options: argparse.Namespace) -> Http | None:
    if options.timeout is None and not options.ca_file and not options.proxy:
        return None
    return Http(
        timeout=options.timeout,
        tls=Tls(ca_file=options.ca_file) if options.ca_file else None,
        proxy=Proxy(url=options.proxy) if options.proxy else None,
    )


def _in_arguments(text: str) -> str:
    """``The argument 'timeout' of Http`` → ``The argument --timeout``, and ``timeout="30s".`` → ``--timeout 30s.``"""

    def flag(name: str) -> str:
        return name if name == "url" else f"--{name.replace('_', '-')}"

    text = re.sub(r"'(\w+)' of [\w.]+", lambda match: flag(match[1]), text)
    return re.sub(r'\b(\w+)="?([\w.]+)"?\.$', lambda match: f"{flag(match[1])} {match[2]}.", text)


def _wrong(name: str, wrong: str, example: str) -> OptionError:
    return OptionError("OPTION_INVALID", f"The argument {name} {wrong}.", f"Set it like this: {example}.")
