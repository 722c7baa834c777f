"""``rest.probe`` without Spark: findings for APIs of many shapes, doubtful cases, and politeness."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

import epochal
from epochal import rest
from epochal._declarations import REST
from epochal.tools.probe import credentials
from epochal.tools.probe.address import Address
from epochal.tools.probe.body import Layout, Listing
from epochal.tools.probe.client import Client, Response, StoppedError
from epochal.tools.probe.linked import LinkedPages, NextPage
from support import lists
from support.api import Answer, Api, Request
from support.lists import Lists, json_of
from support.probing import SHAPES, probed, run_helper, run_plain, value


@pytest.mark.parametrize("name", SHAPES)
def test_a_probe_finds_how_an_api_is_read(name: str) -> None:
    shape = SHAPES[name]
    with shape.serving() as api:
        found = probed(api.url + shape.query)
        assert len(api.requests) == found.requests <= shape.most
    assert shape.options.items() <= found.options.items(), f"{found.options}"
    assert found.complete == shape.complete
    assert ("pagination" in found.options) == ("pagination" in shape.options)
    counts = shape.options.get("pagination") in ("none", "offset", "page") and "sep" not in shape.options
    assert ("keyField" in found.options) == (counts or shape.options.get("pagination") == "keyset")


@pytest.mark.parametrize("name", SHAPES)
def test_both_programs_are_equivalent_and_run(name: str) -> None:
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
def test_each_finding_has_its_evidence(name: str) -> None:
    shape = SHAPES[name]
    with shape.serving() as api:
        found = probed(api.url + shape.query)
    assert all(one.how and one.value and one.certainty in ("tested", "seen") for one in found.findings)
    pages = found.find("pages")
    assert pages is not None
    assert pages.certainty == "tested"
    assert {"records", "repeatable", "key", "schema"} <= {one.name for one in found.findings}
    assert any("only grows at its end" in text for text in found.unknown)


# Doubtful cases


@pytest.mark.parametrize(
    ("shape", "because"),
    [
        (lists.stuck, "'/has_more' is true"),
        (lists.foreign, "is on another server"),
        (lists.shuffled, "the list changes between requests"),
    ],
)
def test_pages_without_a_usable_next_page_are_doubted(shape: Callable[[Lists, Request], Answer], because: str) -> None:
    with lists.serving(shape) as api:
        found = probed(api.url)
    assert not found.complete
    assert found.find("pages") is None
    assert "pagination" not in found.options
    assert any(because in text for text in found.unknown)
    assert "# Incomplete" in found.call
    assert "# Incomplete" in found.plain
    assert "api_key" not in str(found)


@pytest.mark.parametrize(("yes", "no"), [(True, False), (1, 0), ("1", "0"), ("true", "False")])
def test_a_flag_has_the_values_that_a_query_accepts(yes: object, no: object) -> None:
    def flag(pointer: str, *values: object, ended: bool = True) -> tuple[str | None, str | None]:
        answer = Response(200, {}, b"", Address.parse("http://127.0.0.1/c"))
        pages = tuple(Listing(answer, Layout(), (), {pointer: value}) for value in values)
        return LinkedPages(NextPage("cursor", "/next", param="cursor"), pages, ended, "").flag()

    assert flag("/has_more", yes, yes, no) == ("/has_more", None)
    assert flag("/end_of_stream", no, no, yes) == (None, "/end_of_stream")
    assert flag("/has_more", yes, yes, yes) == (None, None)
    # A number may be something else as long as it does not change.
    assert flag("/has_more", yes, yes, ended=False) == ("/has_more" if yes is True else None, None)


def test_a_total_that_the_pages_do_not_confirm_is_not_used() -> None:
    with lists.serving(lists.capped_total) as api:
        found = probed(api.url)
    assert "totalCount" not in found.options
    assert found.complete


def test_a_list_in_descending_order_is_doubted() -> None:
    with lists.serving(lists.newest_first) as api:
        found = probed(api.url)
    assert value(found, "order") == "descending by '/id'"
    assert any("newest record" in text for text in found.doubts)


def test_records_with_changing_fields_are_identified_by_key() -> None:
    with lists.serving(lists.restless) as api:
        found = probed(api.url)
    assert found.options["keyField"] == "/id"
    assert "views" in (found.find("repeatable") or rest.Finding(name="", value="", how="")).how


def test_the_pagination_of_a_list_with_one_record_is_unknown() -> None:
    with lists.serving(lists.from_zero, count=1) as api:
        found = probed(api.url)
    assert found.find("pages") is None
    assert any("one record is too few" in text for text in found.unknown)


def test_a_round_number_of_records_is_doubted() -> None:
    with lists.serving(lists.whole, count=100) as api:
        assert any("100 is a round number" in text for text in probed(api.url).doubts)


def test_a_page_size_without_a_position_is_not_pagination() -> None:
    def newest(api: Lists, request: Request) -> Answer:
        return json_of(api.records[: int(request.params.get("limit", 10))])

    with lists.serving(newest) as api:
        found = probed(api.url)
    assert not found.complete
    assert any("none for their place" in text for text in found.unknown)


def test_a_position_without_a_page_size_is_not_pagination_of_a_single_page() -> None:
    with lists.serving(lambda api, request: json_of(api.records[int(request.params.get("offset", 0)) :])) as api:
        found = probed(api.url)
    assert not found.complete
    assert any("no parameter for it was found, and the list has one page only" in text for text in found.unknown)


def test_records_on_pages_after_the_end_make_the_program_incomplete() -> None:
    def clamped(api: Lists, request: Request) -> Answer:
        page = min(int(request.params.get("page", 1)), 3)
        return json_of(api.part(page * 10 - 10))

    with lists.serving(clamped) as api:
        found = probed(api.url)
    assert found.options["pageParam"] == "page"
    assert not found.complete
    assert any("Where the list ends" in text for text in found.unknown)


def test_a_position_in_the_address_is_omitted() -> None:
    with lists.serving(lists.from_zero) as api:
        found = probed(f"{api.url}?page=2&size=5&sort=id")
        assert api.requests[0].params == {"size": "5", "sort": "id"}
    assert found.options["url"] == f"{api.url}?sort=id"
    assert found.options["firstPage"] == "0"
    assert any("'page' was left out" in text for text in found.doubts)


def test_a_first_page_without_a_next_one_may_be_the_last() -> None:
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


def test_a_short_page_with_an_empty_next_page_is_doubted() -> None:
    with lists.serving(lists.counting_cursor) as api:
        found = probed(api.url)
    assert found.options["cursorParam"] == "page"
    assert any("Page 3 has fewer records than the first one" in text for text in found.doubts)


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


def test_the_number_of_requests_is_limited() -> None:
    with lists.serving(lists.strict) as api:
        found = probed(api.url, requests=6)
        assert len(api.requests) == found.requests == 6
    assert not found.complete
    assert any("the limit of 6 requests was reached" in text for text in found.unknown)


def test_one_request_finds_the_records_and_the_schema() -> None:
    with lists.serving(lists.limit_offset) as api:
        found = probed(api.url, requests=1)
    assert found.schema == "id BIGINT, name STRING"
    assert not found.complete


def asking(api: Api, waits: list[float], most: int = 20, delay: float = 0.2) -> Client:
    who = credentials.of(Address.parse(api.url), None, None)[1]
    return Client(who, None, most, delay, waits.append)


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"Retry-After": "7"}, [7.0]),
        ({}, [1.0]),
        ({"Retry-After": "0"}, [1.0]),
        ({"Retry-After": "40.5"}, [40.5]),
        ({"Retry-After": "Sunday, 06-Nov-94 08:49:37 GMT"}, [1.0]),
        ({"Retry-After": "soon"}, [20.0]),
        ({"Retry-After-Ms": "1500"}, [1.5]),
        ({"Retry-After": "2", "X-RateLimit-Reset": "30"}, [2.0]),
        ({"Retry-After": "2", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}, [2.0]),
        ({"Retry-After": "0", "X-RateLimit-Reset": "9"}, [9.0]),
        ({"X-RateLimit-Reset-After": "1.25"}, [1.25]),
        ({"X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "30"}, [1.0]),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"}, [9.0]),
        ({"RateLimit": '"default";r=0;t=4'}, [4.0]),
    ],
)
def test_retry_after_is_honoured(headers: dict[str, str], waits: list[float]) -> None:
    def throttled(api: Lists, request: Request) -> Answer:
        return (429, b"", headers) if len(api.requests) == 1 else json_of([])

    found: list[float] = []
    with lists.serving(throttled) as api:
        assert asking(api, found).get(Address.parse(api.url)).status == 200
    assert found == [*waits, 0.2]


@pytest.mark.parametrize(
    "form",
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y", "%Y-%m-%dT%H:%M:%SZ", ""],
)
def test_the_dates_of_retry_after_are_those_of_the_jar(form: str) -> None:
    moment = datetime.now(timezone.utc) + timedelta(seconds=31)
    later = moment.strftime(form) if form else str(int(moment.timestamp()))

    def throttled(api: Lists, request: Request) -> Answer:
        return (429, b"", {"Retry-After": later}) if len(api.requests) == 1 else json_of([])

    found: list[float] = []
    with lists.serving(throttled) as api:
        assert asking(api, found).get(Address.parse(api.url)).status == 200
    assert 25 < found[0] <= 31


def test_an_exhausted_rate_limit_pauses_requests() -> None:
    found: list[float] = []
    with lists.serving(lambda api, request: json_of([], {"RateLimit-Remaining": "0", "RateLimit-Reset": "3"})) as api:
        asked = asking(api, found)
        asked.get(Address.parse(api.url))
        asked.get(Address.parse(api.url))
    assert found == [3.0]


def test_a_long_retry_after_stops_the_probe() -> None:
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
