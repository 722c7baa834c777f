"""The first request: redirections, position parameters and errors."""

from __future__ import annotations

import re

from epochal.errors import HttpError
from epochal.tools.probe import names
from epochal.tools.probe.address import Address
from epochal.tools.probe.client import Client, Response, StoppedError, one_line

_MAX_REDIRECTS = 3
_GRAPHQL = re.compile(r"graphql/?$", re.IGNORECASE)
_SEARCH = re.compile(r"(search|query)/?$", re.IGNORECASE)
_LOGIN = re.compile(r"log-?in|sign-?in|sso|oauth|authorize", re.IGNORECASE)


def first_response(client: Client, url: Address) -> tuple[Response, Address]:
    """The first page and its address, after redirections and without a position in the list.

    Raises:
        HttpError: there is no response, or it is an error.
    """
    position_params = positions(url)
    try:
        try:
            response, address = _behind_redirects(client, url.without(position_params))
        except HttpError:
            if not position_params:
                raise
            response, address = _behind_redirects(client, url)
        if response.status >= 400 and position_params and response.status not in (401, 403):
            response, address = _behind_redirects(client, url)
        if response.status == 406:
            response = client.get(address, {"Accept": "*/*"})
    except StoppedError as stopped:
        problem = f"{url.shown()} could not be probed: {stopped}."
        raise HttpError("HTTP_STATUS", problem, "Wait, and probe again.") from None
    if response.status != 200:
        raise _status_error(client, address, response)
    return response, address


def positions(address: Address) -> list[str]:
    """The parameters of the address that select a page by position.

    ``start`` and ``from`` count only next to a page size: alone they may be times.
    """
    params = address.params
    usual = {*names.OFFSETS, *names.PAGES}
    if not any(name in names.SIZES for name in params):
        usual -= {"start", "from"}
    return [name for name, value in params.items() if name in usual and re.fullmatch(r"\d{1,9}", value)]


def _behind_redirects(client: Client, address: Address) -> tuple[Response, Address]:
    response = client.get(address)
    for _ in range(_MAX_REDIRECTS):
        if response.status not in (301, 302, 303, 307, 308):
            break
        target = response.headers.get("location", "")
        https_target = target.replace("https://", "http://", 1) if address.origin.startswith("http://") else target
        there = address.follow(https_target)
        if there is None or _LOGIN.search(there.path):
            raise _redirect_error(client, address, response.status, target)
        if https_target != target:  # the same host with https
            there = Address.parse(target)
        address = there
        response = client.get(address)
    return response, address


def _redirect_error(client: Client, address: Address, status: int, target: str) -> HttpError:
    try:
        there = Address.parse(target).shown()
    except Exception:
        there = one_line(target.partition("?")[0])
    problem = f"{address.shown()} responded with status {status}, a redirection to {there}."
    if _LOGIN.search(target):
        return HttpError("HTTP_STATUS", problem, f"It looks like a login page: {_SET_AUTH}")
    return HttpError("HTTP_STATUS", problem, "Headers and parameters are sent only to url: set url to that address.")


def _status_error(client: Client, address: Address, response: Response) -> HttpError:
    status = response.status
    text = one_line(re.sub(r"<[^>]*>", " ", response.body[:4000].decode("utf-8", "replace")))
    problem = f"{address.shown()} responded with status {status}: {text or 'no text'}"
    return HttpError("HTTP_STATUS", problem, _advice(client, status, address.path))


def _advice(client: Client, status: int, path: str) -> str:
    has_credentials = bool(client.credentials.secrets)
    if status not in (401, 403, 429) and status < 500 and _GRAPHQL.search(path):
        return "A probe sends no GraphQL: read it with pages=rest.GraphQL(query, connection=…)."
    if status == 405 or (status in (400, 404) and _SEARCH.search(path)):
        return "A probe sends GET only: read a search by POST with request_body and pages=rest.Cursor(next=…, body=…)."
    if status in (401, 403) and has_credentials:
        return "The server does not accept these credentials for this request: check auth and headers."
    if status in (401, 403):
        return f"The server asks for credentials: {_SET_AUTH}"
    if status in (404, 410):
        return "Check the path and the parameters of url."
    if status == 429:
        return "Too many requests for the server: wait, and probe again."
    if status >= 500:
        return "The server failed: probe again later, or request less."
    return "The request is wrong: check url, params and headers; the API's documentation lists required parameters."


_SET_AUTH = 'set auth=rest.Bearer(Secret.env("TOKEN")) or another scheme (--auth on the command line).'
