"""What is promised, what was found, and how it is told."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["kept", "broken", "exempt"]


@dataclass(frozen=True)
class Promise:
    """What a source promises.

    Attributes:
        name: stable; reports, ``only`` and ``exempt`` use it.
        claim: one sentence that is true of a source which keeps the promise.
    """

    name: str
    claim: str

    def __str__(self) -> str:
        return f"{self.name}: {self.claim}"


@dataclass(frozen=True)
class Finding:
    """A promise, and what became of it.

    Attributes:
        promise: which.
        outcome: ``kept``, ``broken``, or ``exempt``: not checked.
        explanation: the evidence against the promise, or why it was not checked.
        seconds: how long the check took.
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
    """Which promises a source keeps; prints as a line for each, with the evidence below those that are broken."""

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
        """What became of the promise with this name.

        Raises:
            KeyError: it was not checked.
        """
        for finding in self.findings:
            if finding.promise.name == name:
                return finding
        raise KeyError(name)

    def assert_all(self) -> None:
        """Raises if a promise is broken.

        Raises:
            AssertionError: its message is the report.
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
    """The promise is not made, or cannot be checked here."""
