"""The probe of an API, from the first request to the printed programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from epochal._values.auth import AnyAuth
from epochal._values.http import Http
from epochal._values.pages import AnyPages, NoPages
from epochal._values.records import AnyRecords, Csv, Json, Ndjson
from epochal.errors import EpochalError, HttpError
from epochal.tools.output import counted
from epochal.tools.probe import body, code, credentials, linked, names, records, report, schema
from epochal.tools.probe.address import Address, is_secret
from epochal.tools.probe.body import Listing, Record
from epochal.tools.probe.client import LOOK, Client, StoppedError
from epochal.tools.probe.first import first_response, positions
from epochal.tools.probe.linked import LinkedPages
from epochal.tools.probe.notes import Notes
from epochal.tools.probe.numbered import LARGE, Hints, NumberedPages, NumberedSearch
from epochal.tools.probe.page_reader import PageReader
from epochal.tools.probe.result import Probe

#: Page size parameters to try if the response suggests none.
_USUAL_SIZES = ("limit", "per_page", "page_size")


class Investigation:
    """Probes an API. The arguments are those of ``rest.probe``."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None,
        params: Mapping[str, str] | None,
        auth: AnyAuth | Sequence[AnyAuth] | None,
        http: Http | None,
        requests: int,
        delay: float,
    ) -> None:
        self._params = {*(params or {})}
        self._http = http
        self._given, self._credentials = credentials.of(Address.parse(url).with_params(params or {}), auth, headers)
        self._client = Client(self._credentials, http, requests, delay)
        self._notes = Notes(self._credentials.mask)

    def run(self) -> Probe:
        """Runs the probe.

        Raises:
            EpochalError: the address has no readable records.
        """
        try:
            response, self._address = first_response(self._client, self._given)
            self._first = body.read(response, self._address.shown())
            return self._probe()
        except EpochalError as error:
            raise type(error)(error.condition, self._credentials.mask(error.problem), error.hint) from None
        except RecursionError:
            problem = f"{self._given.shown()} responded with a body that is nested too deeply."
            raise HttpError("HTTP_BODY_INVALID", problem, LOOK) from None

    def _probe(self) -> Probe:
        self._reader = PageReader(self._client, self._first.layout)
        self._notes.seen("records", _place(self._first.layout), self._first.how)
        self._notes.doubt(*self._first.doubts)
        for name in {*self._given.params} - {*self._address.params}:
            self._notes.doubt(f"The parameter '{name}' was left out of the address: it selects a part of the list.")
        again = self._reader.read_if_allowed(self._address)
        self._key = records.key_of(self._first.records, (again or self._first).records)
        again_is = report.repeatability(self._notes, self._first, again, self._key, self._reader.outcome)
        self._is_cut = False
        paging = self._find_pagination(again_is != "other")
        sample, pages = self._pages(paging, self._key.pointer if self._first.layout.format == "json" else None)
        if self._reader.stopped:
            self._notes.not_known(f"What further requests would show: {self._reader.stopped}.")
        report.order(self._notes, self._first, sample, self._key)
        columns = schema.infer(sample, texts=self._first.layout.format == "csv")
        self._notes.seen("schema", counted(len(columns.columns), "column"), f"the values of {len(sample)} records")
        self._notes.doubt(*columns.doubts)
        self._notes.not_known(
            "Whether the list only grows at its end, which a stream needs: a few requests cannot show it.",
            f"Fields and types that are not in these {len(sample)} records: the API's documentation may name more.",
        )
        return self._result(self._arguments(pages), columns.ddl)

    def _find_pagination(self, is_repeatable: bool) -> LinkedPages | NumberedPages | None:
        """Finds the pagination; None if none was found."""
        first, reader, key = self._first, self._reader, self._key
        base, hints = self._address.without(positions(self._address)), Hints.of(first, self._given)
        search = NumberedSearch(reader, first, base, key, hints)
        can_count = is_repeatable and first.count > 1
        has_more = any(linked.truth(value) and names.is_more(pointer) for pointer, value in first.outline.items())
        steps: tuple[Callable[[], LinkedPages | NumberedPages | None], ...] = (
            lambda: linked.follow(reader, first, key),
            lambda: search.hinted() if can_count else None,
            lambda: linked.follow_keys(reader, first, key) if has_more else None,
            lambda: search.usual() if can_count else None,
            lambda: linked.follow(reader, search.small_page, key) if search.small_page else None,
        )
        try:
            result = next((result for step in steps if (result := step()) is not None), None)
        except StoppedError:
            return None
        self._is_cut = result is None and search.small_page is not None
        return result

    def _pages(
        self, paging: LinkedPages | NumberedPages | None, key: str | None
    ) -> tuple[list[Record], AnyPages | None]:
        """The distinct records seen, and the argument ``pages``.

        Args:
            key: JSON Pointer to the key of a record; None if whole records identify themselves.
        """
        listings: tuple[Listing, ...] = (self._first,)
        pages: AnyPages | None = None
        if isinstance(paging, LinkedPages):
            listings = (self._first, *paging.pages)
            pages = report.linked_pages(self._notes, self._first, paging)
            self._address = self._address.without([paging.follow.param] if paging.follow.param else [])
            if paging.pages[0] is self._first:
                self._enlarge(paging)
        elif isinstance(paging, NumberedPages):
            listings = (self._first, *paging.pages)
            pages = report.numbered_pages(self._notes, paging, key, self._reader.outcome)
            self._address = self._address.without([paging.param, paging.size_param])
        else:
            report.single_page(self._notes, self._first, self._reader, self._is_cut)
            pages = NoPages(key=key) if key and self._notes.complete else None
        report.rate_limit(self._notes, listings)
        by_key = dict[str, Record]()
        for record in (record for listing in listings for record in listing.records):
            by_key.setdefault(self._key.of(record), record)
        return list(by_key.values())[: schema.MOST], pages

    def _enlarge(self, paging: LinkedPages) -> None:
        """Uses larger pages, if a size parameter is found and the larger page leads to another one."""
        before = self._key.all(self._first.records)
        if len(before) >= LARGE:
            return
        tried = Hints.of(self._first, self._given).sizes[:2] or [*_USUAL_SIZES]
        try:
            for name in tried:
                large = self._reader.read(self._address.with_params({name: LARGE}))
                keys = self._key.all(large.records) if large else []
                if large is not None and len(keys) > len(before) and keys[: len(before)] == before:
                    self._use_size(paging, name, large, keys)
                    return
        except StoppedError:
            return
        attempts = ", ".join(f"'{name}'" for name in tried)
        self._notes.not_known(f"The parameter for the size of a page: {LARGE} for {attempts} has no effect.")

    def _use_size(self, paging: LinkedPages, name: str, large: Listing, keys: list[str]) -> None:
        following = paging.follow.address(large)
        second = self._reader.read(following) if following else None
        after = self._key.all(second.records) if second else []
        how = f"asked for {LARGE}, the first page has {len(keys)} records"
        if not after or self._key.overlap(keys, after):
            self._notes.tested("page size", f"parameter '{name}'", f"{how}, and no page follows: it is not used")
            return
        self._notes.tested("page size", f"{LARGE}, by parameter '{name}'", f"{how}, and another one follows")
        self._address = self._address.with_params({name: LARGE})
        self._params |= {name} - {*self._given.params}

    def _result(self, arguments: dict[str, Any], columns: str) -> Probe:
        notes = self._notes
        note = "" if notes.complete else "Incomplete: see what the probe could not find out."
        return Probe(
            url=notes.mask(self._given.shown()),
            requests=self._client.requests,
            complete=notes.complete,
            findings=tuple(notes.findings),
            doubts=tuple(notes.doubts),
            unknown=tuple(notes.unknown),
            schema=columns,
            options=code.options(arguments),
            call=code.helper(arguments, columns, note),
            plain=code.plain(arguments, columns, note),
        )

    def _arguments(self, pages: AnyPages | None) -> dict[str, Any]:
        """Arguments of ``epochal.read.rest``, without secrets."""
        arguments = self._credentials.arguments
        params = {n: v for n, v in self._address.params.items() if n in self._params and not is_secret(n)}
        return {
            "url": self._address.without(params).url,
            "pages": pages,
            "records": self._records(),
            "auth": arguments["auth"],
            "headers": arguments["headers"],
            "params": {**params, **(arguments["params"] or {})} or None,
            "http": credentials.without_secrets(self._http),
        }

    def _records(self) -> AnyRecords | None:
        layout = self._first.layout
        shape = None if layout.shape == "array" else layout.shape
        if layout.format == "ndjson":
            return Ndjson()
        if layout.format == "csv":
            sep = None if layout.sep == "," else layout.sep
            return Csv(sep=sep, header=None if layout.header else False)
        missing: Literal["empty"] | None = "empty" if self._reader.missing else None
        if not (layout.pointer or shape or missing):
            return None
        return Json(layout.pointer or None, shape=shape, columns=layout.columns or None, missing=missing)


def _place(layout: body.Layout) -> str:
    if layout.format == "json":
        what = {"array": "JSON array", "rows": "JSON rows", "map": "JSON map"}[layout.shape]
        return f"{what} at '{layout.pointer}'" if layout.pointer else what
    return "NDJSON" if layout.format == "ndjson" else f"CSV, separated by {layout.sep!r}"
