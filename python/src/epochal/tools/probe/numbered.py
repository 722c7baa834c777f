"""Pagination by offset or page number: finds the parameters that work, by comparing records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from epochal._values.pages import AnyPages, Offset, Page
from epochal.tools.output import counted
from epochal.tools.probe import names
from epochal.tools.probe.address import Address
from epochal.tools.probe.body import Listing
from epochal.tools.probe.linked import links
from epochal.tools.probe.page_reader import PageReader, records_of
from epochal.tools.probe.records import Key

Kind = Literal["offset", "page"]

#: The page size to try, and smaller round sizes.
LARGE = 100
_ROUND = (100, 50, 25, 20, 10, 5, 2, 1)
#: Number of a page beyond the end of any list.
_FAR = 1_000_000
#: Statuses of a page after the last one that the jar treats as the end of a list.
PAST_END = (400, 404, 416)


class Pair(NamedTuple):
    """The parameters for the position and for the size of a page."""

    kind: Kind
    position: str
    size: str


@dataclass(frozen=True)
class NumberedPages:
    """A working pagination by offset or page number.

    Attributes:
        first: number of the first page.
        size: page size; a full page of this size was seen.
        sized: whether ``size_param`` has an effect.
        total: JSON Pointer to, or header with, the correct number of all records; empty if none was found.
        length: number of records of the whole list if one response had them all; else 0.
        ends: the response for a page after the end; empty if none was seen.
        trouble: a problem with the pages; empty if there is none.
    """

    kind: Kind
    param: str
    size_param: str
    how: str
    first: int = 1
    size: int = 0
    sized: bool = True
    total: str = ""
    total_seen: int = 0
    length: int = 0
    ends: str = ""
    trouble: str = ""
    pages: tuple[Listing, ...] = ()

    def query(self, record: int, size: int) -> dict[str, str | int]:
        """The parameters of the page that begins at a record."""
        place = record if self.kind == "offset" else self.first + record // size
        return {self.param: place, self.size_param: size}

    @property
    def shown(self) -> str:
        words = "records to skip" if self.kind == "offset" else f"page number, starting at {self.first}"
        return f"parameter '{self.param}' ({words})"

    def value(self, key: str | None) -> AnyPages:
        """As ``pages`` of ``epochal.read.rest``."""
        total = self.total if self.total.startswith("/") else None
        header = self.total if self.total and total is None else None
        if self.kind == "offset":
            return Offset(
                size=self.size,
                offset_param=self.param,
                limit_param=self.size_param,
                total=total,
                total_header=header,
                key=key,
            )
        return Page(
            size=self.size,
            page_param=self.param,
            size_param=self.size_param,
            first=None if self.first == 1 else self.first,
            total=total,
            total_header=header,
            key=key,
        )


@dataclass
class Hints:
    """Parameter names that occur in a response or its address."""

    offsets: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, listing: Listing, address: Address) -> Hints:
        """Collects hints from the user's address, from links, and from numbers around the records."""
        hints = cls()
        queries = [address.params.items()]
        texts = [*links(listing.response.headers).values(), *listing.relations.values()]
        texts += [value for value in listing.outline.values() if isinstance(value, str) and "?" in value]
        queries += [dict(parse_qsl(urlsplit(text).query)).items() for text in texts[:50] if len(text) < 4000]
        for name, value in (pair for query in queries for pair in query):
            hints.add(name, value)
        following = dict(parse_qsl(urlsplit(listing.relations.get("next", "")[:4000]).query))
        hints.offsets += [
            name for name, value in following.items() if value == str(listing.count) and name not in hints.known
        ]
        for pointer, value in listing.outline.items():
            if isinstance(value, int) and not isinstance(value, bool):
                hints.add_echo(names.leaf(pointer), value, listing.count)
        return hints

    @property
    def known(self) -> list[str]:
        return [*self.offsets, *self.pages, *self.sizes]

    def add(self, name: str, value: str) -> None:
        if re.fullmatch(r"\d{1,9}", value):
            for usual, own in ((names.OFFSETS, self.offsets), (names.PAGES, self.pages), (names.SIZES, self.sizes)):
                if name in usual and name not in own:
                    own.append(name)

    def add_echo(self, name: str, value: int, count: int) -> None:
        """Adds a number next to the records that may echo a request parameter: position 0 or 1, or a page size."""
        is_place = value == 0 or (value == 1 and name in names.PAGES)
        is_size = value >= count and name in names.SIZES and name not in ("count", "first")
        if is_size or (is_place and name not in names.SIZES):
            self.add(name, str(value))

    def pairs(self) -> list[Pair]:
        """Pairs of parameters with a hinted position parameter."""
        result: list[Pair] = []
        kinds: tuple[tuple[Kind, list[str], Sequence[tuple[str, str]]], ...] = (
            ("offset", self.offsets, names.OFFSET_PAIRS),
            ("page", self.pages, names.PAGE_PAIRS),
        )
        for kind, positions, usual in kinds:
            for position in positions:
                partners = [size for one, size in usual if one == position]
                result += [Pair(kind, position, size) for size in self.sizes or partners[:2] or ["limit"]]
        return result


