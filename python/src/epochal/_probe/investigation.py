"""One probe of an API, from the first request to the printed program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from epochal._probe import body, code, counted, credentials, followed, names, records, schema
from epochal._probe.address import Address, is_secret
from epochal._probe.asking import Asking, records_of
from epochal._probe.body import Listing, Record
from epochal._probe.client import Client, StoppedError, one_line
from epochal._probe.counted import Counted, Counting, Hints
from epochal._probe.first import first_response
from epochal._probe.followed import Followed
from epochal._probe.result import Certainty, Finding, Probe
from epochal._values.auth import AnyAuth
from epochal._values.http import Http
from epochal._values.pages import AnyPages
from epochal._values.records import AnyRecords, Csv, Json, Ndjson


class Investigation:
    """Finds out how an API is read."""

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
        given = Address.parse(url).with_params(params or {})
        self._given, self._who = credentials.of(given, auth, headers)
        self._client = Client(self._who, http, requests, delay)
        self._findings: list[Finding] = []
        self._doubts: list[str] = []
        self._unknown: list[str] = []
        self._complete = True

    def run(self) -> Probe:
        """All of it.

        Raises:
            EpochalError: there is nothing to be read at the address.
        """
        response, address = first_response(self._client, self._given)
        first = body.read(response, address.shown())
        self._given = address
        self._key = records.key_of(first.records)
        self._asking = Asking(self._client, first.layout)
        self._doubts += first.doubts
        self._find("records", self._place(first), first.how)
        volatile = self._asked_twice(first)
        paging = self._paging(first)
        if self._asking.stopped:
            self._unknown.append(f"What further requests would show: {self._asking.stopped}.")
        return self._result(first, paging, volatile)

    def _find(self, name: str, value: str, how: str, certainty: Certainty = "seen") -> None:
        mask = self._who.mask
        self._findings.append(Finding(name=name, value=mask(value), how=mask(how), certainty=certainty))

    def _place(self, first: Listing) -> str:
        layout = first.layout
        if layout.format == "json":
            return f"JSON array at '{layout.pointer}'" if layout.pointer else "JSON array"
        return "NDJSON" if layout.format == "ndjson" else f"CSV, separated by {layout.sep!r}"

    def _asked_twice(self, first: Listing) -> bool:
        """Whether fields of the same records have other values at the second request."""
        again = self._asking.ask_softly(first.asked)
        if again is None:
            self._unknown.append(f"Whether the same request gives the same records: asked again, {self._asking.said}.")
            return False
        if list(again.records) == list(first.records):
            self._find("repeatable", "yes", f"the same request gave the same {records_of(first)} twice", "tested")
            return False
        if self._key.all(again.records) != self._key.all(first.records):
            self._find("repeatable", "no", "the same request gave other records, or another order", "tested")
            self._doubts.append(
                "The list changed between two requests. If it does not only grow at its end, ask the API for a fixed "
                "order (a parameter such as sort or order)."
            )
            return False
        fields = ", ".join(map(one_line, records.changed_fields(first.records, again.records)[:10]))
        self._find(
            "repeatable", "the records, not all fields", f"asked twice, these fields differed: {fields}", "tested"
        )
        return True

    def _paging(self, first: Listing) -> Followed | Counted | None:
        """How the pages follow each other, if that can be seen."""
        try:
            found = followed.follow(self._asking, first, self._key)
            more = [p for p, v in first.outline.items() if v is True and names.is_more(p)]
            if found is None and more:
                found = followed.follow_keys(self._asking, first, self._key)
            return found or self._counted(first)
        except StoppedError:
            return None

    def _counted(self, first: Listing) -> Followed | Counted | None:
        if len(first) < 2:
            return None
        base = self._given.without(_positions(self._given))
        counting = Counting(self._asking, first, base, self._key)
        found = counting.find(Hints.of(first, self._given))
        if found is None and counting.small_page is not None:
            return followed.follow(self._asking, counting.small_page, self._key)
        return found

    def _result(self, first: Listing, paging: Followed | Counted | None, volatile: bool) -> Probe:
        address = first.asked.without(self._who.params)
        key = self._key.pointer if volatile else None
        seen: tuple[Listing, ...] = (first,)
        if isinstance(paging, Followed):
            seen = paging.pages if paging.pages[0] is first else (first, *paging.pages)
            pages = self._say_followed(first, paging)
        elif isinstance(paging, Counted):
            seen = paging.pages
            pages = self._say_counted(paging, key)
            address = address.without([paging.param, paging.size_param])
        else:
            pages = self._say_none(first)
        sample = self._sample(seen)
        self._say_order(sample)
        self._say_rate(seen)
        columns = schema.infer(sample, texts=first.layout.format == "csv")
        self._find("schema", f"{len(columns.columns)} columns", f"the values of {len(sample)} records")
        self._doubts += columns.doubts
        self._never_known(len(sample), pages)
        given = self._arguments(address, pages, first)
        note = "" if self._complete else "incomplete: see what the probe could not find out"
        mask = self._who.mask
        return Probe(
            url=mask(self._given.shown(self._who.params)),
            requests=self._client.requests,
            complete=self._complete,
            findings=tuple(self._findings),
            doubts=tuple(map(mask, self._doubts)),
            unknown=tuple(map(mask, self._unknown)),
            schema=columns.ddl,
            options=code.options(given),
            call=code.helper(given, columns.ddl, note),
            plain=code.plain(given, columns.ddl, note),
        )

    def _say_followed(self, first: Listing, paging: Followed) -> AnyPages:
        way = paging.follow
        self._find("pages", way.shown, paging.how, "tested")
        more, last = paging.flag()
        is_needed = way.kind in ("cursor", "keyset")
        if is_needed and (more or last):
            end = "and the other value on the last page" if paging.ended else "and the last page was not seen"
            shown = f"'{more or last}' is {str(bool(more)).lower()} while pages follow"
            self._find(
                "end of list", shown, f"so on each page that was read, {end}", "tested" if paging.ended else "seen"
            )
        elif paging.ended:
            self._find("end of list", self._end_of(paging), f"so on page {len(paging.pages)}, the last one", "tested")
        else:
            self._unknown.append("How the last page says that no page follows: it was not reached.")
        if paging.repeats:
            self._complete = False
            self._unknown.append("Whether pages overlap always: a page had records that came before.")
        for place, total in counted.totals(first)[:1]:
            count = sum(map(len, paging.pages))
            tested = paging.ended and count == total
            how = f"the pages of the list have {count} records" if tested else "the first response says so"
            self._find("total", f"{total} at {_shown(place)}", how, "tested" if tested else "seen")
        is_named = way.is_named(first)
        if not is_named:
            self._doubts.append("The first page says nothing of a next one: the list may end without saying so.")
        flags = (more, last) if is_needed else (None, None)
        return way.value(*flags, None if is_named else "assumed")

    def _end_of(self, paging: Followed) -> str:
        way, last = paging.follow, paging.pages[-1]
        if way.token(last) is not None:
            return "a page without records"
        return (
            "nothing names a next page"
            if not way.is_named(last) or way.kind == "link"
            else "its place is null or empty"
        )

    def _say_counted(self, paging: Counted, key: str | None) -> AnyPages:
        self._find("pages", paging.shown, paging.how, "tested")
        if paging.sized:
            how = f"a page of {paging.size} records was asked for, and seen full"
            self._find("page size", f"{paging.size}, by parameter '{paging.size_param}'", how, "tested")
            self._unknown.append(f"The largest page: {counted.LARGE} is the largest size that was tried.")
        else:
            self._find(
                "page size", f"{paging.size}, and no parameter that changes it", "pages have this size", "tested"
            )
        if paging.total:
            how = "the page with the last record has as many records as this number says"
            self._find("total", f"{paging.total_seen} at {_shown(paging.total)}", how, "tested")
            paging = replace(paging, total=_header(paging.total))
        elif found := counted.totals(paging.pages[-1]):
            place, total = found[0]
            self._find("total", f"{total} at {_shown(place)}", "a response says so; the pages do not confirm it")
        if paging.repeats:
            self._complete = False
            self._unknown.append(f"Where the list ends: {paging.ends or 'page 2 does not go on where page 1 ends'}.")
        elif paging.ends:
            self._find("end of list", paging.ends, "it was asked for", "tested")
        else:
            self._unknown.append(f"What a page behind the end of the list is: {self._asking.said}.")
        return paging.value(key)

    def _say_none(self, first: Listing) -> AnyPages | None:
        """One response is all, as far as can be seen; it may say itself that it is not."""
        against = [f"'{p}' is true" for p, v in first.outline.items() if v is True and names.is_more(p)]
        totals = counted.totals(first)
        against += [
            f"{_shown(place)} says {total}" for place, total in totals if total > len(first) and "total" in place
        ]
        against += [
            f"{_shown(w.header or w.pointer or 'Link')} names one" for w in list(followed.candidates(first))[:1]
        ]
        self._unknown += followed.unreadable_places(first)
        tried = "the usual parameters for offsets, pages and sizes"
        if against or self._asking.stopped:
            self._complete = False
            why = f"there are more pages ({', '.join(against)}), and " if against else ""
            self._unknown.append(
                f"How the pages follow each other: {why}no way that was tried leads to the second one."
            )
        elif len(first) < 2:
            self._unknown.append("Whether there are pages: one record is too few to see it.")
        else:
            how = f"{tried} change nothing, and nothing in the response names another page"
            self._find("pages", "none: one response has all records", how, "tested")
            if len(first) % 10 == 0:
                self._doubts.append(
                    f"{len(first)} is a round number of records: it may be the most that one response has."
                )
        if places := followed.silent_places(first):
            self._unknown.append(f"What {_shown(places[0])} has when there is a next page: there is none now.")
        for place, total in totals[:1]:
            if total == len(first):
                self._find("total", f"{total} at {_shown(place)}", "the response has as many records", "tested")
        return None

    def _sample(self, seen: Sequence[Listing]) -> list[Record]:
        known = dict[str, Record]()
        for listing in seen:
            for record in listing.records:
                known.setdefault(self._key.of(record), record)
        return list(known.values())[: schema.MOST]

    def _say_order(self, sample: Sequence[Record]) -> None:
        self._find("key", self._key.shown, f"no two of {len(sample)} records have it in common")
        found = records.order(sample, self._key)
        for pointer, direction in found:
            self._find("order", f"{direction} by '{pointer}'", f"so in {len(sample)} records")
        if any(direction == "descending" for _, direction in found):
            self._doubts.append(
                "The list begins with its newest record: later ones come before the position of a stream, which never "
                "reads them. Ask the API for the other order (a parameter such as sort or order)."
            )
        if not found:
            self._unknown.append("The order of the records: neither their key nor a time of theirs ascends.")

    def _say_rate(self, seen: Sequence[Listing]) -> None:
        headers = {name: value for listing in seen for name, value in listing.response.headers.items()}
        found = [f"{name}: {one_line(value)}" for name, value in headers.items() if re.search(r"rate-?limit", name)]
        if found:
            self._find("rate limit", "; ".join(found), "headers of the responses; Epochal pauses when nothing is left")

    def _never_known(self, sample: int, pages: AnyPages | None) -> None:
        self._unknown += [
            "Whether the list only grows at its end, which a stream needs: a few requests do not show it.",
            f"Fields and types that are not in these {sample} records: the API's documentation may name more.",
        ]

    def _arguments(self, address: Address, pages: AnyPages | None, first: Listing) -> dict[str, Any]:
        plain = {name: value for name, value in address.params.items() if name in self._params and not is_secret(name)}
        given = self._who.given
        params = {**plain, **(given["params"] or {})}
        return {
            "url": address.without(plain).url,
            "pages": pages,
            "records": self._records(first),
            "auth": given["auth"],
            "headers": given["headers"],
            "params": params or None,
            "http": credentials.without_secrets(self._http),
        }

    def _records(self, first: Listing) -> AnyRecords | None:
        layout = first.layout
        if layout.format == "ndjson":
            return Ndjson()
        if layout.format == "csv":
            return Csv(sep=None if layout.sep == "," else layout.sep, header=None if layout.header else False)
        missing = "empty" if self._asking.missing else None
        return Json(layout.pointer or None, missing=missing) if layout.pointer or missing else None


def _positions(address: Address) -> list[str]:
    """The parameters that ask for a page by its place."""
    usual = {*names.OFFSETS, *names.PAGES}
    return [name for name, value in address.params.items() if name in usual and re.fullmatch(r"\d{1,9}", value)]


def _shown(place: str) -> str:
    return f"'{place}'" if place.startswith("/") else f"header {_header(place)}"


def _header(place: str) -> str:
    return place if place.startswith("/") else "-".join(word.capitalize() for word in place.split("-"))
