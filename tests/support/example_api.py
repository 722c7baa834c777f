"""Stub API for the programs in the documents: one server in place of all their hosts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from support import shapes
from support.api import Request, serve
from support.data import comments
from support.shapes import Page, Server

#: Number of records in all lists.
COUNT = 25


def comments_page(server: Server, request: Request) -> Page:
    """By offset and limit, by page number, or all."""
    return server.page(request.params), {}


def orders(server: Server, request: Request) -> Page:
    """A list by cursor. Also accepts rows."""
    if request.body:
        return {"accepted": True}, {}
    records, following = server.part(int(request.params.get("after", "c0")[1:]))
    return {"data": records, "paging": {"next": None if following is None else f"c{following}"}}, {}


def search(server: Server, request: Request) -> Page:
    """Hits by offset and limit in the request body."""
    asked = json.loads(request.body)
    records = server.records[asked["from"] : asked["from"] + asked["size"]]
    return {"hits": {"hits": [{"_id": str(record["id"]), "_source": record} for record in records]}}, {}


def token(server: Server, request: Request) -> Page:
    """An OAuth 2 server."""
    assert b"grant_type=client_credentials" in request.body
    return {"access_token": "t", "token_type": "Bearer", "expires_in": 3600}, {}


def repos(server: Server, request: Request) -> Page:
    """A list whose records name other lists."""
    return [{"id": n, "name": name, "owner": {"login": "x"}} for n, name in enumerate("ab")], {}


#: By path suffix.
ROUTES: dict[str, shapes.Shape] = {
    "/comments": comments_page,
    "/orders": orders,
    "/_search": search,
    "/issues": shapes.github,
    "/repos": repos,
    "/events": shapes.since_until,
    "/token": token,
}


def route(server: Server, request: Request) -> Page:
    (shape,) = [shape for ending, shape in ROUTES.items() if request.path.endswith(ending)]
    return shape(server, request)


@contextmanager
def serving() -> Iterator[Server]:
    """Serves the lists, with records that are an hour and a half old."""
    changed = {"updated_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5400))}
    server = Server(shape=route, records=[record | changed for record in comments(1, COUNT)])
    server.appeared = [time.time() - 5400] * COUNT
    with serve(server):
        yield server