class NumberedSearch:
    """Searches for pagination parameters and tests them.

    Args:
        first: the first page, with at least two records.
        base: its address without pagination parameters.
        hints: parameter names that the response suggests.

    Attributes:
        small_page: a first page of a smaller size, if a size parameter has worked.
    """

    def __init__(self, reader: PageReader, first: Listing, base: Address, key: Key, hints: Hints) -> None:
        self._reader, self._base, self._key, self._hints = reader, base, key, hints
        self._keys = key.all(first.records)
        self._first = first
        self._small = 2 if len(self._keys) >= 6 else 1
        self._attempts: set[Pair] = set()
        self._sizes = [*hints.sizes]
        self.small_page: Listing | None = None

    def hinted(self) -> NumberedPages | None:
        """The first working pair among those that the response suggests."""
        return self._first_of(self._hints.pairs())

    def usual(self) -> NumberedPages | None:
        """The first working pair among the usual ones.

        The pairs of a kind are tried one by one only if all of them together have an effect other than a smaller page.
        """
        kinds: tuple[tuple[Kind, Sequence[str], Sequence[tuple[str, str]]], ...] = (
            ("offset", names.OFFSETS, names.OFFSET_PAIRS),
            ("page", names.PAGES, names.PAGE_PAIRS),
        )
        for kind, positions, pairs in kinds:
            place = 1 if kind == "offset" else 2
            together = {**dict.fromkeys(positions, place), **dict.fromkeys(names.SIZES, self._small)}
            page = self._reader.read(self._base.with_params(together))
            keys = self._key.all(page.records) if page else []
            if keys == self._keys[: self._small]:
                self.small_page = self.small_page or page
            elif keys != self._keys:
                hints = [pair for pair in pairs if pair[1] in self._sizes]
                candidates = [Pair(kind, *pair) for pair in (*hints, *pairs)]
                if (pages := self._first_of(candidates)) is not None:
                    return pages
        return None

    def _first_of(self, pairs: Sequence[Pair]) -> NumberedPages | None:
        """The first working pair, tested with the page size of the printed program."""
        for pair in pairs:
            if pair not in self._attempts:
                self._attempts.add(pair)
                if (pages := self._test(pair)) is not None:
                    return self._measure(pages)
        return None

    def _test(self, pair: Pair) -> NumberedPages | None:
        """Tests whether the parameters return the expected records."""
        kind, position, size = pair
        small, keys = self._small, self._keys
        page = self._reader.read(self._base.with_params({position: 1 if kind == "offset" else 2, size: small}))
        if page is None or not page.records:
            return None
        page_keys = self._key.all(page.records)
        if page_keys == keys:
            return None
        if page_keys == keys[:small]:
            self._sizes.append(size)
            self.small_page = self.small_page or page
            return None
        if kind == "offset":
            return self._by_offset(position, size, page_keys)
        return self._by_page(position, size, page_keys)

    def _by_offset(self, position: str, size: str, page_keys: list[str]) -> NumberedPages | None:
        keys, small = self._keys, self._small
        if page_keys == keys[1 : 1 + small]:
            how = f"asked to skip 1 record and for {small}, it returned the right ones"
            return NumberedPages("offset", position, size, how)
        if len(page_keys) >= len(keys) - 1 and page_keys[: len(keys) - 1] == keys[1:]:
            how = f"asked to skip 1 record, it returned the list from the second one on; '{size}' had no effect"
            return NumberedPages("offset", position, size, how, sized=False)
        return None

    def _by_page(self, position: str, size: str, page_keys: list[str]) -> NumberedPages | None:
        keys, small = self._keys, self._small
        for first in (1, 0):
            begin = (2 - first) * small
            if page_keys == keys[begin : begin + small]:
                how = f"asked for page 2 of {counted(small, 'record')}, it returned the right ones"
                return NumberedPages("page", position, size, how, first=first)
        if {*page_keys} & {*keys}:
            return None
        for first in (1, 0):
            page = self._reader.read(self._base.with_params({position: first, size: small}))
            if page is not None and self._key.all(page.records) == keys:
                how = f"page {first} is the first page, and page 2 has other records; '{size}' had no effect"
                return NumberedPages("page", position, size, how, first=first, sized=False)
        return None

    def _measure(self, numbering: NumberedPages) -> NumberedPages:
        """Determines a page size for which a second page was seen, and the end of the list."""
        keys, page = self._keys, self._first
        if numbering.sized and len(keys) < LARGE:
            large = self._ask(numbering, 0, LARGE)
            if large is not None and 1 < large.count <= LARGE and _fits(self._key.all(large.records), keys):
                keys, page = self._key.all(large.records), large
        size = min(len(keys), LARGE) if numbering.sized else len(keys)
        second = self._ask(numbering, size, size)
        after = self._key.all(second.records) if second else []
        if not after and numbering.sized:
            numbering = self._with_response_after_end(numbering, len(keys), second)
            numbering = replace(numbering, length=len(keys))
            size = next(one for one in _ROUND if one <= max(1, len(keys) // 2))
            second = self._ask(numbering, size, size)
            after = self._key.all(second.records) if second else []
        next_keys = keys[size : 2 * size]
        right = bool(after) and after[: len(next_keys)] == next_keys and not {*after} & {*keys[:size]}
        numbering = replace(numbering, size=size, pages=(page, second) if second is not None and right else (page,))
        if not right:
            what = f"Page 2 of {counted(size, 'record')} does not continue where page 1 ends ({self._reader.outcome})."
            none = "The page size: no parameter for it was found, and the list has one page only."
            return replace(numbering, trouble=what if numbering.sized or after else none)
        more = f"page 2 of {counted(size, 'record')} continues where page 1 ends, with {counted(len(after), 'record')}"
        return self._with_end(replace(numbering, how=f"{numbering.how}; {more}"), keys)

    def _with_end(self, numbering: NumberedPages, keys: list[str]) -> NumberedPages:
        """Adds the total, if the last page by that total is really the last one, and the response after the end."""
        for place, total in totals(numbering.pages[-1]):
            if numbering.length:
                if total == numbering.length:
                    numbering = replace(numbering, total=place, total_seen=total)
                    break
                continue
            if total < len(keys) or any(
                total != other for page in numbering.pages for p, other in totals(page) if p == place
            ):
                continue
            start = (total - 1) // numbering.size * numbering.size
            page = self._ask(numbering, start, numbering.size)
            if page is not None and page.count == total - start:
                numbering = replace(numbering, total=place, total_seen=total)
                break
        if numbering.ends:
            return numbering
        behind = (
            -(-numbering.total_seen // numbering.size) * numbering.size if numbering.total else numbering.size * _FAR
        )
        return self._with_response_after_end(numbering, behind, self._ask(numbering, behind, numbering.size))

    def _with_response_after_end(self, pages: NumberedPages, record: int, page: Listing | None) -> NumberedPages:
        if page is None and self._reader.status not in PAST_END:
            return pages
        what = self._reader.outcome if page is None else records_of(page)
        ends = f"a page from record {record} on: {what}"
        trouble = f"Where the list ends: {ends}." if page is not None and page.records else ""
        return replace(pages, ends=ends, trouble=trouble)

    def _ask(self, pages: NumberedPages, record: int, size: int) -> Listing | None:
        return self._reader.read(self._base.with_params(pages.query(record, size)))


def totals(listing: Listing) -> list[tuple[str, int]]:
    """Candidates for the total number of records: JSON Pointer or header, and number."""
    numbers = [(p, v) for p, v in listing.outline.items() if isinstance(v, int) and not isinstance(v, bool) and v > 0]
    headers = [(name, int(v)) for name, v in listing.response.headers.items() if re.fullmatch(r"\s*\d{1,15}\s*", v)]
    all_of_them = [
        *((p, v) for p, v in numbers if names.is_total(p)),
        *((n, v) for n, v in headers if names.is_total(f"/{n}")),
    ]
    return [(place, total) for place, total in all_of_them if total >= listing.count]


def _fits(longer: list[str], prefix: list[str]) -> bool:
    shorter = min(len(longer), len(prefix))
    return longer[:shorter] == prefix[:shorter]
