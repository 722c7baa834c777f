"""Starts a stream as a query, or writes a batch. Remembers the queries, since Spark forgets failed ones."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from epochal import _calls, _hooks
from epochal._declarations import Form
from epochal._options import Location, OptionValue, text
from epochal._trigger import Trigger, real_time, real_time_settings, set_real_time, triggered
from epochal.errors import OptionError, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

#: Maximum number of remembered queries. Each keeps the driver's objects of its query alive.
_MAX_QUERIES = 16
_queries: list[Started] = []

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True)
class Stream:
    """The arguments that only a streaming write has."""

    checkpoint: Location | None = None
    trigger: Trigger | None = None
    output_mode: OutputMode = "append"
    query_name: str | None = None

    def check_batch(self, caller: str) -> None:
        """Rejects all of them for a batch."""
        if names := [one.name for one in fields(self) if getattr(self, one.name) != one.default]:
            raise OptionError(
                "OPTION_CONFLICT",
                f"The DataFrame is a batch, and {caller} was given arguments of a stream: {', '.join(names)}.",
                "Leave them out, or read the source as a stream.",
            )


def start(
    df: DataFrame, form: Form, arguments: Mapping[str, Any], more: Mapping[str, OptionValue] | None, stream: Stream
) -> StreamingQuery | None:
    """Starts the query, or writes the batch and returns None."""
    _hooks.install()
    options = form.options(arguments, more)
    calls = [_calls.Call(form, form.kinds(options.get)), *_calls.of_frame(df)]
    source = form.format.removesuffix(" sink")
    if not df.isStreaming:
        stream.check_batch(form.caller)
        with _calls.calling(calls), named():
            df.write.format(source).options(**options).mode("append").save()
        return None
    if stream.checkpoint is None:
        raise OptionError(
            "OPTION_REQUIRED",
            f"{form.caller} needs 'checkpoint' for a streaming DataFrame (the directory of the query's state).",
            "Set it, for example checkpoint='checkpoints/comments'.",
        )
    writer = df.writeStream.format(source).options(**options).outputMode(stream.output_mode)
    writer = writer.option("checkpointLocation", text(stream.checkpoint))
    if stream.query_name is not None:
        writer = writer.queryName(stream.query_name)
    batch = real_time(stream.trigger)
    if batch is not None:
        set_options = frozenset(name.lower() for name in options)
        set_real_time(writer, df.sparkSession, batch, stream.output_mode, set_options)
    elif stream.trigger is not None:
        writer = triggered(writer, stream.trigger)
    settings = nullcontext() if batch is None else real_time_settings(df.sparkSession)
    with settings, _calls.calling(calls), named():
        query = writer.start()
    _calls.attribute(query.runId, calls)
    _remember(df.sparkSession, query, options)
    return query


@dataclass(frozen=True)
class Started:
    """A query that a helper started, with the options of its sink."""

    session: weakref.ref[Any]
    query: StreamingQuery
    run_id: str
    options: Mapping[str, str]


def _remember(session: Any, query: StreamingQuery, options: Mapping[str, str]) -> None:
    """Remembers a query until it ends successfully or is restarted.

    Asks no other session about its queries: one whose server has ended would answer only after many attempts.
    """
    _queries[:] = [one for one in _queries if one.session() is not session or _is_of_interest(one.query, query)]
    _queries.append(Started(weakref.ref(session), query, str(query.runId), options))
    del _queries[:-_MAX_QUERIES]


def failed_queries(session: Any) -> list[StreamingQuery]:
    """Queries of a session that have failed and were not restarted."""
    if session is None:
        return []
    queries = [one.query for one in _queries if one.session() is session]
    return [query for query in queries if not query.isActive and query.exception() is not None]


def started(run_id: str) -> Started | None:
    """The query of a run; None if the run is not remembered."""
    return next((one for one in _queries if one.run_id == run_id), None)


def _is_of_interest(query: StreamingQuery, new: StreamingQuery) -> bool:
    try:
        return query.id != new.id and (query.isActive or query.exception() is not None)
    except Exception:  # the session or its server has ended
        return False
