"""Running queries, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from support.waiting import until


class Running(ABC):
    """Runs queries, in another process or in this process's session."""

    @abstractmethod
    def try_start(self, queries: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Starts queries; returns the errors of those that did not start, by name."""

    @abstractmethod
    def status(self) -> dict[str, dict[str, Any]]:
        """``active``, ``error`` and the sink's ``metrics`` of every query, by name."""

    @abstractmethod
    def stop_queries(self) -> None:
        """Stops all of them."""

    def start(self, queries: Sequence[dict[str, Any]]) -> None:
        """Starts queries; an AssertionError if one does not start."""
        failed = self.try_start(queries)
        assert not failed, failed

    def assert_all_active(self) -> None:
        """Raises an AssertionError with the errors of failed queries."""
        ended = {name: query["error"] for name, query in self.status().items() if query["error"]}
        assert not ended, ended

    def error_of(self, name: str, timeout: float = 300) -> str:
        """Waits until a query has ended, and returns its error; empty if there is none."""
        until(lambda: not self.status()[name]["active"], f"the end of {name}", timeout)
        return self.status()[name]["error"] or ""
