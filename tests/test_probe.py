"""``rest.probe`` and ``python -m epochal probe``, without Spark: what they find, and what they do not claim."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import epochal
from epochal import Http, OptionError, Proxy, Secret, Tls, rest
from epochal.__main__ import main
from epochal._forms import REST
from epochal._probe import client, schema
from epochal._probe.address import Address, is_secret, variable
from epochal._probe.client import Client, StoppedError
from support import lists, shapes
from support.api import Answer, Api, Request, serve
from support.data import comments
from support.lists import Lists, json_of

HIDDEN = "s3cret-value"


@dataclass(frozen=True)
class Shape:
    """An API, and the options that a probe must find.

    Attributes:
        query: of the address that is probed.
        most: requests that it may take.
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


OFFSET = {"pagination": "offset", "pageSize": "10"}
SHAPES = {
    "github": Shape(of_shapes(shapes.github), {"pagination": "link"}, "?per_page=10"),
    "shopify": Shape(of_shapes(shapes.shopify), {"pagination": "link", "records": "/orders"}, "?limit=10"),
    "stripe": Shape(
        of_shapes(shapes.stripe),
        {"pagination": "keyset", "keyField": "/id", "cursorParam": "starting_after", "hasMore": "/has_more"},
        "?limit=10",
        most=9,
    ),
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
    "zendesk": Shape(
        of_shapes(shapes.zendesk),
        {"pagination": "cursor", "nextCursor": "/after_cursor", "cursorParam": "cursor", "lastPage": "/end_of_stream"},
        "?start_time=1735689600",
        most=9,
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
        {"pagination": "page", "pageParam": "page", "pageSize": "10", "records": "/results"},
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
    "HubSpot": Shape(
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
    "next URL that is null": Shape(of_lists(lists.null_next), {"pagination": "next-url", "nextUrl": "/links/next"}),
    "NDJSON": Shape(of_lists(lists.ndjson), {"pagination": "link", "bodyFormat": "ndjson"}),
    "CSV": Shape(of_lists(lists.semicolons), {**OFFSET, "bodyFormat": "csv", "sep": ";"}),
    "strict": Shape(of_lists(lists.strict), {**OFFSET, "offsetParam": "skip", "limitParam": "take"}, most=14),
    "FHIR": Shape(
        of_lists(lists.fhir), {**OFFSET, "offsetParam": "_getpages", "records": "/entry", "totalCount": "/total"}
    ),
    "whole list": Shape(of_lists(lists.whole), {"records": "/people"}),
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
    """The arguments that a printed program gives to ``epochal.read.rest``."""
    given: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    fake = SimpleNamespace(read=SimpleNamespace(rest=lambda *values, **named: given.append((values, named))))
    source = program.replace("import epochal\n", "")
    exec(compile(source, "call", "exec"), {"epochal": fake, "spark": None})
    [((_, url), named)] = given
    return url, named


class FakeReader:
    """Takes down what a printed program says to Spark."""

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


@pytest.mark.parametrize("name", SHAPES)
def test_a_probe_finds_how_an_api_is_read(name: str) -> None:
    shape = SHAPES[name]
    with shape.serving() as api:
        found = probed(api.url + shape.query)
        assert len(api.requests) == found.requests <= shape.most
    assert shape.options.items() <= found.options.items(), f"{found.options}"
    assert found.complete == shape.complete
    assert ("pagination" in found.options) == ("pagination" in shape.options)


@pytest.mark.parametrize("name", SHAPES)
def test_both_programs_say_the_same_and_can_be_run(name: str) -> None:
    shape = SHAPES[name]
    with shape.serving() as api:
        found = probed(api.url + shape.query)
    url, named = run_helper(found.call)
    assert named.pop("schema") == found.schema
    assert REST.options({"url": url, **named}, None) == found.options
    plain = run_plain(found.plain)
    assert (plain.options, plain.ddl) == (found.options, found.schema)
    assert "import os" not in found.call


@pytest.mark.parametrize("name", SHAPES)
def test_each_finding_says_how_it_was_seen(name: str) -> None:
    shape = SHAPES[name]
    with shape.serving() as api:
        found = probed(api.url + shape.query)
    assert all(one.how and one.value and one.certainty in ("tested", "seen") for one in found.findings)
    pages = found.find("pages")
    assert pages is not None
    assert pages.certainty == "tested"
    assert {"records", "repeatable", "key", "schema"} <= {one.name for one in found.findings}
    assert any("only grows at its end" in text for text in found.unknown)


# What is not claimed


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (lists.stuck, "'/has_more' is true"),
        (lists.elsewhere, "is on another server"),
        (lists.shuffled, "the list changes between requests"),
    ],
)
def test_pages_that_lead_nowhere_are_not_claimed(shape: Callable[[Lists, Request], Answer], because: str) -> None:
    with lists.serving(shape) as api:
        found = probed(api.url)
    assert not found.complete
    assert found.find("pages") is None
    assert "pagination" not in found.options
    assert any(because in text for text in found.unknown)
    assert "# Incomplete" in found.call
    assert "# Incomplete" in found.plain
    assert "api_key" not in str(found)


def test_a_total_that_the_pages_do_not_confirm_is_not_used() -> None:
    with lists.serving(lists.capped_total) as api:
        found = probed(api.url)
    assert "totalCount" not in found.options
    assert found.complete


def test_a_list_that_begins_with_its_newest_record_is_doubted() -> None:
    with lists.serving(lists.newest_first) as api:
        found = probed(api.url)
    assert value(found, "order") == "descending by '/id'"
    assert any("newest record" in text for text in found.doubts)


def test_records_whose_fields_change_are_told_by_their_key() -> None:
    with lists.serving(lists.restless) as api:
        found = probed(api.url)
    assert found.options["keyField"] == "/id"
    assert "views" in (found.find("repeatable") or rest.Finding(name="", value="", how="")).how


def test_a_list_of_one_record_leaves_its_pages_unknown() -> None:
    with lists.serving(lists.from_zero, count=1) as api:
        found = probed(api.url)
    assert found.find("pages") is None
    assert any("one record is too few" in text for text in found.unknown)


def test_a_round_number_of_records_is_doubted() -> None:
    with lists.serving(lists.whole, count=100) as api:
        assert any("100 is a round number" in text for text in probed(api.url).doubts)


def test_a_size_without_a_place_is_no_pagination() -> None:
    def newest(api: Lists, request: Request) -> Answer:
        return json_of(api.records[: int(request.params.get("limit", 10))])

    with lists.serving(newest) as api:
        found = probed(api.url)
    assert not found.complete
    assert any("none for their place" in text for text in found.unknown)


def test_a_position_in_the_address_is_left_out() -> None:
    with lists.serving(lists.from_zero) as api:
        found = probed(f"{api.url}?page=2&size=5&sort=id")
        assert api.requests[0].params == {"size": "5", "sort": "id"}
    assert found.options["url"] == f"{api.url}?sort=id"
    assert found.options["firstPage"] == "0"


def test_a_list_whose_first_page_names_no_next_one_may_end_so() -> None:
    def link(api: Lists, request: Request) -> Answer:
        start, size = int(request.params.get("from_id", 0)), int(request.params.get("limit", 50))
        more = start + size < len(api.records)
        headers = {"Link": f'<{api.link(request, from_id=start + size)}>; rel="next"'} if more else {}
        return json_of(api.part(start, size), headers)

    with lists.serving(link) as api:
        found = probed(api.url)
    assert found.options["pagination"] == "link"
    assert found.options["endOfList"] == "assumed"
    assert any("does not mention a next one" in text for text in found.doubts)


def test_pages_that_overlap_make_the_program_incomplete() -> None:
    def overlapping(api: Lists, request: Request) -> Answer:
        start = int(request.params.get("after", 0))
        after = start + 10 if start < 10 else 8
        return json_of({"items": api.part(start), "next": str(after)})

    with lists.serving(overlapping) as api:
        found = probed(api.url)
    assert not found.complete
    assert any("overlap" in text for text in found.unknown)


# Politeness


def test_it_makes_no_more_requests_than_it_may() -> None:
    with lists.serving(lists.strict) as api:
        found = probed(api.url, requests=6)
        assert len(api.requests) == found.requests == 6
    assert not found.complete
    assert any("the 6 requests that it may make were made" in text for text in found.unknown)


def test_one_request_finds_the_records_and_the_schema() -> None:
    with lists.serving(lists.limit_offset) as api:
        found = probed(api.url, requests=1)
    assert found.schema == "id BIGINT, name STRING"
    assert not found.complete


def asking(api: Api, waits: list[float], most: int = 20, delay: float = 0.2) -> Client:
    credentials = epochal._probe.credentials.of(Address.parse(api.url), None, None)[1]  # type: ignore[attr-defined]
    return Client(credentials, None, most, delay, waits.append)


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"Retry-After": "7"}, [7.0]),
        ({}, [1.0]),
        ({"Retry-After": "0"}, [1.0]),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"}, [9.0]),
        ({"RateLimit": '"default";r=0;t=4'}, [4.0]),
    ],
)
def test_it_waits_as_the_server_asks(headers: dict[str, str], waits: list[float]) -> None:
    def throttled(api: Lists, request: Request) -> Answer:
        return (429, b"", headers) if len(api.requests) == 1 else json_of([])

    found: list[float] = []
    with lists.serving(throttled) as api:
        assert asking(api, found).get(Address.parse(api.url)).status == 200
    assert found == [*waits, 0.2]


