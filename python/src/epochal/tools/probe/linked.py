"""Pagination by links, cursors and keys: finds where a response names the next page, and follows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from epochal._values.pages import AnyPages, Cursor, EndOfList, Keyset, Link, NextUrl
from epochal.tools.probe import names
from epochal.tools.probe.address import Address
from epochal.tools.probe.body import Listing, at
from epochal.tools.probe.page_reader import PageReader, ordinal
from epochal.tools.probe.records import Key

#: Maximum number of pages to read in search of the end of a list.
_MAX_PAGES = 4
#: Maximum characters of a ``Link`` header to parse.
_MAX_LINK_LENGTH = 8000
_LINK = re.compile(r"<([^>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,]+))", re.IGNORECASE)


@dataclass(frozen=True)
class NextPage:
    """A way to the next page.

    Attributes:
        kind: by a ``Link`` header, a URL in the body, a cursor, or the key of the last record.
        pointer: JSON Pointer to the URL, cursor or key, in the body or (``keyset``) in a record.
        header: the header with the cursor, instead of ``pointer``.
        param: the parameter for the cursor or key.
    """

    kind: Literal["link", "next-url", "cursor", "keyset"]
    pointer: str = ""
    header: str = ""
    param: str = ""

    @property
    def place(self) -> str:
        """The place in a response that names the next page."""
        if self.kind == "link":
            return "header Link, rel=next"
        return f"header {self.header}" if self.header else f"'{self.pointer}'"

    @property
    def shown(self) -> str:
        """The text for a finding."""
        if self.kind in ("link", "next-url"):
            return self.place if self.kind == "link" else f"next URL at {self.place}"
        what = "cursor" if self.kind == "cursor" else "key of the last record"
        return f"{what} at {self.place}, sent as parameter '{self.param}'"

    def token(self, listing: Listing) -> str | None:
        """The URL, cursor or key of the next page; None if the response names none."""
        if self.kind == "link":
            return links(listing.response.headers).get("next")
        if self.kind == "keyset":
            return None if not listing.records else _text(at(listing.records[-1], self.pointer))
        if self.header:
            return listing.response.headers.get(self.header.lower()) or None
        return _text(listing.outline.get(self.pointer))

    def address(self, listing: Listing, token: str | None = None) -> Address | None:
        """The address of the next page; None if there is none, or if it is on another server."""
        token = token or self.token(listing)
        if token is None:
            return None
        if self.kind in ("link", "next-url"):
            return listing.address.follow(token)
        return listing.address.with_params({self.param: token})

    def is_named(self, listing: Listing) -> bool:
        """Whether the place exists, even if it names no page, which the jar treats as the end of the list."""
        if self.kind == "link":
            return bool({"first", "last", "prev", "previous", "next"} & {*links(listing.response.headers)})
        if self.kind == "keyset":
            return True
        if self.header:
            return self.header.lower() in listing.response.headers
        return self.pointer in listing.outline

    def value(self, more: str | None, last: str | None, end: EndOfList | None) -> AnyPages:
        """As ``pages`` of ``epochal.read.rest``."""
        if self.kind == "link":
            return Link(has_more=more, last_page=last, end_of_list=end)
        if self.kind == "next-url":
            return NextUrl(next=self.pointer, has_more=more, last_page=last, end_of_list=end)
        if self.kind == "keyset":
            return Keyset(key=self.pointer, param=self.param, has_more=more, last_page=last)
        return Cursor(
            next=None if self.header else self.pointer,
            next_header=self.header or None,
            param=self.param,
            has_more=more,
            last_page=last,
            end_of_list=end,
        )


@dataclass(frozen=True)
class LinkedPages:
    """A working way to the next page, and the pages read.

    Attributes:
        ended: whether the last page read is the last page of the list.
        how: how the way was tested.
        repeats: whether a page repeats records of an earlier one.
        itself: whether the last page names itself as the next one.
    """

    follow: NextPage
    pages: tuple[Listing, ...]
    ended: bool
    how: str
    repeats: bool = False
    itself: bool = False

    def flag(self) -> tuple[str | None, str | None]:
        """JSON Pointers to a flag for further pages, and to a flag for the last page.

        A flag is used only if its value was correct on each page read; a number or a text only if the last one was.
        """
        before = self.pages[:-1] if self.ended else self.pages
        outlines = [page.outline for page in before]
        end = self.pages[-1].outline if self.ended else None
        more = _flag(outlines, end, True, names.is_more)
        return (more, None) if more else (None, _flag(outlines, end, False, names.is_last))


def _flag(
    before: list[Mapping[str, Any]], end: Mapping[str, Any] | None, value: bool, fits: Callable[[str], bool]
) -> str | None:
    for pointer, first in before[0].items() if before else ():
        is_so = fits(pointer) and all(truth(outline.get(pointer)) is value for outline in before)
        if is_so and (isinstance(first, bool) if end is None else truth(end.get(pointer)) is (not value)):
            return pointer
    return None


def truth(value: Any) -> bool | None:
    """The value of a flag, by the rules of the jar; None if it is no flag."""
    return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())


def candidates(listing: Listing) -> Iterator[NextPage]:
    """The possible ways to the next page, the likeliest first."""
    if "next" in links(listing.response.headers):
        yield NextPage("link")
    ranks = sorted((rank, pointer) for pointer in listing.outline if (rank := names.cursor_rank(pointer)) is not None)
    pointers = [pointer for _, pointer in ranks if _text(listing.outline[pointer]) is not None]
    urls = [pointer for pointer in pointers if _is_url(listing.outline[pointer])]
    yield from (NextPage("next-url", one) for one in urls if names.cursor_rank(one) != 3 or "next" in names.plain(one))
    for pointer in pointers:
        is_echo = names.cursor_rank(pointer) == 3 and str(listing.outline[pointer]).isdigit()
        if pointer not in urls and not is_echo:
            is_number = isinstance(listing.outline[pointer], int)
            yield from (
                NextPage("cursor", pointer, param=one) for one in names.cursor_params(pointer, is_number=is_number)
            )
    for header, value in listing.response.headers.items():
        if value and names.cursor_rank(f"/{header}") in (0, 1, 2) and header != "link" and not _is_url(value):
            params = names.cursor_params(f"/{header}", is_number=value.isdigit())
            yield from (NextPage("cursor", header=title_case(header), param=one) for one in params)


def silent_places(listing: Listing) -> list[str]:
    """Places that could name a next page but are null, false or empty."""
    return [p for p, value in listing.outline.items() if names.cursor_rank(p) == 0 and _text(value) is None]


def unreadable_places(listing: Listing) -> Iterator[str]:
    """Notes on next pages that Epochal cannot or does not follow."""
    headers = listing.response.headers
    if "next" in listing.relations:
        yield "The next page is named in an array of links, at a position that may change: no pointer leads there."
    for name, value in headers.items():
        if name != "link" and names.cursor_rank(f"/{name}") == 0 and _is_url(value):
            yield f"The header {title_case(name)} has the next page's address: it is read from Link or the body only."
    target = links(headers).get("next")
    places = [("header Link", target)] if target else []
    places += [(f"'{p}'", str(v)) for p, v in listing.outline.items() if names.cursor_rank(p) == 0 and _is_url(v)]
    for place, address in places:
        if listing.address.follow(address) is None:
            yield f"The next page at {place} is on another server, or not an address: Epochal does not follow it."


def follow(reader: PageReader, first: Listing, key: Key, max_ways: int = 8) -> LinkedPages | None:
    """The first working way from this page to the next; tests each with a request.

    Args:
        max_ways: maximum number of ways to try.
    """
    before = key.all(first.records)
    for number, way in enumerate(candidates(first)):
        address = way.address(first)
        if number >= max_ways or address is None:
            continue
        second = reader.read(address)
        after = key.all(second.records) if second else []
        if second is None or not after or key.overlap(before, after):
            continue
        return _walk(reader, way, first, second, key)
    return None


def follow_keys(reader: PageReader, first: Listing, key: Key) -> LinkedPages | None:
    """A keyset pagination, if the API returns the records after a key; else None."""
    before = key.all(first.records)
    if key.pointer is None or len(before) < 2:
        return None
    for param in names.KEYSETS:
        way = NextPage("keyset", key.pointer, param=param)
        early = reader.read(first.address.with_params({param: _text(at(first.records[0], key.pointer)) or ""}))
        if early is None or key.all(early.records)[: len(before) - 1] != before[1:]:
            continue
        address = way.address(first)
        second = reader.read(address) if address else None
        if second is not None and second.records and not key.overlap(before, key.all(second.records)):
            return _walk(reader, way, first, second, key)
    return None


def _walk(reader: PageReader, way: NextPage, first: Listing, second: Listing, key: Key) -> LinkedPages:
    """Reads further pages, up to the end of the list or the maximum number."""
    pages, all_keys = [first, second], {*key.all(first.records), *key.all(second.records)}
    is_last, itself, again = False, False, ""
    while not is_last and not again and len(pages) < _MAX_PAGES:
        address = way.address(pages[-1])
        if address is not None and address.target == pages[-1].address.target:
            is_last = itself = True
            break
        further = reader.read_if_allowed(address) if address else None
        if address is not None and further is None:
            break
        keys = key.all(further.records) if further else []
        overlaps = key.overlap(all_keys, keys)
        if further is None or not keys or (overlaps and _says_end(pages[-1])):
            is_last = True
        elif overlaps:
            again = f"; the {ordinal(len(pages) + 1)} page repeats records of earlier ones"
        else:
            all_keys.update(keys)
            pages.append(further)
    end = f"page {len(pages)} is the last one" if is_last else f"{len(pages)} pages were read without reaching the end"
    how = f"the second page was requested, and has {second.count} other records; {end}{again}"
    return LinkedPages(way, tuple(pages), is_last, how, repeats=bool(again), itself=itself)


def _says_end(listing: Listing) -> bool:
    flags = [(pointer, truth(value)) for pointer, value in listing.outline.items()]
    return any((names.is_more(p) and v is False) or (names.is_last(p) and v is True) for p, v in flags)


def links(headers: Mapping[str, str]) -> dict[str, str]:
    """The targets of a ``Link`` header (RFC 8288), by relation."""
    targets = dict[str, str]()
    for target, parameters in _LINK.findall(headers.get("link", "")[:_MAX_LINK_LENGTH]):
        for match in _REL.finditer(parameters):
            for relation in (match[1] or match[2] or "").lower().split():
                targets.setdefault(relation, target.strip())
    return targets


def _text(value: Any) -> str | None:
    """A value of a response as a request parameter; None if it names no page."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    text = str(value).strip()
    return None if text in ("", "false") else text


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"https?://|[/?]", value) is not None


def title_case(header: str) -> str:
    """The name of a header in its usual spelling."""
    return "-".join(word.capitalize() for word in header.split("-"))
