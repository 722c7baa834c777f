"""Requests whose failure is a finding instead of an error."""

from __future__ import annotations

from dataclasses import dataclass, field

from epochal.errors import HttpError
from epochal.tools.output import counted
from epochal.tools.probe.address import Address
from epochal.tools.probe.body import Layout, Listing, read_like
from epochal.tools.probe.client import Client, StoppedError


@dataclass
class PageReader:
    """Requests further pages of a list after its first page.

    Attributes:
        outcome: outcome of the last request, such as ``"status 404"`` or ``"10 records"``.
        stopped: why no further request may be made; empty if requests are allowed.
        missing: whether a response had nothing in place of the array of records.
        status: status of the last response; 0 without one.
    """

    client: Client
    layout: Layout
    outcome: str = ""
    stopped: str = ""
    missing: bool = False
    status: int = field(default=0)

    def read(self, address: Address) -> Listing | None:
        """Reads a page; None if there is no page, or an error.

        Raises:
            StoppedError: no further request may be made.
        """
        self.status = 0
        try:
            response = self.client.get(address, {"Accept": self.layout.accept})
        except HttpError as error:
            self.outcome = f"no response ({error.condition})"
            return None
        except StoppedError as stopped:
            self.outcome = self.stopped = str(stopped)
            raise
        self.status = response.status
        page = read_like(response, self.layout)
        self.outcome = f"status {response.status}" if page is None else records_of(page)
        self.missing = self.missing or (page is not None and page.missing)
        return page

    def read_if_allowed(self, address: Address) -> Listing | None:
        """Reads a page; also None if no further request may be made."""
        try:
            return self.read(address)
        except StoppedError:
            return None


def records_of(listing: Listing) -> str:
    return counted(listing.count, "record")


def ordinal(number: int) -> str:
    return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
