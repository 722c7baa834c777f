"""Credentials of requests, and their form without secrets in the printed program."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from epochal._values.auth import AnyAuth, ApiKey, Basic, Bearer
from epochal._values.http import Http
from epochal._values.kind import FAMILY
from epochal._values.secret import MASK, Secret
from epochal.errors import OptionError
from epochal.tools.probe.address import Address, is_secret, variable

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
#: Headers whose values are not secret.
_PUBLIC = re.compile(r"accept(-language)?|content-type|prefer|user-agent|.*version", re.IGNORECASE)
#: Shorter secrets are not masked in texts: they could occur there by chance.
_MIN_LENGTH = 5


class Environ(str):
    """The name of an environment variable in place of a secret text."""

    __slots__ = ()


@dataclass(frozen=True)
class Credentials:
    """Headers and secret parameters of every request.

    Attributes:
        headers: the user's headers and those of ``auth``.
        params: parameters of ``auth``, also added to addresses from the server.
        secrets: texts to mask in all output.
        arguments: ``auth``, ``headers`` and ``params`` of the printed program.
    """

    headers: Mapping[str, str]
    params: Mapping[str, str]
    secrets: tuple[str, ...]
    arguments: Mapping[str, Any]

    def mask(self, text: str) -> str:
        """Masks the secrets in a text."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text


def of(
    address: Address,
    auth: AnyAuth | Sequence[AnyAuth] | None,
    headers: Mapping[str, str] | None,
) -> tuple[Address, Credentials]:
    """The address without its secret parameters, and the credentials.

    Raises:
        OptionError: a header cannot be sent, a secret cannot be read, or only the jar supports the scheme of ``auth``.
    """
    schemes: list[AnyAuth] = [] if auth is None else [auth] if isinstance(auth, AnyAuth) else [*auth]
    own_headers, query, secrets = dict(_check_headers(headers or {})), dict[str, str](), list[str]()
    program_schemes: list[AnyAuth] = []
    for scheme in schemes:
        names = {name.lower() for name in own_headers}
        for place, name, value in _additions(scheme):
            if place == "header" and name.lower() in names:
                raise _conflict(name)
            (own_headers if place == "header" else query)[name] = value
        secrets += _secrets(scheme)
        program_schemes.append(_without_values(scheme))
    key_params = {name for scheme in schemes if isinstance(scheme, ApiKey) for name in [scheme.param] if name}
    secret_params = {
        name: value for name, value in address.params.items() if is_secret(name) and name not in key_params
    }
    plain = dict[str, str]()
    for name, value in (headers or {}).items():
        _add_to_program(program_schemes, plain, name, value, is_header=True)
        secrets += [] if _PUBLIC.fullmatch(name) else [value, value.partition(" ")[2]]
    params = dict[str, str]()
    for name, value in secret_params.items():
        _add_to_program(program_schemes, params, name, value, is_header=False)
    secrets += secret_params.values()
    arguments = {
        "auth": program_schemes[0] if len(program_schemes) == 1 else program_schemes or None,
        "headers": plain or None,
        "params": params or None,
    }
    long = {secret for secret in secrets if len(secret) >= _MIN_LENGTH}
    credentials = Credentials(own_headers, query | secret_params, tuple(sorted(long, key=len, reverse=True)), arguments)
    return address.without([*secret_params, *query]), credentials


def _check_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in headers.items():
        if not FAMILY.fits({name: value}) or not _TOKEN.fullmatch(name):
            raise _invalid("headers", "a dict of texts with valid header names")
        if not _VALUE.fullmatch(value):
            raise _invalid("headers", f"a dict of texts of one line each, which {name} is not")
        yield name, value.strip()