def test_it_pauses_before_the_next_request_when_nothing_is_left() -> None:
    found: list[float] = []
    with lists.serving(lambda api, request: json_of([], {"RateLimit-Remaining": "0", "RateLimit-Reset": "3"})) as api:
        asked = asking(api, found)
        asked.get(Address.parse(api.url))
        asked.get(Address.parse(api.url))
    assert found == [3.0]


def test_it_stops_where_the_server_wants_a_long_pause() -> None:
    found: list[float] = []
    with lists.serving(lambda api, request: (429, b"", {"Retry-After": "3600"})) as api:
        with pytest.raises(StoppedError, match="pause of 3600 s"):
            asking(api, found).get(Address.parse(api.url))
        with pytest.raises(epochal.HttpError, match="pause of 3600 s"):
            probed(api.url)
    assert found == []


def test_a_rate_limit_is_shown() -> None:
    with lists.serving(lambda api, request: json_of(api.records, {"X-RateLimit-Limit": "60"})) as api:
        assert value(probed(api.url), "rate limit") == "X-Ratelimit-Limit: 60"


# Errors


def serving_body(body: bytes, status: int = 200, **headers: str) -> Any:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lists.serving(lambda api, request: (status, body, {"Content-Type": "application/json"} | named))


PAGE = b"<!doctype html><html><head><title>Sign in</title></head><form><input type='password'></form></html>"


