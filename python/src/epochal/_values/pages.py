"""Pagination: values of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime
from typing import Any, Literal

from epochal._options import Duration
from epochal._values.kind import INSTANT, JSON, POINTER, POINTERS, whole
from epochal._values.value import Setting, Value, of, option, part, shown

OnDrift = Literal["fail", "warn", "restart"]
VerifyPosition = Literal["start", "always", "never"]
EndOfList = Literal["proven", "assumed", "repeated"]
EmptyPages = Literal["skip", "end"]
ReadMethod = Literal["GET", "POST", "QUERY"]
WindowFormat = Literal["iso", "iso-millis", "iso-date", "epoch-seconds", "epoch-millis"]


class Pages(Value):
    """Base class of paginations."""

    _alternatives = (
        ("Keep the one that the API sends.", "total", "total_header"),
        ("Keep the one that the API sends.", "next", "next_header"),
        ("Keep the one that the API sends.", "has_more", "last_page"),
        ("Keep the one that the API expects.", "param", "header", "body"),
        ("Keep the one that the API expects.", "offset_param", "offset_body"),
        ("Keep the one that the API expects.", "page_param", "page_body"),
    )


class Counted(Pages):
    """Base class of paginations that count records.

    Args:
        key: JSON Pointer to the field that identifies a record and so shows whether the list has shifted: a record that
            changes in place then counts as the same. Unset: the whole record.
        journal: Whether responses are kept in the checkpoint until they are delivered, so that a replay does not
            request them again. Default: ``False``.
    """

    key: str | None = option("keyField", POINTER, own_doc=True)
    on_drift: OnDrift | None = option("onDrift")
    journal: bool | None = option("journal", own_doc=True)
    method: ReadMethod | None = option("method")


class NoPages(Counted, pagination="none"):
    """No pagination: one response has all records. This is the default.

    Args:
        end_of_list: Whether the response is taken to be the whole list: with proven, one that mentions further pages
            fails the query. Default: ``"proven"``.
    """

    end_of_list: EndOfList | None = option("endOfList", own_doc=True)


class Numbered(Counted):
    """Base class of paginations whose requests name a position and a size."""

    size: int | None = option("pageSize")
    limit_body: str | None = option("limitBody", POINTER)
    total: str | None = option("totalCount", POINTER)
    total_header: str | None = option("totalCountHeader")
    verify_position: VerifyPosition | None = option("verifyPosition")


class Offset(Numbered, pagination="offset"):
    """Pages by offset and limit: ``?_start=200&_limit=100``."""

    offset_param: str | None = option("offsetParam")
    limit_param: str | None = option("limitParam")
    offset_body: str | None = option("offsetBody", POINTER)


class Page(Numbered, pagination="page"):
    """Pages by number: ``?page=3&per_page=100``."""

    page_param: str | None = option("pageParam")
    size_param: str | None = option("pageSizeParam")
    page_body: str | None = option("pageBody", POINTER)
    first: int | None = option("firstPage", whole(0))


class Flagged(Pages):
    """Base class of paginations whose responses may have a flag on the last page."""

    has_more: str | None = option("hasMore", POINTER)
    last_page: str | None = option("lastPage", POINTER)
    max_pages: int | None = option("maxPages")


class Linked(Flagged):
    """Base class of paginations whose responses name the next page.

    Args:
        end_of_list: What it means if the first page lacks the place that names the next page (it is neither null nor
            empty): proven fails the query, until some page has named a next one; assumed ends the list there; repeated
            is like proven, and a page that names itself as the next one is the last. Default: ``"proven"``.
    """

    end_of_list: EndOfList | None = option("endOfList", own_doc=True)
    empty_pages: EmptyPages | None = option("emptyPages")


class Positioned(Flagged):
    """Base class of paginations whose requests send a cursor; that of ``Keyset`` is a key."""

    param: str | None = option("cursorParam")
    header: str | None = option("cursorHeader")
    body: str | None = option("cursorBody", POINTER)
    first: str | None = option("firstCursor")
    method: ReadMethod | None = option("method")


class Cursor(Positioned, Linked, pagination="cursor"):
    """Pages by cursor: a response contains the cursor of the next page.

    >>> Cursor(next="/paging/next", param="after")
    rest.Cursor(next='/paging/next', param='after')
    """

    next: str | Sequence[str] | None = option("nextCursor", POINTERS)
    next_header: str | None = option("nextCursorHeader")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.next is None and self.next_header is None:
            raise self._invalid("next", "is not given, nor is next_header", '"/paging/next"')


class Keyset(Positioned, pagination="keyset"):
    """Pages by key: the next page starts after the key of the last record.

    Args:
        key: JSON Pointer within a record to its key: the next page is requested with the key of the last record, and
            has the records with greater keys.
    """

    key: str = field(metadata=of("keyField", POINTER, own_doc=True))


class Link(Linked, pagination="link"):
    """The ``Link`` header of a response has the address of the next page (RFC 8288)."""

    rel: str | None = option("linkRel")


class NextUrl(Linked, pagination="next-url"):
    """The body of a response has the address of the next page."""

    next: str = field(metadata=of("nextUrl", POINTER))


class GraphQL(Pages, pagination="graphql"):
    """Pages of a GraphQL connection, by the cursor at its end."""

    query: str = field(kw_only=False, metadata=of("query"))
    variables: Mapping[str, Any] | None = option("variables", JSON, secret=True)
    connection: str = field(metadata=of("connection", POINTER))
    cursor_variable: str | None = option("cursorVariable")
    empty_pages: EmptyPages | None = option("emptyPages")
    max_pages: int | None = option("maxPages")


class TimeWindow(Flagged, pagination="time-window"):
    """Windows of time that are requested one after another.

    >>> TimeWindow(start="2026-01-01T00:00:00Z", length="15m", pages=Page(size=100))
    rest.TimeWindow(start='2026-01-01T00:00:00Z', length='15m', pages=rest.Page(size=100))

    Args:
        pages: How the pages of one window follow each other. Unset: one response has all.
    """

    _dependent = (("overlap", "key_columns"), ("key_columns", "overlap"), ("has_more", "pages"), ("last_page", "pages"))
    start: datetime | str = field(metadata=of("windowStart", INSTANT))
    length: Duration = field(metadata=of("windowLength"))
    lag: Duration | None = option("lag")
    overlap: Duration | None = option("overlap")
    key_columns: Sequence[str] | None = option("keyColumns")
    from_param: str | None = option("windowFromParam")
    to_param: str | None = option("windowToParam")
    format: WindowFormat | None = option("windowFormat")
    pages: NoPages | Offset | Page | Cursor | Keyset | Link | NextUrl | None = part(
        NoPages, Offset, Page, Cursor, Keyset, Link, NextUrl, chooses="windowPagination", own_doc=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pages is None:
            return
        set_within = {one.name for one in fields(self.pages) if getattr(self.pages, one.name) is not None}
        if twice := sorted(set_within & {one.name for one in fields(self) if getattr(self, one.name) is not None}):
            names = ", ".join(f"{name}, {shown(type(self.pages))}({name}=…)" for name in twice)
            raise self._conflict(names, "Give it once, within pages.")
        strange = set_within & {"on_drift", "verify_position", "journal", "total", "total_header"}
        if not isinstance(self.pages, Keyset):
            strange |= set_within & {"key"}
        if strange:
            names = ", ".join(f"{shown(type(self.pages))}({name}=…)" for name in sorted(strange))
            raise self._conflict(f"pages, {names}", "Leave it out: a window is read once, from its start to its end.")

    def _options(self) -> Iterator[Setting]:
        for one in super()._options():
            inner = one.option == "pagination" and one.place != shown(TimeWindow)
            yield one._replace(option="windowPagination") if inner else one


#: Values of ``pages`` of ``epochal.read.rest``.
AnyPages = Offset | Page | Cursor | Keyset | Link | NextUrl | GraphQL | TimeWindow | NoPages
