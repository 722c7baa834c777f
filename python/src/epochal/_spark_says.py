"""Rewrites errors of Spark about triggers that it does not support for a query."""

from __future__ import annotations

import re
from typing import NamedTuple


class Saying(NamedTuple):
    """Problem and hint in place of an error of Spark."""

    problem: str
    hint: str


_MICRO_BATCHES = 'Use micro-batches, as trigger="1 second" (.trigger(processingTime="1 second")).'

_SAYINGS = {
    "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED": Saying(
        "The checkpoint was begun in micro-batches with state format v1, which Spark does not support in real time",
        "Start the real-time query with a new checkpoint. To be able to switch a query later, start it with "
        "spark.conf.set('spark.sql.streaming.stateStore.checkpointFormatVersion', '2').",
    ),
    "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST": Saying(
        "Spark's list of allowed sinks and operators in real time has only its own ones",
        'Start the query with a helper, as epochal.write.jdbc(…, trigger="realTime"), or before the start '
        "spark.conf.set('spark.sql.streaming.realTimeMode.allowlistCheck', 'false').",
    ),
    "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED": Saying(
        "A source of the query cannot be read in real time",
        _MICRO_BATCHES,
    ),
}

_NAMED = re.compile(r"\[(STREAMING_REAL_TIME_MODE\.\w+)\]")
#: Errors without a condition name.
_SOURCE = re.compile(r"Data source ([\w-]+) does not support continuous processing")
_OPERATOR = re.compile(r"Continuous processing does not support (\w+) operations")
_OPERATORS = {
    "Aggregate": "an aggregation",
    "StreamingRelation": "a source such as files",
    "Deduplicate": "dropDuplicates",
}


def of(message: str, helping: bool) -> Saying | None:
    """The rewritten error, if the message is about a query with Epochal's sources or sinks.

    Args:
        helping: whether a helper started the query; otherwise the message must mention Epochal.
    """
    if not helping and "epochal" not in message.lower():
        return None
    if (match := _NAMED.search(message)) and (known := _SAYINGS.get(match[1])):
        return Saying(f"{known.problem} ({match[1]}).", known.hint)
    if match := _SOURCE.search(message):
        return Saying(f"Source {match[1]} cannot be read under the continuous trigger.", _MICRO_BATCHES)
    if match := _OPERATOR.search(message):
        what = _OPERATORS.get(match[1], "an operation of the query")
        return Saying(f"Spark does not run {what} under the continuous trigger ({match[1]}).", _MICRO_BATCHES)
    return None