@pytest.mark.parametrize(
    ("body", "status", "kind", "condition", "said"),
    [
        (b"", 401, "application/json", "HTTP_STATUS", "status 401.*--auth"),
        (b'{"message": "no"}', 403, "application/json", "HTTP_STATUS", 'status 403: {"message": "no"}.*--auth'),
        (b"", 404, "application/json", "HTTP_STATUS", "Check the path"),
        (b"", 500, "application/json", "HTTP_STATUS", "The server failed"),
        (b"", 400, "application/json", "HTTP_STATUS", "documentation names parameters"),
        (PAGE, 200, "text/html", "HTTP_BODY_INVALID", "page of HTML titled 'Sign in'.*page to log in"),
        (b"<html><body>Hi</body></html>", 200, "text/html", "HTTP_BODY_INVALID", "address for browsers"),
        (b"<?xml version='1.0'?><a/>", 200, "application/xml", "HTTP_BODY_INVALID", "XML"),
        (b'[{"id": 1}, {"id"', 200, "application/json", "HTTP_BODY_INVALID", "it is no JSON"),
        (b"[" * 100_000, 200, "application/json", "HTTP_BODY_INVALID", "nested too deeply"),
        (b'[{"id": ' + b"9" * 5000 + b"}]", 200, "application/json", "HTTP_BODY_INVALID", "it is no JSON"),
        (b'[{"id": NaN}]', 200, "application/json", "HTTP_BODY_INVALID", "NaN is no JSON"),
        (b"", 200, "application/json", "RECORDS_NOT_FOUND", "is empty"),
        (b'{"id": 1, "name": "x"}', 200, "application/json", "RECORDS_NOT_FOUND", "its fields are id, name"),
        (b'{"items": []}', 200, "application/json", "RECORDS_NOT_FOUND", "an empty array at '/items'"),
        (b'{"1": {"a": 1}, "2": {"a": 2}}', 200, "application/json", "RECORDS_NOT_FOUND", "objects under names"),
        (b"[1, 2]", 200, "application/json", "RECORDS_NOT_FOUND", "array of int"),
        (b"true", 200, "application/json", "RECORDS_NOT_FOUND", "is bool"),
        (b"just words\nof text", 200, "text/plain", "HTTP_BODY_INVALID", "CSV"),
        (b"a,b\n1,2,3\n", 200, "text/csv", "HTTP_BODY_INVALID", "different numbers of fields"),
        (b"a,b\n", 200, "text/csv", "RECORDS_NOT_FOUND", "CSV without records"),
    ],
)
def test_what_cannot_be_read_is_told(body: bytes, status: int, kind: str, condition: str, said: str) -> None:
    with (
        serving_body(body, status, Content_Type=kind) as api,
        pytest.raises(epochal.EpochalError, match=said) as caught,
    ):
        probed(api.url)
    assert caught.value.condition == condition
    assert caught.value.hint
    assert len(str(caught.value)) < 700


