"""Queries of one session, by name: what ``crash/driver.py`` does on command, and tests with a session do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from crash.cases import SHAPES, frame
from support.waiting import until


class Queries:
    """All queries that were started here."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._queries: dict[str, StreamingQuery] = {}

    def try_start(self, wanted: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Starts queries; gives the errors of those that did not start, by name."""
        failed = {}
        for query in wanted:
            rows = frame(self._spark, SHAPES[query["shape"]], **query.get("source", {}))
            try:
                self._queries[query["name"]] = epochal.write.jdbc(rows, query_name=query["name"], **query["write"])
            except Exception as error:
                failed[query["name"]] = str(_told(error))
        return failed

    def start(self, wanted: Sequence[dict[str, Any]]) -> None:
        """Starts queries; an AssertionError where one does not start."""
        failed = self.try_start(wanted)
        assert not failed, failed

    def status(self) -> dict[str, dict[str, Any]]:
        """``active``, ``error`` and the sink's ``metrics`` of every query, by name."""
        return {
            name: {"active": query.isActive, "error": _told(query.exception()), "metrics": _metrics(query)}
            for name, query in self._queries.items()
        }

    def assert_all_active(self) -> None:
        """An AssertionError that tells of the queries that have failed."""
        ended = {name: query["error"] for name, query in self.status().items() if query["error"]}
        assert not ended, ended

    def error_of(self, name: str, timeout: float = 90) -> str:
        """Waits until a query has ended, and gives its error; nothing, where it has none."""
        until(lambda: not self.status()[name]["active"], f"the end of {name}", timeout)
        return self.status()[name]["error"] or ""

    def stop_queries(self) -> None:
        for query in self._queries.values():
            query.stop()


def _metrics(query: StreamingQuery) -> dict[str, Any]:
    progress = query.lastProgress
    return dict(progress["sink"].get("metrics") or {}) if progress else {}


def _told(error: BaseException | None) -> str | None:
    """Our own error where there is one."""
    return None if error is None else str(epochal.errors.from_spark(error) or error)[:2000]
