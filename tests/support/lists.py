"""More API shapes for probes, besides ``shapes``, all over the same list of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from support.api import Answer, Api, Record, Request, serve

#: Default page size.
PAGE = 10


@dataclass
class Lists(Api):
    """Serves responses of ``shape``."""

    shape: Callable[[Lists, Request], Answer] = field(default=lambda lists, request: json_of(lists.records))

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if self.failures:
            return self.failures.popleft(), b"", {}
        return self.shape(self, request)

    def part(self, start: int, size: int = PAGE) -> list[Record]:
        return self.records[start : start + size]

    def link(self, request: Request, **params: Any) -> str:
        return f"{self.url}?{urlencode({**request.params, **params})}"


@contextmanager
def serving(shape: Callable[[Lists, Request], Answer], count: int = 25) -> Iterator[Lists]:
    """Serves records with the ids 1, 2, …"""
    with serve(Lists(shape=shape, records=records(count))) as lists:
        assert isinstance(lists, Lists)
        yield lists


def records(count: int) -> list[Record]:
    return [{"id": number, "name": f"name {number}"} for number in range(1, count + 1)]


def json_of(value: Any, headers: dict[str, str] | None = None, status: int = 200) -> Answer:
    return status, json.dumps(value).encode(), headers or {}


def whole(lists: Lists, request: Request) -> Answer:
    """All records, for every request."""
    return json_of({"people": lists.records, "total": len(lists.records)})


def limit_offset(lists: Lists, request: Request) -> Answer:
    """Django REST framework: ``count``, and URLs of the next and previous pages."""
    offset, limit = int(request.params.get("offset", 0)), min(int(request.params.get("limit", PAGE)), 20)
    after = lists.link(request, offset=offset + limit, limit=limit) if offset + limit < len(lists.records) else None
    results = lists.part(offset, limit)
    return json_of({"count": len(lists.records), "next": after, "previous": None, "results": results})


def echoing(lists: Lists, request: Request) -> Answer:
    """Oracle: the response repeats the parameters and has a flag, but no link to the next page."""
    offset, limit = int(request.params.get("offset", 0)), int(request.params.get("limit", PAGE))
    items = lists.part(offset, limit)
    more = offset + limit < len(lists.records)
    return json_of({"items": items, "hasMore": more, "limit": limit, "offset": offset, "count": len(items)})


def total_in_header(lists: Lists, request: Request) -> Answer:
    """Numbered pages of the requested size, with the total in a header."""
    page, size = int(request.params.get("page", 1)), int(request.params.get("per_page", PAGE))
    return json_of(lists.part((page - 1) * size, size), {"X-Total-Count": str(len(lists.records))})


def fixed_pages(lists: Lists, request: Request) -> Answer:
    """Numbered pages of one size; 404 after the last one."""
    page = int(request.params.get("page", 1))
    found = lists.part((page - 1) * PAGE)
    return json_of({"results": found}) if found else json_of({"detail": "Invalid page."}, status=404)


def from_zero(lists: Lists, request: Request) -> Answer:
    """Spring: pages numbered from 0."""
    page, size = int(request.params.get("page", 0)), int(request.params.get("size", PAGE))
    pages = -(-len(lists.records) // size)
    return json_of(
        {
            "content": lists.part(page * size, size),
            "totalElements": len(lists.records),
            "totalPages": pages,
            "last": page >= pages - 1,
            "number": page,
            "size": size,
        }
    )


def next_number(lists: Lists, request: Request) -> Answer:
    """json-server 1: the number of the next page; past the end it repeats the last page."""
    size = int(request.params.get("_per_page", PAGE))
    pages = -(-len(lists.records) // size)
    page = min(int(request.params.get("_page", 1)), pages)
    following = page + 1 if page < pages else None
    body = {"first": 1, "next": following, "last": pages, "pages": pages, "items": len(lists.records)}
    return json_of({**body, "data": lists.part((page - 1) * size, size)})


def nested_cursor(lists: Lists, request: Request) -> Answer:
    """A cursor in an object that the last page lacks."""
    start = int(request.params.get("after", 0))
    body: dict[str, Any] = {"results": lists.part(start)}
    if start + PAGE < len(lists.records):
        body["paging"] = {"next": {"after": str(start + PAGE)}}
    return json_of(body)


def header_cursor(lists: Lists, request: Request) -> Answer:
    """A cursor in a header, empty after the last page."""
    start = int(request.params.get("page_token", "t0")[1:])
    after = f"t{start + PAGE}" if start + PAGE < len(lists.records) else ""
    return json_of(lists.part(start), {"X-Next-Page-Token": after})


def omits_empty(lists: Lists, request: Request) -> Answer:
    """Go: omits an empty list; the last token is an empty string."""
    start = int(request.params.get("pageToken", 0))
    found = lists.part(start)
    body: dict[str, Any] = {"nextPageToken": str(start + len(found)) if found else ""}
    return json_of({**body, "files": found} if found else body)


def silent_end(lists: Lists, request: Request) -> Answer:
    """A cursor on every page; after the last one an empty body."""
    start = int(request.params.get("pageToken", 0))
    found = lists.part(start)
    return json_of({"nextPageToken": str(start + len(found)), "files": found}) if found else (200, b"", {})


def names_itself(lists: Lists, request: Request) -> Answer:
    """A cursor on every page; that of the last page is its own."""
    start = int(request.params.get("pageToken", 0))
    last = (len(lists.records) - 1) // PAGE * PAGE
    return json_of({"nextPageToken": str(min(start + PAGE, last)), "files": lists.part(start)})


def counting_cursor(lists: Lists, request: Request) -> Answer:
    """Always has the number of a next page."""
    page = int(request.params.get("page", 1))
    return json_of({"items": lists.part((page - 1) * PAGE), "next_page": page + 1})


def null_next(lists: Lists, request: Request) -> Answer:
    """All records in one page, unless the request sets a limit; then a URL of the next page."""
    start, size = int(request.params.get("from_id", 0)), int(request.params.get("page_size", 50))
    following = lists.link(request, from_id=start + size) if start + size < len(lists.records) else None
    return json_of({"data": lists.part(start, size), "links": {"next": following}})


def ndjson(lists: Lists, request: Request) -> Answer:
    """NDJSON with a link."""
    start = int(request.params.get("start_at", 0))
    after = f'<{lists.link(request, start_at=start + PAGE)}>; rel="next"'
    headers = {"Link": after} if start + PAGE < len(lists.records) else {"Link": f'<{lists.url}>; rel="first"'}
    lines = "".join(json.dumps(record) + "\n" for record in lists.part(start))
    return 200, lines.encode(), {**headers, "Content-Type": "application/x-ndjson"}


def semicolons(lists: Lists, request: Request) -> Answer:
    """CSV with semicolons, by offset and limit."""
    offset, limit = int(request.params.get("offset", 0)), int(request.params.get("limit", 1000))
    lines = [f"{record['id']};{record['name']}" for record in lists.part(offset, limit)]
    return 200, "\r\n".join(["id;name", *lines, ""]).encode(), {"Content-Type": "text/csv; charset=utf-8"}


def table(lists: Lists, request: Request) -> Answer:
    """Rows of values beside their names, by limit and offset."""
    start, size = int(request.params.get("offset", 0)), int(request.params.get("limit", PAGE))
    found = lists.part(start, size)
    names = [{"name": name, "type": "text"} for name in lists.records[0]]
    return json_of({"columns": names, "rows": [list(record.values()) for record in found], "total": len(lists.records)})


def by_name(lists: Lists, request: Request) -> Answer:
    """All records under their names."""
    return json_of({"data": {f"r{record['id']}": record for record in lists.records}})


def strict(lists: Lists, request: Request) -> Answer:
    """Refuses unknown parameters and pages after the end."""
    if not {*request.params} <= {"skip", "take"}:
        return json_of({"error": "unknown parameter"}, status=400)
    skip, take = int(request.params.get("skip", 0)), int(request.params.get("take", PAGE))
    if skip >= len(lists.records) or take > 15:
        return json_of({"error": "out of range"}, status=400)
    return json_of(lists.part(skip, take))


def capped_total(lists: Lists, request: Request) -> Answer:
    """Reports a total that is too low."""
    offset, limit = int(request.params.get("offset", 0)), int(request.params.get("limit", PAGE))
    return json_of({"total": 15, "rows": lists.part(offset, limit)})


def stuck(lists: Lists, request: Request) -> Answer:
    """The next page is the first one again."""
    return json_of({"items": lists.part(0), "next": lists.link(request, page=2), "has_more": True})


def foreign(lists: Lists, request: Request) -> Answer:
    """The next page is on another server."""
    return json_of({"items": lists.part(0), "next": "https://other.invalid/?page=2&api_key=s3cret"})


def newest_first(lists: Lists, request: Request) -> Answer:
    """From the newest record to the oldest, with a limit."""
    page, size = int(request.params.get("page", 1)), int(request.params.get("per_page", PAGE))
    return json_of(lists.records[::-1][(page - 1) * size : page * size])


def restless(lists: Lists, request: Request) -> Answer:
    """Records with a field that changes in every response."""
    offset, limit = int(request.params.get("offset", 0)), int(request.params.get("limit", PAGE))
    return json_of([{**record, "views": len(lists.requests)} for record in lists.part(offset, limit)])


def shuffled(lists: Lists, request: Request) -> Answer:
    """Another order in every response."""
    turn = len(lists.requests) % len(lists.records)
    return json_of(lists.records[turn:] + lists.records[:turn])


def fhir(lists: Lists, request: Request) -> Answer:
    """The next page is in an array of links."""
    start = int(request.params.get("_getpages", 0))
    links = [{"relation": "self", "url": lists.url}]
    if start + PAGE < len(lists.records):
        links.append({"relation": "next", "url": lists.link(request, _getpages=start + PAGE)})
    return json_of({"resourceType": "Bundle", "total": len(lists.records), "link": links, "entry": lists.part(start)})