def test_an_api_that_is_not_there_is_told() -> None:
    with pytest.raises(epochal.HttpError, match=r"127\.0\.0\.1:1/x could not be reached: Connection refused") as caught:
        probed("http://127.0.0.1:1/x")
    assert caught.value.condition == "HTTP_UNREACHABLE"
    with pytest.raises(epochal.HttpError, match=r"host name nowhere\.invalid cannot be resolved"):
        probed("http://nowhere.invalid/x")


def test_a_server_that_does_not_respond_is_told() -> None:
    with serve(Api()) as api:
        api.hold.clear()
        with pytest.raises(epochal.HttpError, match=r"did not respond within 0\.2 s") as caught:
            probed(api.url, http=Http(timeout="200ms"))
    assert caught.value.condition == "HTTP_TIMEOUT"


def test_a_server_that_goes_on_sending_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_DEADLINE", 0.3)
    with dripping() as url, pytest.raises(epochal.HttpError, match=r"did not respond within 0\.3 s"):
        probed(url)


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a header's letters for ever."""
    import socket
    import threading

    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while not ended.wait(0.02):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        ended.set()
        thread.join(10)


def test_a_response_that_is_too_large_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST", 1000)
    bomb = gzip.compress(json.dumps([{"id": n} for n in range(1000)]).encode())
    with (
        serving_body(b"[" + b" " * 2000 + b"]") as api,
        pytest.raises(epochal.HttpError, match="larger than 1000 bytes"),
    ):
        probed(api.url)
    with serving_body(bomb, Content_Encoding="gzip") as api, pytest.raises(epochal.HttpError, match="larger than 1000"):
        probed(api.url)


def test_gzip_is_read_and_a_cut_one_is_told() -> None:
    packed = gzip.compress(json.dumps(lists.records(5)).encode())
    with serving_body(packed, Content_Encoding="gzip") as api:
        assert probed(api.url).schema == "id BIGINT, name STRING"
    with (
        serving_body(packed[:-9], Content_Encoding="gzip") as api,
        pytest.raises(epochal.HttpError, match="it was cut"),
    ):
        probed(api.url)
    with serving_body(packed, Content_Encoding="br") as api, pytest.raises(epochal.HttpError, match="encoding is br"):
        probed(api.url)


def test_a_redirection_on_the_same_server_is_followed() -> None:
    def slash(api: Lists, request: Request) -> Answer:
        return lists.whole(api, request) if request.path.endswith("/") else (301, b"", {"Location": "/comments/"})

    with lists.serving(slash) as api:
        found = probed(f"{api.url}?sort=id")
    assert found.options["url"].startswith(f"{api.url}/")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("https://elsewhere.invalid/x?token=s3cret", "https://elsewhere.invalid/x.*set url to that address"),
        ("/login?next=/comments", "page to log in"),
    ],
)
def test_a_redirection_elsewhere_is_told(target: str, said: str) -> None:
    with lists.serving(lambda api, request: (302, b"", {"Location": target})) as api:
        with pytest.raises(epochal.HttpError, match=said) as caught:
            probed(api.url, headers={"X-Api-Key": HIDDEN})
        assert len(api.requests) == 1
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://x/y", "comments", "", "http://", "http://x:y/", "http://a b/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(OptionError, match="is not an address"):
        probed(url)


def test_a_login_in_the_address_is_refused_without_being_shown() -> None:
    with pytest.raises(OptionError, match=r"rest\.Basic") as caught:
        probed(f"http://me:{HIDDEN}@api.example.com/x")
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"requests": 0}, {"requests": True}, {"delay": -1}, {"delay": 1000}, {"headers": {"a b": "c"}}]
)
def test_arguments_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        rest.probe("http://127.0.0.1:1/", **given)


