"""Usual names of pagination parameters and fields."""

from __future__ import annotations

import re

#: Parameters for the number of records to skip.
OFFSETS = ("offset", "_start", "skip", "start", "$skip", "startAt", "startIndex", "start_index", "page[offset]", "from")
#: Parameters for the page number.
PAGES = ("page", "_page", "p", "pageNumber", "page_number", "pageNo", "pageIndex", "page[number]")
#: Parameters for the page size.
SIZES = (
    "limit",
    "per_page",
    "page_size",
    "pageSize",
    "size",
    "_limit",
    "perPage",
    "count",
    "$top",
    "maxResults",
    "max_results",
    "page[limit]",
    "page[size]",
    "_per_page",
    "top",
    "take",
    "rows",
    "first",
)
#: Pairs of position and size parameters, the most common first.
OFFSET_PAIRS = (
    ("offset", "limit"),
    ("_start", "_limit"),
    ("skip", "limit"),
    ("start", "limit"),
    ("$skip", "$top"),
    ("startAt", "maxResults"),
    ("from", "size"),
    ("skip", "take"),
    ("start", "count"),
    ("start", "rows"),
    ("page[offset]", "page[limit]"),
)
PAGE_PAIRS = (
    ("page", "per_page"),
    ("page", "limit"),
    ("page", "page_size"),
    ("page", "size"),
    ("page", "pageSize"),
    ("_page", "_limit"),
    ("_page", "_per_page"),
    ("pageNumber", "pageSize"),
    ("page[number]", "page[size]"),
    ("p", "per_page"),
)
#: Parameters for a cursor, the most common first.
CURSORS = (
    "cursor",
    "after",
    "page_token",
    "pageToken",
    "starting_after",
    "start_cursor",
    "token",
    "continuation",
    "next",
)
#: Parameters for a number that a response gives for its next page.
NUMBERED = ("page", "_page", "offset", "start", "cursor", "skip")
#: Parameters for the key of the last record.
KEYSETS = ("starting_after", "after", "since_id", "after_id", "last_id", "cursor", "since")

_TOTALS = frozenset(
    [
        "total",
        "totalcount",
        "totalrecords",
        "totalitems",
        "totalresults",
        "totalelements",
        "totalsize",
        "odatacount",
        "count",
        "items",
        "recordcount",
        "numfound",
        "found",
        "resultcount",
        "xtotalcount",
        "xtotal",
        "xwptotal",
        "xtotalresults",
    ]
)
_MORE = frozenset(["hasmore", "hasnext", "hasnextpage", "more", "moreitems", "moreavailable", "morepages"])
_LAST = frozenset(
    [
        "endofstream",
        "islast",
        "islastpage",
        "last",
        "lastpage",
        "done",
        "complete",
        "completed",
        "endoflist",
        "isfinal",
        "final",
    ]
)


def plain(name: str) -> str:
    """The letters of a name, in lower case."""
    return re.sub(r"[^a-z]", "", name.lower())


def leaf(pointer: str) -> str:
    """The last meaningful name of a JSON Pointer: ``next`` for ``/_links/next/href``."""
    names = [name for name in pointer.split("/") if name]
    while len(names) > 1 and plain(names[-1]) in ("href", "url", "uri", "link", "value"):
        names.pop()
    return names[-1].replace("~1", "/").replace("~0", "~") if names else ""


def is_total(pointer: str) -> bool:
    return plain(leaf(pointer)) in _TOTALS


def is_more(pointer: str) -> bool:
    return plain(leaf(pointer)) in _MORE


def is_last(pointer: str) -> bool:
    return plain(leaf(pointer)) in _LAST


def cursor_rank(pointer: str) -> int | None:
    """Rank of a place that may hold the next page's cursor, 0 for the likeliest; None if it cannot."""
    name = plain(leaf(pointer))
    words = plain(pointer)
    if re.search(r"prev|before|current|self|first|expir|refresh|access|csrf|offsetunit", name) or name.startswith(
        "last"
    ):
        return None
    if "next" in name:
        return 0
    if re.search(r"cursor|continuation|after|scroll|marker", name):
        return 1 if "next" in words else 2
    return 3 if re.search(r"token|offset", name) or "next" in words else None


def cursor_params(pointer: str, *, is_number: bool) -> list[str]:
    """The possible parameters for the cursor at a place, the likeliest first."""
    name = leaf(pointer)
    if "-" in name:  # a header
        name = re.sub(r"^x_", "", name.lower().replace("-", "_"))
    base = re.sub(r"(?i)^next_?", "", name)
    base = base[:1].lower() + base[1:]
    own = [base] if plain(base) not in ("", "url", "link", "href", "uri") else []
    usual = (*NUMBERED, *CURSORS) if is_number else CURSORS
    same = [name] if plain(name) != "next" else []
    return list(dict.fromkeys([*own, *same, *usual]))
