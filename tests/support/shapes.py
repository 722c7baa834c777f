"""APIs of well-known shapes, each over an append-only list of records."""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import urlencode

from support.api import Answer, Api, Record, Request, serve

Page = tuple[Any, Mapping[str, str]]
Shape = Callable[["Server", Request], Page]

PAGE = 10


class RefusedError(Exception):
    """An error in place of a page: its status, its body and additional headers."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.answer: Answer = (status, json.dumps(body).encode(), headers or {})


@dataclass
class Server(Api):
    """Serves responses of ``shape``, with ``PAGE`` records per page.

    Attributes:
        limited: the number of the request that exceeds the rate limit, if the shape has one; 0: none.
    """

    limited: int = 0
    shape: Shape = field(default=lambda server, request: (server.records, {}))
    appeared: list[float] = field(default_factory=list)
    appearing: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        try:
            body, headers = self.shape(self, request)
        except RefusedError as refused:
            return refused.answer
        return 200, json.dumps(body).encode(), headers

    def part(self, start: int, size: int = PAGE) -> tuple[list[Record], int | None]:
        """A page, and the start of the next one; None after the last."""
        page = self.records[start : start + size]
        return page, start + size if start + size < len(self.records) else None

    def after(self, last: Any, size: int) -> list[Record]:
        """The records after the one with this ``id``; the first ones if there is none."""
        start = next((n for n, record in enumerate(self.records, 1) if str(record["id"]) == str(last)), 0)
        return self.records[start : start + size]

    def link(self, request: Request, **params: Any) -> str:
        """URL of another page of the list."""
        return f"{self.url.rsplit('/', 1)[0]}{request.path}?{urlencode({**request.params, **params})}"


def limited(body: Any, status: int = 429, **headers: str) -> Callable[[Shape], Shape]:
    """Has the request with the number ``Server.limited`` exceed the rate limit."""

    def strict(shape: Shape) -> Shape:
        @functools.wraps(shape)
        def answer(server: Server, request: Request) -> Page:
            if len(server.requests) == server.limited:
                raise RefusedError(status, body, {name.replace("_", "-"): text for name, text in headers.items()})
            return shape(server, request)

        return answer

    return strict


GITHUB = limited({"message": "You have exceeded a secondary rate limit."}, 403, Retry_After="1")


@GITHUB
def github(server: Server, request: Request) -> Page:
    """Numbered pages, with a ``Link`` header."""
    size, page = int(request.params["per_page"]), int(request.params.get("page", 1))
    records, following = server.part((page - 1) * size, size)
    links = [f'<{server.link(request, page=1)}>; rel="first"']
    if following is not None:
        links.insert(0, f'<{server.link(request, page=page + 1)}>; rel="next"')
    return records, {"Link": ", ".join(links)}


@GITHUB
def github_since(server: Server, request: Request) -> Page:
    """The same, of the records that have changed since a moment."""
    since = request.params.get("since", "")
    found = [record for record in server.records if record["updated_at"] >= since]
    size, page = int(request.params["per_page"]), int(request.params.get("page", 1))
    headers = {}
    if page * size < len(found):
        headers["Link"] = f'<{server.link(request, page=page + 1)}>; rel="next"'
    return found[(page - 1) * size : page * size], headers


@GITHUB
def github_tree(server: Server, request: Request) -> Page:
    """Repositories of an organization, their issues, and the comments of these, in numbered pages."""
    parts = request.path.strip("/").split("/")
    if parts[0] == "orgs":
        names = dict.fromkeys(r["repo"] for r in server.records)
        found = [{"name": name, "owner": {"login": parts[1]}} for name in names]
    elif parts[-1] == "issues":
        numbers = dict.fromkeys(r["number"] for r in server.records if r["repo"] == parts[2])
        found = [{"number": number, "title": "An issue"} for number in numbers]
    else:
        wanted = (parts[2], int(parts[4]))
        found = [one for one in server.records if (one["repo"], one["number"]) == wanted]
    size, page = int(request.params["per_page"]), int(request.params.get("page", 1))
    headers = {}
    if page * size < len(found):
        headers["Link"] = f'<{server.link(request, page=page + 1)}>; rel="next"'
    return [{k: v for k, v in one.items() if k != "repo"} for one in found[(page - 1) * size : page * size]], headers


def keyset(server: Server, request: Request) -> Page:
    """The objects after ``starting_after``, oldest first, and a flag."""
    last = request.params.get("starting_after")
    records = server.after(last, int(request.params["limit"]))
    more = bool(records) and records[-1] is not server.records[-1]
    return {"object": "list", "data": records, "has_more": more}, {}


def json_api(server: Server, request: Request) -> Page:
    """``links.next`` beside ``data``."""
    start = int(request.params.get("page[offset]", 0))
    records, following = server.part(start)
    following_url = None if following is None else server.link(request, **{"page[offset]": following})
    return {"data": records, "links": {"self": server.link(request), "next": following_url}}, {}


def odata(server: Server, request: Request) -> Page:
    """``@odata.nextLink`` beside ``value``."""
    records, following = server.part(int(request.params.get("$skiptoken", 0)))
    body: dict[str, Any] = {"@odata.context": "$metadata#People", "value": records}
    if following is not None:
        body["@odata.nextLink"] = server.link(request, **{"$skiptoken": following})
    return body, {}


@limited({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}, 200)
def github_graphql(server: Server, request: Request) -> Page:
    """A connection, after the cursor in a variable."""
    if not request.body:
        raise RefusedError(400, {"errors": [{"message": "GET query missing."}]})
    asked = json.loads(request.body)
    assert "issues(first: 10" in asked["query"]
    assert asked["variables"].keys() == {"owner", "name", "after"}
    start = int((asked["variables"]["after"] or "Y3Vyc29y0")[8:])
    records, following = server.part(start)
    end = f"Y3Vyc29y{start + len(records)}" if records else None
    issues = {"nodes": records, "pageInfo": {"hasNextPage": following is not None, "endCursor": end}}
    return {"data": {"repository": {"issues": issues}}}, {}


@limited({"object": "error", "status": 429, "code": "rate_limited", "message": "Wait."}, Retry_After="1")
def notion(server: Server, request: Request) -> Page:
    """A search by POST, with a cursor that is null after the last page."""
    if not request.body:
        raise RefusedError(
            400, {"object": "error", "status": 400, "code": "invalid_request_url", "message": "Invalid."}
        )
    asked = json.loads(request.body)
    assert "start_cursor" not in asked or isinstance(asked["start_cursor"], str)
    records, following = server.part(int(asked.get("start_cursor", "c0")[1:]), asked["page_size"])
    cursor = None if following is None else f"c{following}"
    return {"object": "list", "results": records, "next_cursor": cursor, "has_more": following is not None}, {}


def prices(server: Server, request: Request) -> Page:
    """An object of objects; the second response is an error in its place."""
    if len(server.requests) == 2:
        return {"error": "busy"}, {}
    return {"prices": {one["currency"]: {"rate": one["rate"], "updated": one["updated"]} for one in server.records}}, {}


@limited({"error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}, "status": 429})
def elasticsearch(server: Server, request: Request) -> Page:
    """Hits after the sort values in the request body; by GET, a part of the first 10,000."""
    asked = json.loads(request.body or "{}")
    for name in request.params.keys() - {"from", "size"}:
        raise RefusedError(400, {"error": {"type": "illegal_argument_exception", "reason": f"unrecognized: [{name}]"}})
    start, size = int(request.params.get("from", 0)), asked.get("size", int(request.params.get("size", 10)))
    if start + size > 10_000:
        raise RefusedError(
            400, {"error": {"type": "illegal_argument_exception", "reason": "Result window is too large"}}
        )
    (_, last) = asked.get("search_after", [None, None])
    records = server.after(last, start + size)[start:]
    hits: list[Record] = [
        {"_id": str(record["id"]), "_source": record, "sort": [1_767_323_045_000, record["id"]]} for record in records
    ]
    return {"took": 1, "hits": {"total": {"value": len(server.records)}, "hits": hits}}, {}


def slack(server: Server, request: Request) -> Page:
    """A cursor deep in the body, empty after the last page."""
    start = int(request.params.get("cursor", "c0")[1:])
    records, following = server.part(start, int(request.params["limit"]))
    cursor = "" if following is None else f"c{following}"
    return {"ok": True, "members": records, "response_metadata": {"next_cursor": cursor}}, {}


def airtable(server: Server, request: Request) -> Page:
    """A token named ``offset``, missing after the last page."""
    start = int(request.params.get("offset", "itr0")[3:])
    records, following = server.part(start, int(request.params["pageSize"]))
    created = "2026-01-01T00:00:00.000Z"
    listed = [{"id": f"rec{record['id']}", "createdTime": created, "fields": record} for record in records]
    body: dict[str, Any] = {"records": listed}
    if following is not None:
        body["offset"] = f"itr{following}"
    return body, {}


def moment(text: str) -> float:
    """Seconds since 1970."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()


def since_until(server: Server, request: Request) -> Page:
    """Numbered pages of the events between two times, newest first; events appear three seconds late."""
    appeared = server.appeared
    with server.appearing:
        appeared += [time.time() - 3] * (len(server.records) - len(appeared))
    since, until = (moment(request.params[name]) for name in ("since", "until"))
    events = [record for record, at in zip(server.records, appeared, strict=False) if since <= at < until][::-1]
    start = (int(request.params["page"]) - 1) * int(request.params["per_page"])
    return {"events": events[start : start + int(request.params["per_page"])]}, {}


def jsonplaceholder(server: Server, request: Request) -> Page:
    """Any number of records from any offset."""
    return server.part(int(request.params["_start"]), int(request.params["_limit"]))[0], {}


@contextmanager
def serving(shape: Shape, limited: int = 0) -> Iterator[Server]:
    with serve(Server(shape=shape, limited=limited)) as server:
        assert isinstance(server, Server)
        yield server