def _additions(scheme: AnyAuth) -> Iterator[tuple[str, str, str]]:
    """Place, name and value of the headers and parameters that a scheme adds to a request."""
    if isinstance(scheme, Bearer):
        yield "header", "Authorization", f"Bearer {read(scheme.token)}"
    elif isinstance(scheme, Basic):
        yield "header", "Authorization", basic(scheme.user, scheme.password)
    elif isinstance(scheme, ApiKey):
        place, name = ("param", scheme.param) if scheme.param else ("header", scheme.header or "X-API-Key")
        yield place, name, read(scheme.key)
    else:
        raise OptionError(
            "OPTION_INVALID",
            f"The argument 'auth' of epochal.rest.probe is of type {type(scheme).__name__}, which only the jar uses.",
            'Get an access token, and set auth=rest.Bearer(Secret.env("TOKEN")).',
        )


def read(secret: Secret | str) -> str:
    """The secret itself.

    Raises:
        OptionError: it cannot be read here (``SECRET_UNREADABLE``).
    """
    return secret if isinstance(secret, str) else secret.here().value


def basic(user: str, password: Secret | str | None) -> str:
    """The value of a header for basic authentication."""
    login = f"{user}:{read(password) if password else ''}"
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def _secrets(scheme: AnyAuth) -> list[str]:
    values = [value for _, _, value in _additions(scheme)]
    password = [read(scheme.password)] if isinstance(scheme, Basic) and scheme.password else []
    return [*values, *(value.partition(" ")[2] for value in values), *password]


def _without_values(scheme: AnyAuth) -> AnyAuth:
    """The scheme with environment variables in place of secrets that were given by value."""
    if isinstance(scheme, Bearer):
        return replace(scheme, token=_from_environment(scheme.token, "TOKEN"))
    if isinstance(scheme, Basic):
        password = scheme.password and _from_environment(scheme.password, "PASSWORD")
        return replace(scheme, user=Environ("API_USER"), password=password)
    if isinstance(scheme, ApiKey):
        return replace(scheme, key=_from_environment(scheme.key, variable(scheme.param or scheme.header or "API_KEY")))
    return scheme


def _from_environment(secret: Secret | str, name: str) -> Secret:
    return secret if isinstance(secret, Secret) and secret.option("")[0] else Secret.env(name)


def _add_to_program(schemes: list[AnyAuth], plain: dict[str, str], name: str, value: str, *, is_header: bool) -> None:
    """Adds a header or a secret parameter to the printed program, with an environment variable in place of a secret."""
    bearer = is_header and name.lower() == "authorization" and value.lower().startswith("bearer ")
    has_key = any(isinstance(scheme, ApiKey) for scheme in schemes)
    if is_header and _PUBLIC.fullmatch(name):
        plain[name] = value
    elif bearer:
        schemes.append(Bearer(Secret.env("TOKEN")))
    elif is_secret(name) and name.lower() != "authorization" and not has_key:
        place = {"header": name} if is_header else {"param": name}
        schemes.append(ApiKey(Secret.env(variable(name)), **place))
    else:
        plain[name] = Environ(variable(name))


def _invalid(name: str, requirement: str) -> OptionError:
    return OptionError(
        "OPTION_INVALID",
        f"The argument '{name}' of epochal.rest.probe is not {requirement}.",
        'Set it like this: headers={"X-Api-Key": "…"}.',
    )


def _conflict(name: str) -> OptionError:
    return OptionError(
        "OPTION_CONFLICT",
        f"epochal.rest.probe was given the header '{name}' twice: by headers and by auth.",
        "Keep one of them.",
    )


def without_secrets(http: Http | None) -> Http | None:
    """The settings with environment variables in place of secrets that were given by value."""
    if http is None:
        return None
    tls, proxy = http.tls, http.proxy
    if tls is not None and tls.key_password is not None:
        tls = replace(tls, key_password=_from_environment(tls.key_password, "KEY_PASSWORD"))
    if proxy is not None and proxy.user is not None:
        password = proxy.password and _from_environment(proxy.password, "PROXY_PASSWORD")
        proxy = replace(proxy, user=Environ("PROXY_USER"), password=password)
    return replace(http, tls=tls, proxy=proxy)
