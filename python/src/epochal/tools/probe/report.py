"""Converts the results of requests to findings, and to ``pages`` of ``epochal.read.rest``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from epochal._values.pages import AnyPages
from epochal.tools.probe import linked, names, numbered, records
from epochal.tools.probe.body import Listing, Record
from epochal.tools.probe.client import one_line
from epochal.tools.probe.linked import LinkedPages
from epochal.tools.probe.notes import Notes
from epochal.tools.probe.numbered import NumberedPages
from epochal.tools.probe.page_reader import PageReader, records_of

Again = Literal["same", "changed", "other"]

_OTHER_ORDER = (
    "Request another order from the API, with a parameter such as sort or order, or periods of time (rest.TimeWindow)."
)


def repeatability(notes: Notes, first: Listing, again: Listing | None, key: records.Key, outcome: str) -> Again:
    """Notes whether a repeated request returns the same records.

    Args:
        again: the second response; None if it had no records.
        outcome: outcome of the second request.

    Returns:
        Whether it had the same records, the same records with changed fields, or other records.
    """
    if again is None:
        notes.not_known(f"Whether the same request returns the same records: the second time, {outcome}.")
    elif again.records == first.records:
        notes.tested("repeatable", "yes", f"asked twice, the first page had the same {records_of(first)}")
    elif key.all(again.records) != key.all(first.records):
        notes.tested("repeatable", "no", "asked twice, the first page had other records, or another order")
        notes.doubt(f"The list changed between two requests: it must only grow at its end. {_OTHER_ORDER}")
        return "other"
    else:
        fields = ", ".join(map(one_line, records.changed_fields(first.records, again.records)[:10]))
        notes.tested("repeatable", "the records, but not all fields", f"asked twice, these fields differed: {fields}")
        return "changed"
    return "same"


def linked_pages(notes: Notes, first: Listing, paging: LinkedPages) -> AnyPages:
    """Notes how a page names the next one."""
    way = paging.follow
    notes.tested("pages", way.shown, paging.how)
    more, last = paging.flag() if way.kind in ("cursor", "keyset") else (None, None)
    if more or last:
        value = f"'{more or last}' is {'true' if more else 'false'} on each page but the last one"
        if paging.ended:
            notes.tested("end of list", value, f"so on {len(paging.pages)} pages, the last one included")
        else:
            notes.seen("end of list", value, f"so on the first {len(paging.pages)} pages; the last one was not reached")
    elif paging.ended:
        notes.tested("end of list", _end(paging), f"so on page {len(paging.pages)}, the last one")
    else:
        notes.not_known("How the last page is marked: it was not reached.")
    if paging.repeats:
        notes.incomplete("Whether the pages overlap: one repeats records of earlier ones.")
    for place, total in numbered.totals(first)[:1]:
        if paging.ended and sum(page.count for page in paging.pages) == total:
            notes.tested("total", f"{total} at {_place(place)}", "all pages together have as many records")
        else:
            notes.seen("total", f"{total} at {_place(place)}", "the first response says so")
    last_page = paging.pages[-1]
    by_token = paging.ended and not (more or last) and way.token(last_page) is not None
    if by_token and not paging.itself and last_page.count < first.count:
        notes.doubt(
            f"Page {len(paging.pages)} has fewer records than the first one, and names a page without records. Records "
            "that are added to it later are missed, if the API adds them there instead of after it."
        )
    is_named = way.is_named(first)
    if not is_named:
        notes.doubt("The first page does not mention a next one, so a list that is truncated there looks complete.")
    return way.value(more, last, "repeated" if by_token and paging.itself else None if is_named else "assumed")


def _end(paging: LinkedPages) -> str:
    way, last = paging.follow, paging.pages[-1]
    if paging.itself:
        return "a page that names itself"
    if way.token(last) is not None:
        return "a page without records"
    gone = way.kind == "link" or not way.is_named(last)
    return "nothing names a next page" if gone else "the place of the next page is null or empty"


def numbered_pages(notes: Notes, paging: NumberedPages, key: str | None, outcome: str) -> AnyPages:
    """Notes which parameters select a page.

    Args:
        key: JSON Pointer to the key of a record; None if whole records identify themselves.
        outcome: outcome of the last request.
    """
    notes.tested("pages", paging.shown, paging.how)
    if paging.sized:
        value = f"{paging.size}, by parameter '{paging.size_param}'"
        how = f"a page of {paging.size} records was requested and full; sizes above {numbered.LARGE} were not tried"
        notes.tested("page size", value, how)
        if paging.length:
            notes.doubt(f"The list has {paging.length} records: pages of more than {paging.size} could not be tested.")
    else:
        value = f"{paging.size}; '{paging.size_param}' has no effect, but is sent anyway"
        notes.tested("page size", value, "pages have this size for any requested size")
    if paging.total:
        how = "the page with the last record has as many records as this number says"
        notes.tested("total", f"{paging.total_seen} at {_place(paging.total)}", how)
    else:
        largest = max(page.count for page in paging.pages)
        for place, total in [one for one in numbered.totals(paging.pages[-1]) if one[1] > largest][:1]:
            notes.seen("total", f"{total} at {_place(place)}", "a response says so; the pages do not confirm it")
    if paging.trouble:
        notes.incomplete(paging.trouble)
    elif paging.ends:
        notes.tested("end of list", paging.ends, "it was requested")
        if ": status" in paging.ends:
            notes.doubt(
                "Where the last page is full, Epochal proves by one more request that the list ends there. If it "
                "cannot, the query fails with PAGE_REFUSED, which names the option to set."
            )
    else:
        notes.not_known(f"The response after the end of the list; when requested: {outcome}.")
    where = paging.total if paging.total.startswith("/") else linked.title_case(paging.total)
    return replace(paging, total=where).value(key)


def single_page(notes: Notes, first: Listing, reader: PageReader, is_cut: bool) -> None:
    """Notes that one response has all records, or why it may not.

    Args:
        is_cut: whether a parameter for the page size works, but none for the position.
    """
    totals = numbered.totals(first)
    against = [f"'{p}' is true" for p, v in first.outline.items() if linked.truth(v) and names.is_more(p)]
    against += [f"{_place(p)} says {n}" for p, n in totals if n > first.count and "total" in names.plain(p)]
    against += [f"{way.place} names one" for way in list(linked.candidates(first))[:1]]
    notes.not_known(*linked.unreadable_places(first))
    if against:
        why = ", ".join(against)
        notes.incomplete(f"How the pages follow each other: there are more ({why}), and nothing tried leads to them.")
    elif reader.stopped:
        notes.incomplete("How the pages follow each other, if there are several: not all usual parameters were tried.")
    elif is_cut and not any(total == first.count for _, total in totals):
        notes.incomplete("How the pages follow each other: a parameter for their size works, and none for their place.")
    elif any(one.name == "repeatable" and one.value == "no" for one in notes.findings):
        notes.incomplete("How the pages follow each other: the list changes between requests, which hides it.")
    elif first.count < 2:
        notes.not_known("Whether there are pages: one record is too few to see it.")
    else:
        how = "usual parameters have no effect, and the response names no other page"
        notes.tested("pages", "none: one response has all records", how)
        if first.count % 10 == 0:
            notes.doubt(f"{first.count} is a round number of records: it may be the maximum of one response.")
    if places := linked.silent_places(first):
        notes.not_known(f"The value of '{places[0]}' when there is a next page: there is none now.")
    for place, total in totals[:1]:
        if total == first.count:
            notes.tested("total", f"{total} at {_place(place)}", "the response has as many records")


def order(notes: Notes, first: Listing, sample: Sequence[Record], key: records.Key) -> None:
    """Notes the key of the records and their order."""
    if len({*key.all(first.records)}) == first.count:
        notes.seen("key", key.shown, f"no two of {len(sample)} records have it in common")
    else:
        notes.not_known("A key of the records: some records are equal in all fields.")
    places = records.order(sample, key)
    for pointer, direction in places:
        notes.seen("order", f"{direction} by '{pointer}'", f"so in {len(sample)} records")
    if any(direction == "descending" for _, direction in places):
        notes.doubt(
            "The list begins with its newest record: later records come before the position of a stream, which never "
            f"reads them. {_OTHER_ORDER}"
        )
    if not places:
        notes.not_known("The order of the records: neither their key nor any of their times ascends.")


def rate_limit(notes: Notes, listings: Sequence[Listing]) -> None:
    """Notes the headers of a rate limit."""
    headers = {name: value for listing in listings for name, value in listing.response.headers.items()}
    lines = [
        f"{linked.title_case(name)}: {one_line(value)}"
        for name, value in headers.items()
        if re.search("rate-?limit", name)
    ]
    if lines:
        notes.seen("rate limit", "; ".join(lines), "headers of a response; Epochal pauses when the limit is used up")


def _place(place: str) -> str:
    return f"'{place}'" if place.startswith("/") else f"header {linked.title_case(place)}"
