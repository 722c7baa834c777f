"""Requests whose failure is a finding, and not an error."""

from __future__ import annotations

from dataclasses import dataclass, field

from epochal.errors import HttpError
from epochal.tools.probe.address import Address
from epochal.tools.probe.body import Layout, Listing, read_like
from epochal.tools.probe.client import Client, StoppedError


@dataclass
class Asking:
    """Asks for further pages of a list whose first page was read.

    Attributes:
        said: what became of the last request, such as ``"status 404"`` or ``"10 records"``.
        stopped: why no further request may be made; empty where it may.
        missing: whether a response had nothing where the array of records was before.
    """

    client: Client
    layout: Layout
    said: str = ""
    stopped: str = ""
    missing: bool = False
    status: int = field(default=0)

    def ask(self, address: Address) -> Listing | None:
        """The records of a page; None where there is no page, or an error.

        Raises:
            StoppedError: there were enough requests.
        """
        self.status = 0
        try:
            response = self.client.get(address, {"Accept": self.layout.accept})
        except HttpError as error:
            self.said = f"no response ({error.condition})"
            return None
        except StoppedError as stopped:
            self.said = self.stopped = str(stopped)
            raise
        self.status = response.status
        found = read_like(response, self.layout)
        self.said = f"status {response.status}" if found is None else records_of(found)
        self.missing = self.missing or (found is not None and found.missing)
        return found

    def ask_softly(self, address: Address) -> Listing | None:
        """The same, where what is known already counts more than another page."""
        try:
            return self.ask(address)
        except StoppedError:
            return None


def records_of(listing: Listing) -> str:
    return plural(listing.count, "record")


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def ordinal(number: int) -> str:
    return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
