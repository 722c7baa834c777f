"""Promises, findings and reports."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["kept", "broken", "exempt"]


@dataclass(frozen=True)
class Promise:
    """A promise of a source.

    Attributes:
        name: stable name, used in reports, ``only`` and ``exempt``.
        claim: the promise as one sentence.
    """

    name: str
    claim: str

    def __str__(self) -> str:
        return f"{self.name}: {self.claim}"


@dataclass(frozen=True)
class Finding:
    """The result of the check of a promise.

    Attributes:
        promise: the promise.
        outcome: ``kept``, ``broken``, or ``exempt``: not checked.
        explanation: the evidence against the promise, or why it was not checked.
        seconds: duration of the check.
    """

    promise: Promise
    outcome: Outcome
    explanation: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        mark = "BROKEN" if self.outcome == "broken" else f"{self.outcome:<6}"
        why = textwrap.indent(self.explanation, " " * 9)
        return f"{mark}   {self.promise}" + (f"\n{why}" if why else "")


@dataclass(frozen=True)
class Report:
    """The promises that a source keeps. Prints as a line for each, with the evidence below broken promises."""

    subject: str
    findings: Sequence[Finding] = field(default=())

    @property
    def kept(self) -> list[Promise]:
        """The promises that were kept."""
        return self._with("kept")

    @property
    def broken(self) -> list[Promise]:
        """The promises that were broken."""
        return self._with("broken")

    @property
    def exempt(self) -> list[Promise]:
        """The promises that were not checked."""
        return self._with("exempt")

    def _with(self, outcome: Outcome) -> list[Promise]:
        return [finding.promise for finding in self.findings if finding.outcome == outcome]

    def finding(self, name: str) -> Finding:
        """The finding for a promise.

        Raises:
            KeyError: the report has no promise of that name.
        """
        for finding in self.findings:
            if finding.promise.name == name:
                return finding
        raise KeyError(name)

    def assert_all(self) -> None:
        """Raises if a promise is broken.

        Raises:
            AssertionError: a promise is broken; the message is the report.
        """
        if self.broken:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        counts = f"{len(self.kept)} kept, {len(self.broken)} broken, {len(self.exempt)} exempt"
        lines = textwrap.indent("\n".join(str(finding) for finding in self.findings), "  ")
        return f"{self.subject}: {counts}\n{lines}"


class BrokenError(AssertionError):
    """Evidence against a promise."""


class NotCheckedError(Exception):
    """The source does not make the promise, or it cannot be checked here."""