def test_what_needs_the_jar_is_refused() -> None:
    auth = rest.OAuth2(token_url="https://x/", client_id="me", client_secret=HIDDEN)
    with pytest.raises(OptionError, match="OAuth2, which only the jar uses") as caught:
        probed("http://127.0.0.1:1/", auth=auth)
    assert HIDDEN not in str(caught.value)


# Secrets


def guarded(api: Lists, request: Request) -> Answer:
    """Repeats all that it was sent, and asks for it."""
    sent = " ".join([*request.headers.values(), *request.params.values()])
    if HIDDEN not in sent:
        return json_of({"error": f"who are you? {sent}"}, status=401)
    page, size = int(request.params.get("page", 1)), int(request.params.get("per_page", 10))
    more = page * size < len(api.records)
    link = {"Link": f'<{api.link(request, page=page + 1, per_page=size)}>; rel="next"'} if more else {}
    return json_of(api.part((page - 1) * size, size), {**link, "X-RateLimit-Key": HIDDEN})


ENVIRONMENT = {"TOKEN": "one", "API_KEY": "two", "PASSWORD": "three", "API_USER": "four", "TENANT": "five"}


@pytest.mark.parametrize(
    ("given", "query", "printed"),
    [
        ({"auth": rest.Bearer(HIDDEN)}, "", 'auth=rest.Bearer(Secret.env("TOKEN"))'),
        (
            {"auth": rest.Basic(user="me", password=HIDDEN), "headers": {"X-Tenant": HIDDEN}},
            "",
            'os.environ["API_USER"]',
        ),
        ({"auth": rest.ApiKey(HIDDEN)}, "", 'auth=rest.ApiKey(Secret.env("API_KEY"))'),
        ({"auth": rest.ApiKey(HIDDEN, param="key")}, "", 'auth=rest.ApiKey(Secret.env("KEY"), param="key")'),
        ({"headers": {"Authorization": f"Bearer {HIDDEN}"}}, "", 'auth=rest.Bearer(Secret.env("TOKEN"))'),
        ({"headers": {"X-Api-Key": HIDDEN}}, "", 'auth=rest.ApiKey(Secret.env("API_KEY"), header="X-Api-Key")'),
        ({"headers": {"X-Tenant": HIDDEN}}, "", 'headers={"X-Tenant": os.environ["TENANT"]}'),
        ({"params": {"api_key": HIDDEN}}, "", 'auth=rest.ApiKey(Secret.env("API_KEY"), param="api_key")'),
        ({}, f"?access_token={HIDDEN}", 'auth=rest.ApiKey(Secret.env("ACCESS_TOKEN"), param="access_token")'),
        ({}, f"?key={HIDDEN}&sig={HIDDEN}x", 'params={"sig": os.environ["SIG"]}'),
        (
            {"auth": [rest.Bearer("other"), rest.ApiKey(HIDDEN)]},
            "",
            'auth=[rest.Bearer(Secret.env("TOKEN")), rest.ApiKey(',
        ),
    ],
)
def test_secrets_are_sent_and_never_printed(given: dict[str, Any], query: str, printed: str) -> None:
    with lists.serving(guarded) as api:
        found = probed(api.url + query, **given)
    assert found.complete
    assert printed in found.call
    texts = [str(found), repr(found), json.dumps(found.as_dict()), found._repr_html_(), repr(dict(found.options))]
    assert [text for text in texts if HIDDEN in text or "bWU6" in text] == []


def test_a_program_with_variables_of_the_environment_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with lists.serving(guarded) as api:
        given = {"auth": rest.Basic(user="me", password=HIDDEN), "headers": {"X-Tenant": HIDDEN, "X-Api-Version": "2"}}
        found = probed(api.url, **given)
    for name, text in ENVIRONMENT.items():
        monkeypatch.setenv(name, text)
    _, named = run_helper(found.call)
    assert named["headers"] == {"X-Api-Version": "2", "X-Tenant": "five"} or named["headers"] == {
        "X-Tenant": "five",
        "X-Api-Version": "2",
    }
    assert named["auth"] == rest.Basic(user="four", password=Secret.env("PASSWORD"))
    plain = run_plain(found.plain).options
    assert plain["headers.X-Tenant"] == "five"
    assert plain["user"] == "four"
    assert plain["passwordEnv"] == "PASSWORD"
    assert found.options["user"] == "$API_USER"


