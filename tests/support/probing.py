"""Expected findings of a probe for each API shape, and how its printed programs are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from epochal import rest
from support import lists, shapes, vendors
from support.api import Answer, Api, Request, serve
from support.data import comments
from support.lists import Lists, json_of

HIDDEN = "s3cret-value"


@dataclass(frozen=True)
class Shape:
    """An API, and the options that a probe must find.

    Attributes:
        query: query string of the probed address.
        most: maximum number of requests.
    """

    serving: Callable[[], Any]
    options: Mapping[str, str]
    query: str = ""
    complete: bool = True
    most: int = 8


def of_lists(shape: Callable[[Lists, Request], Answer], count: int = 25) -> Callable[[], Any]:
    return lambda: lists.serving(shape, count)


def of_shapes(shape: shapes.Shape) -> Callable[[], Any]:
    @contextmanager
    def serving() -> Iterator[shapes.Server]:
        with shapes.serving(shape) as server:
            server.records = lists.records(24)
            yield server

    return serving


def of_comments() -> Any:
    return serve(Api(records=list(comments(1, 250))))


OFFSET = {"pagination": "offset", "pageSize": "10", "keyField": "/id"}
KEYSET = {"pagination": "keyset", "keyField": "/id", "cursorParam": "starting_after", "hasMore": "/has_more"}
SHAPES = {
    "github": Shape(of_shapes(shapes.github), {"pagination": "link"}, "?per_page=10"),
    "Shopify": Shape(of_shapes(vendors.shopify), {"pagination": "link", "records": "/orders"}, "?limit=10"),
    "Stripe": Shape(of_shapes(vendors.stripe), KEYSET, "?limit=10", most=9),
    "keyset": Shape(of_shapes(shapes.keyset), KEYSET, "?limit=10", most=9),
    "json:api": Shape(
        of_shapes(shapes.json_api), {"pagination": "next-url", "nextUrl": "/links/next", "records": "/data"}
    ),
    "odata": Shape(
        of_shapes(shapes.odata), {"pagination": "next-url", "nextUrl": "/@odata.nextLink", "records": "/value"}
    ),
    "slack": Shape(
        of_shapes(shapes.slack),
        {"pagination": "cursor", "nextCursor": "/response_metadata/next_cursor", "cursorParam": "cursor"},
        "?limit=10",
    ),
    "airtable": Shape(
        of_shapes(shapes.airtable),
        {"pagination": "cursor", "nextCursor": "/offset", "cursorParam": "offset"},
        "?pageSize=10",
    ),
    "Zendesk": Shape(
        of_shapes(vendors.zendesk),
        {"pagination": "next-url", "nextUrl": "/after_url", "records": "/tickets"},
        "?start_time=1735689600",
    ),
    "HubSpot": Shape(
        of_shapes(vendors.hubspot),
        {"pagination": "next-url", "nextUrl": "/paging/next/link", "records": "/results"},
    ),
    "Jira Cloud": Shape(
        of_shapes(vendors.jira),
        {
            "pagination": "cursor",
            "nextCursor": "/nextPageToken",
            "cursorParam": "nextPageToken",
            "lastPage": "/isLast",
            "records": "/issues",
        },
        "/search/jql?jql=project%20%3D%20EX&maxResults=10",
        most=6,
    ),
    "Jira Data Center": Shape(
        of_shapes(vendors.jira_data_center),
        {**OFFSET, "offsetParam": "startAt", "limitParam": "maxResults", "totalCount": "/total", "records": "/issues"},
        "?maxResults=10",
    ),
    "Cloud Storage": Shape(
        of_shapes(vendors.gcs),
        {"pagination": "cursor", "nextCursor": "/nextPageToken", "cursorParam": "pageToken", "records": "/items"},
        "?maxResults=10",
    ),
    "Elasticsearch": Shape(
        of_shapes(shapes.elasticsearch),
        {
            "pagination": "offset",
            "offsetParam": "from",
            "limitParam": "size",
            "pageSize": "10",
            "keyField": "/_id",
            "records": "/hits/hits",
            "totalCount": "/hits/total/value",
        },
        most=20,
    ),
    "jsonplaceholder": Shape(
        of_shapes(shapes.jsonplaceholder),
        {**OFFSET, "offsetParam": "_start", "limitParam": "_limit"},
        "?_start=0&_limit=10",
    ),
    "json-server": Shape(
        of_comments, {"pagination": "offset", "offsetParam": "_start", "limitParam": "_limit", "pageSize": "100"}
    ),
    "json-server 1": Shape(
        of_lists(lists.next_number), {"pagination": "cursor", "nextCursor": "/next", "cursorParam": "_page"}
    ),
    "Django": Shape(
        of_lists(lists.limit_offset), {"pagination": "next-url", "nextUrl": "/next", "params.limit": "100"}
    ),
    "Django, fixed size": Shape(
        of_lists(lists.fixed_pages),
        {"pagination": "page", "pageParam": "page", "pageSize": "10", "records": "/results", "keyField": "/id"},
    ),
    "Oracle": Shape(
        of_lists(lists.echoing), {**OFFSET, "offsetParam": "offset", "limitParam": "limit", "records": "/items"}
    ),
    "Spring": Shape(
        of_lists(lists.from_zero),
        {
            "pagination": "page",
            "pageParam": "page",
            "pageSizeParam": "size",
            "firstPage": "0",
            "totalCount": "/totalElements",
        },
    ),
    "total in a header": Shape(
        of_lists(lists.total_in_header),
        {"pagination": "page", "pageSizeParam": "per_page", "pageSize": "10", "totalCountHeader": "X-Total-Count"},
    ),
    "nested cursor": Shape(
        of_lists(lists.nested_cursor),
        {"pagination": "cursor", "nextCursor": "/paging/next/after", "cursorParam": "after"},
    ),
    "cursor in a header": Shape(
        of_lists(lists.header_cursor),
        {"pagination": "cursor", "nextCursorHeader": "X-Next-Page-Token", "cursorParam": "page_token"},
    ),
    "Go, empty list left out": Shape(
        of_lists(lists.omits_empty), {"pagination": "cursor", "cursorParam": "pageToken", "missingRecords": "empty"}
    ),
    "empty body after the last page": Shape(
        of_lists(lists.silent_end), {"pagination": "cursor", "cursorParam": "pageToken", "missingRecords": "empty"}
    ),
    "last page names itself": Shape(
        of_lists(lists.names_itself), {"pagination": "cursor", "cursorParam": "pageToken", "endOfList": "repeated"}
    ),
    "next URL that is null": Shape(of_lists(lists.null_next), {"pagination": "next-url", "nextUrl": "/links/next"}),
    "NDJSON": Shape(of_lists(lists.ndjson), {"pagination": "link", "bodyFormat": "ndjson"}),
    "CSV": Shape(
        of_lists(lists.semicolons), {"pagination": "offset", "pageSize": "10", "bodyFormat": "csv", "sep": ";"}
    ),
    "strict": Shape(of_lists(lists.strict), {**OFFSET, "offsetParam": "skip", "limitParam": "take"}, most=14),
    "FHIR": Shape(
        of_lists(lists.fhir), {**OFFSET, "offsetParam": "_getpages", "records": "/entry", "totalCount": "/total"}
    ),
    "rows": Shape(
        of_lists(lists.table),
        {**OFFSET, "records": "/rows", "recordShape": "rows", "columns": "/columns", "totalCount": "/total"},
    ),
    "map": Shape(
        of_lists(lists.by_name),
        {"records": "/data", "recordShape": "map", "pagination": "none", "keyField": "/id"},
    ),
    "whole list": Shape(of_lists(lists.whole), {"records": "/people", "pagination": "none", "keyField": "/id"}),
    "GitHub, one page": Shape(
        of_shapes(shapes.github), {"pagination": "page", "pageSizeParam": "per_page"}, "?per_page=30", most=10
    ),
}


def probed(url: str, **given: Any) -> rest.Probe:
    return rest.probe(url, delay=0, **given)


def value(found: rest.Probe, name: str) -> str:
    finding = found.find(name)
    assert finding is not None, f"{name} was not found: {found}"
    return finding.value


def run_helper(program: str) -> tuple[str, dict[str, Any]]:
    """The arguments of ``epochal.read.rest`` in a printed program."""
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    fake = SimpleNamespace(read=SimpleNamespace(rest=lambda *values, **named: given.append((values, named))))
    source = program.replace("import epochal\n", "")
    exec(compile(source, "call", "exec"), {"epochal": fake, "spark": None})
    [((_, url), named)] = given
    return url, named


class FakeReader:
    """Records the calls of a printed program to Spark."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}
        self.ddl = ""

    def format(self, name: str) -> FakeReader:
        assert name == "epochal-rest"
        return self

    def option(self, name: str, value: str) -> FakeReader:
        assert name not in self.options
        self.options[name] = value
        return self

    def schema(self, ddl: str) -> FakeReader:
        self.ddl = ddl
        return self

    def load(self) -> FakeReader:
        return self


def run_plain(program: str) -> FakeReader:
    reader = FakeReader()
    exec(compile(program, "plain", "exec"), {"spark": SimpleNamespace(readStream=reader)})
    return reader


def serving_body(body: bytes, status: int = 200, **headers: str) -> Any:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lists.serving(lambda api, request: (status, body, {"Content-Type": "application/json"} | named))


def guarded(api: Lists, request: Request) -> Answer:
    """Requires the hidden credential, and echoes the request in its responses."""
    sent = " ".join([*request.headers.values(), *request.params.values()])
    if HIDDEN not in sent:
        return json_of({"error": f"who are you? {sent}"}, status=401)
    page, size = int(request.params.get("page", 1)), int(request.params.get("per_page", 10))
    more = page * size < len(api.records)
    link = {"Link": f'<{api.link(request, page=page + 1, per_page=size)}>; rel="next"'} if more else {}
    return json_of(api.part((page - 1) * size, size), {**link, "X-RateLimit-Key": HIDDEN})
