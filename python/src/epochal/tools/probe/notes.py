"""The notes of a running probe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from epochal.tools.probe.result import Certainty, Finding


@dataclass
class Notes:
    """Findings, doubts and unknowns, without secrets and control characters.

    Args:
        mask: masks the secrets in a text.
    """

    mask: Callable[[str], str]
    findings: list[Finding] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    complete: bool = True

    def tested(self, name: str, value: str, how: str) -> None:
        self._find(name, value, how, "tested")

    def seen(self, name: str, value: str, how: str) -> None:
        self._find(name, value, how, "seen")

    def doubt(self, *texts: str) -> None:
        self.doubts += map(self._plain, texts)

    def not_known(self, *texts: str) -> None:
        self.unknown += map(self._plain, texts)

    def incomplete(self, text: str) -> None:
        """Notes an unknown that may keep the printed program from reading the whole list."""
        self.complete = False
        self.not_known(text)

    def _plain(self, text: str) -> str:
        return "".join(c if c.isprintable() else "?" for c in self.mask(text))

    def _find(self, name: str, value: str, how: str, certainty: Certainty) -> None:
        self.findings.append(Finding(name=name, value=self._plain(value), how=self._plain(how), certainty=certainty))