def test_secrets_are_read_where_they_are_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_TOKEN", HIDDEN)
    (tmp_path / "key").write_text(f"{HIDDEN}\n", "utf-8")
    with lists.serving(guarded) as api:
        found = probed(
            api.url, auth=[rest.Bearer(Secret.env("PROBE_TOKEN")), rest.ApiKey(Secret.file(tmp_path / "key"))]
        )
        assert api.requests[0].headers["authorization"] == f"Bearer {HIDDEN}"
        assert api.requests[0].headers["x-api-key"] == HIDDEN
    assert 'Secret.env("PROBE_TOKEN")' in found.call
    assert f'Secret.file("{tmp_path}/key")' in found.call
    assert HIDDEN not in str(found)
    monkeypatch.delenv("PROBE_TOKEN")
    with pytest.raises(OptionError, match=r"PROBE_TOKEN.*no such variable"):
        probed(api.url, auth=rest.Bearer(Secret.env("PROBE_TOKEN")))
    with pytest.raises(OptionError, match="cannot be read from"):
        probed(api.url, auth=rest.Bearer(Secret.file(tmp_path / "none")))


def test_an_error_that_repeats_a_secret_does_not_show_it() -> None:
    echo: Callable[[Lists, Request], Answer] = lambda api, request: json_of(request.headers, status=403)  # noqa: E731
    with lists.serving(echo) as api, pytest.raises(epochal.HttpError) as caught:
        probed(f"{api.url}?token={HIDDEN}q", headers={"X-Tenant": HIDDEN}, auth=rest.Bearer(f"{HIDDEN}-bearer"))
    assert HIDDEN not in str(caught.value)
    assert "does not accept these credentials" in caught.value.hint


def test_the_key_goes_with_links_that_do_not_repeat_it() -> None:
    def keyed(api: Lists, request: Request) -> Answer:
        if request.params.get("key") != HIDDEN:
            return json_of({}, status=401)
        start = int(request.params.get("start_at", 0))
        more = start + 10 < len(api.records)
        return json_of({"data": api.part(start), "next": f"{api.url}?start_at={start + 10}" if more else None})

    with lists.serving(keyed) as api:
        assert probed(api.url, auth=rest.ApiKey(HIDDEN, param="key")).options["nextUrl"] == "/next"


def test_settings_of_requests_go_into_the_program_without_their_secrets() -> None:
    with lists.serving(lists.whole) as api:
        proxy = Proxy(url=api.url.removesuffix("/comments"), user="me", password=HIDDEN)
        found = probed("http://api.example.com/people", http=Http(timeout="3s", proxy=proxy))
        assert api.requests[0].headers["proxy-authorization"].startswith("Basic ")
        assert api.requests[0].headers["host"] == "api.example.com"
    assert 'http=Http(timeout="3s", proxy=Proxy(url=' in found.call
    assert 'user=os.environ["PROXY_USER"], password=Secret.env("PROXY_PASSWORD")' in found.call
    assert "from epochal import Http, Proxy, Secret, rest" in found.call
    assert HIDDEN not in str(found)


def test_files_of_tls_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", "utf-8")
    with pytest.raises(OptionError, match="tls=Tls") as caught:
        probed("https://127.0.0.1:1/", http=Http(tls=Tls(ca_file=tmp_path / "ca.pem")))
    assert caught.value.condition == "TLS_INVALID"


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "X-API-Key", "access_token", "sig", "password", "X-Auth-Token", "key"]
)
def test_names_that_suggest_a_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["page", "page_token", "pageToken", "sort_key", "monkey", "limit", "keyword", "sort"])
def test_names_that_suggest_none(name: str) -> None:
    assert not is_secret(name)


def test_variables_are_named_after_headers_and_parameters() -> None:
    assert [variable(name) for name in ("X-Api-Key", "apiKey", "X", "2fa", "x-tenant-id")] == [
        "API_KEY",
        "API_KEY",
        "X",
        "API_2FA",
        "TENANT_ID",
    ]


# Hostile texts


def test_control_characters_of_a_server_are_not_printed() -> None:
    def hostile(api: Lists, request: Request) -> Answer:
        records = [{**record, "\x1b[31mred": 1} for record in api.records]
        return json_of({"\x1b]0;x": records, "next\x1b": None}, {"X-RateLimit-\x7f": "\x1b[2J"})

    with lists.serving(hostile) as api:
        found = probed(api.url)
    assert "\x1b" not in str(found)
    assert "\x7f" not in str(found)
    _, named = run_helper(found.call)
    assert named["schema"] == "id BIGINT, name STRING, `\x1b[31mred` BIGINT"
    assert named["records"] == rest.Json("/\x1b]0;x")


