"""Queries of one session, by name. Used by ``crash/driver.py`` and by tests with a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from crash.cases import SHAPES, frame
from support.helpers import arguments
from support.running import Running


class Queries(Running):
    """The queries started by this process."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._queries: dict[str, StreamingQuery] = {}

    def try_start(self, queries: Sequence[dict[str, Any]]) -> dict[str, str]:
        """Starts queries; returns the errors of those that did not start, by name."""
        failed = {}
        for query in queries:
            if "rest" in query:
                rows = epochal.read.rest(self._spark, **arguments(query["rest"]))
            else:
                rows = frame(self._spark, SHAPES[query["shape"]], **query.get("source", {}))
            try:
                self._queries[query["name"]] = epochal.write.jdbc(
                    rows, query_name=query["name"], **arguments(query["write"])
                )
            except Exception as error:
                failed[query["name"]] = str(_told(error))
        return failed

    def status(self) -> dict[str, dict[str, Any]]:
        """``active``, ``error`` and the sink's ``metrics`` of every query, by name."""
        return {
            name: {"active": query.isActive, "error": _told(query.exception()), "metrics": _metrics(query)}
            for name, query in self._queries.items()
        }

    def stop_queries(self) -> None:
        for query in self._queries.values():
            query.stop()


def _metrics(query: StreamingQuery) -> dict[str, Any]:
    progress = query.lastProgress
    return dict(progress["sink"].get("metrics") or {}) if progress else {}


def _told(error: BaseException | None) -> str | None:
    """Epochal's error if there is one."""
    return None if error is None else str(epochal.errors.from_spark(error) or error)[:2000]
