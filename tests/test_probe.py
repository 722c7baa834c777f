"""``rest.probe``, without Spark: what it finds in APIs of many shapes, what it does not claim, and how polite it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import epochal
from epochal import rest
from epochal._forms import REST
from epochal.tools.probe import credentials
from epochal.tools.probe.address import Address
from epochal.tools.probe.client import Client, StoppedError
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


def test_a_place_without_a_size_is_no_pagination_of_a_list_with_one_page() -> None:
    with lists.serving(lambda api, request: json_of(api.records[int(request.params.get("offset", 0)) :])) as api:
        found = probed(api.url)
    assert not found.complete
    assert any("no parameter for it was found, and the list has one page only" in text for text in found.unknown)


def test_pages_behind_the_end_that_have_records_make_the_program_incomplete() -> None:
    def clamped(api: Lists, request: Request) -> Answer:
        page = min(int(request.params.get("page", 1)), 3)
        return json_of(api.part(page * 10 - 10))

    with lists.serving(clamped) as api:
        found = probed(api.url)
    assert found.options["pageParam"] == "page"
    assert not found.complete
    assert any("Where the list ends" in text for text in found.unknown)


def test_a_position_in_the_address_is_left_out() -> None:
    with lists.serving(lists.from_zero) as api:
        found = probed(f"{api.url}?page=2&size=5&sort=id")
        assert api.requests[0].params == {"size": "5", "sort": "id"}
    assert found.options["url"] == f"{api.url}?sort=id"
    assert found.options["firstPage"] == "0"
    assert any("'page' was left out" in text for text in found.doubts)


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


def test_a_short_page_that_names_an_empty_one_is_doubted() -> None:
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


def test_it_makes_no_more_requests_than_it_may() -> None:
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