# The schema


@pytest.mark.parametrize(
    ("values", "kind", "doubt"),
    [
        ([1, 2], "BIGINT", ""),
        ([1, 2.5], "DOUBLE", ""),
        ([True, None], "BOOLEAN", ""),
        (["a", None], "STRING", ""),
        ([None, None], "STRING", "only null in 2 records"),
        ([1, "a"], "STRING", "mixed types (text, whole number)"),
        ([True, 1], "STRING", "mixed types (boolean, whole number)"),
        ([2**53 + 1], "BIGINT", "above 2^53"),
        ([2**64], "DECIMAL(38,0)", "do not fit BIGINT"),
        ([10**40], "STRING", "do not fit BIGINT"),
        (["1234567890123456789"], "STRING", "numbers of up to 19 digits, as texts"),
        (["007"], "STRING", "leading zeros"),
        (["2026-01-01"], "DATE", ""),
        (["2026-02-31"], "STRING", ""),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456+02:00"], "TIMESTAMP", ""),
        (["2026-01-01T00:00:00"], "STRING", "without a time zone"),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00"], "STRING", "without a time zone"),
        (["2026-01-01T00:00:00.123456789Z"], "STRING", "more than microseconds"),
        ([[1], [2]], "ARRAY<BIGINT>", ""),
        ([[]], "ARRAY<STRING>", "only empty arrays"),
        ([{"a b": 1}, {"c": None}], "STRUCT<`a b`: BIGINT, c: STRING>", "c: only null"),
        ([{}], "STRING", "only empty objects"),
        ([{"2026-01-01": 1, "2026-01-02": 2}], "MAP<STRING, BIGINT>", "taken for a map"),
        ([0.1234567890123456789], "DOUBLE", ""),
    ],
)
def test_the_type_of_a_column(values: list[Any], kind: str, doubt: str) -> None:
    body = json.dumps([{"field": value} for value in values]).encode()
    records = epochal._probe.body._json(body)  # type: ignore[attr-defined]
    found = schema.infer(records, texts=False)
    assert found.ddl == f"field {kind}"
    assert any(doubt in text for text in found.doubts) if doubt else True
    assert bool(doubt) or found.doubts == () or "15 digits" in found.doubts[0]


@pytest.mark.parametrize(
    ("name", "values", "doubt"),
    [
        ("created_at", [1767225600], "seconds since 1970"),
        ("updatedAt", [1767225600000], "milliseconds since 1970"),
        ("views", [1767225600], ""),
    ],
)
def test_moments_as_numbers_are_doubted(name: str, values: list[int], doubt: str) -> None:
    found = schema.infer([{name: value} for value in values], texts=False)
    assert found.columns == ((name, "BIGINT"),)
    assert any(doubt in text for text in found.doubts) == bool(doubt) if doubt else found.doubts == ()


def test_names_that_spark_does_not_tell_apart_have_one_column() -> None:
    found = schema.infer([{"id": 1, "ID": 2}], texts=False)
    assert found.ddl == "id BIGINT"
    assert "Spark does not tell its name from 'id'" in found.doubts[0]


@pytest.mark.parametrize(
    ("body", "ddl", "options"),
    [
        (b"id,at,ok,n\n1,2026-01-01,true,1.5\n2,,false,2\n", "id BIGINT, at DATE, ok BOOLEAN, n DOUBLE", {}),
        (b"1\t007\n2\t008\n", "_c0 BIGINT, _c1 STRING", {"header": "false", "sep": "\t"}),
        (b'\xef\xbb\xbf"id";"a;b"\r\n1;"x\ny"\r\n', "id BIGINT, `a;b` STRING", {"sep": ";"}),
        (b"id,x,x\n1,2,3\n", "id BIGINT", {}),
    ],
)
def test_the_columns_of_csv(body: bytes, ddl: str, options: dict[str, str]) -> None:
    with serving_body(body, Content_Type="text/csv") as api:
        found = probed(api.url)
    assert found.schema == ddl
    assert options.items() <= found.options.items()
    assert ("header" in found.options) == ("header" in options)


def test_lines_of_json_with_any_content_type_are_ndjson() -> None:
    with serving_body(b'{"id": 1}\n\n{"id": 2, "a": {"b": []}}\n') as api:
        found = probed(api.url)
    assert found.options["bodyFormat"] == "ndjson"
    assert found.schema == "id BIGINT, a STRUCT<b: ARRAY<STRING>>"


def test_a_long_schema_is_printed_in_pieces() -> None:
    wide = [{f"column_{number}": number for number in range(40)}]
    with lists.serving(lambda api, request: json_of(wide)) as api:
        found = probed(api.url)
    assert run_helper(found.call)[1]["schema"] == found.schema
    assert max(map(len, found.call.splitlines())) < 120


# The value, and the command


def test_a_probe_is_frozen_and_can_be_kept() -> None:
    with lists.serving(lists.limit_offset) as api:
        found = probed(api.url)
    with pytest.raises(FrozenInstanceError):
        found.call = ""  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.options["url"] = ""  # type: ignore[index]
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found).startswith("rest.Probe('http://127.0.0.1:")
    assert "pages=\"next URL at '/next'\"" in repr(found)
    assert "<pre>" in found._repr_html_()
    assert "&#x27;" in found._repr_html_()
    assert json.loads(json.dumps(found.as_dict()))["options"]["pagination"] == "next-url"
    assert found.find("nothing") is None
    assert found.call in str(found) + "\n"


def test_the_command_prints_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    with lists.serving(lists.limit_offset) as api:
        assert main(["probe", api.url, "--delay", "0"]) == 0
        shown = capsys.readouterr().out
        assert 'pages=rest.NextUrl(next="/next")' in shown
        assert '.option("nextUrl", "/next")' in shown
        assert main(["probe", api.url, "--delay", "0", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["options"]["nextUrl"] == "/next"


def test_the_command_says_by_its_exit_code_what_became_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with lists.serving(lists.stuck) as api:
        assert main(["probe", api.url, "--delay", "0", "--requests", "20"]) == 3
    assert "# Incomplete" in capsys.readouterr().out
    assert main(["probe", "http://127.0.0.1:1/"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("[EPOCHAL.HTTP_UNREACHABLE]")
    assert main(["probe", "http://127.0.0.1:1/", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["condition"] == "HTTP_UNREACHABLE"
    with pytest.raises(SystemExit) as caught:
        main(["probe"])
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (["--auth", f"bearer:{HIDDEN}"], ("authorization", f"Bearer {HIDDEN}")),
        (["--auth", "bearer:env:PROBE_TOKEN"], ("authorization", f"Bearer {HIDDEN}")),
        (["--auth", f"header:X-Key:{HIDDEN}"], ("x-key", HIDDEN)),
        (["--header", f"X-Key: {HIDDEN}"], ("x-key", HIDDEN)),
        (["--auth", "param:key:env:PROBE_TOKEN"], None),
        (["--param", f"key={HIDDEN}"], None),
        (["--auth", f"basic:me:{HIDDEN}", "--header", f"X-Key: {HIDDEN}"], ("x-key", HIDDEN)),
    ],
)
def test_the_command_sends_secrets_and_prints_none(
    arguments: list[str],
    sent: tuple[str, str] | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROBE_TOKEN", HIDDEN)
    with lists.serving(guarded) as api:
        assert main(["probe", api.url, "--delay", "0", *arguments]) == 0
        assert sent is None or api.requests[0].headers[sent[0]] == sent[1]
    assert HIDDEN not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--auth", "bearer"], ["--auth", f"other:{HIDDEN}"], ["--header", HIDDEN], ["--param", HIDDEN]]
)
def test_the_command_refuses_what_it_does_not_understand(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "http://127.0.0.1:1/", *arguments]) == 1
    output = capsys.readouterr()
    assert "OPTION_INVALID" in output.err
    assert HIDDEN not in output.out + output.err


def test_a_probe_needs_neither_spark_nor_rich() -> None:
    program = """
import sys
sys.modules |= {name: None for name in ("pyspark", "py4j", "rich")}
from epochal.__main__ import main
sys.exit(main(["probe", sys.argv[1], "--delay", "0", "--timeout", "5s"]))
"""
    with lists.serving(lists.echoing) as api:
        done = subprocess.run(
            [sys.executable, "-c", program, api.url], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    assert 'rest.Offset(size=10, offset_param="offset", limit_param="limit")' in done.stdout
