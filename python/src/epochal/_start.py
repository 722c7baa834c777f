"""Starts a stream as a query, or writes a batch. Remembers the queries, since Spark forgets failed ones."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from epochal import _hooks, _references
from epochal._form import Form
from epochal._forms import FORMS
from epochal._options import Location, OptionValue, text
from epochal._trigger import Trigger, real_time, real_time_settings, set_real_time, triggered
from epochal.errors import OptionError, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

#: Maximum number of remembered queries. Each keeps the driver's objects of its query alive.
_MAX_QUERIES = 16
_known: list[Started] = []

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
    df: DataFrame, form: Form, given: Mapping[str, Any], more: Mapping[str, OptionValue] | None, stream: Stream
) -> StreamingQuery | None:
    """Starts the query, or writes the batch.

    Args:
        given: the helper's arguments that are options.
        more: options by the names that the jar gives them.

    Returns:
        The query; None for a batch.

    Raises:
        OptionError: a batch was given an argument of a stream, or a stream has no checkpoint.
    """
    _hooks.install()
    options = form.options(given, more)
    calls = [_references.Call(form, form.kinds(options.get)), *_sources(df)]
    source = form.format.removesuffix(" sink")
    if not df.isStreaming:
        stream.check_batch(form.caller)
        with _references.calling(calls), named():
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
    with settings, _references.calling(calls), named():
        query = writer.start()
    _references.started(query.runId, calls)
    _remember(df.sparkSession, query, given.get("table"), options)
    return query


@dataclass(frozen=True)
class Started:
    """A query that a helper started.

    Attributes:
        session: weak reference to its session.
        table: target table; None for other sinks.
        options: of its sink.
    """

    session: weakref.ref[Any]
    query: StreamingQuery
    run_id: str
    table: str | None
    options: Mapping[str, str]


def _remember(session: Any, query: StreamingQuery, table: str | None, options: Mapping[str, str]) -> None:
    """Remembers a query until it ends successfully or is restarted."""
    _known[:] = [one for one in _known if one.query.id != query.id and _is_of_interest(one.query)]
    _known.append(Started(weakref.ref(session), query, str(query.runId), table, options))
    del _known[:-_MAX_QUERIES]


def failed_queries(session: Any) -> list[StreamingQuery]:
    """Queries of a session that have failed and were not restarted."""
    if session is None:
        return []
    found = [one.query for one in _known if one.session() is session]
    return [query for query in found if not query.isActive and query.exception() is not None]


def started(run_id: str) -> Started | None:
    """The query of a run; None if the run is not remembered."""
    return next((one for one in _known if one.run_id == run_id), None)


def _is_of_interest(query: StreamingQuery) -> bool:
    try:
        return query.isActive or query.exception() is not None
    except Exception:  # the session or its server has ended
        return False


_Read = tuple[str, Callable[[str], str | None]]


def _sources(df: Any) -> list[_references.Call]:
    """Calls equivalent to the reads in a DataFrame's plan; empty where the plan cannot be inspected."""
    try:
        reads = [*(_of_jvm(df._jdf.queryExecution().analyzed()) if hasattr(df, "_jdf") else _of_client(df._plan))]
        forms = [(form, get) for name, get in reads if (form := FORMS.get(name)) is not None and form.is_source]
        return [_references.Call(form, form.kinds(get)) for form, get in forms]
    except Exception:  # another Spark version: errors then name the options themselves
        return []


def _of_jvm(plan: Any) -> Iterator[_Read]:
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(n) for n in range(leaves.size())):
        kind = leaf.getClass().getSimpleName()
        if kind == "StreamingRelationV2":
            yield leaf.sourceName(), leaf.extraOptions().get
        elif kind == "DataSourceV2Relation":
            yield leaf.table().name().partition("[")[0], leaf.options().get


def _of_client(plan: Any) -> Iterator[_Read]:
    from pyspark.sql.connect.plan import LogicalPlan

    if hasattr(plan, "_format"):
        yield plan._format, (plan._options or {}).get
    for child in vars(plan).values():
        if isinstance(child, LogicalPlan):
            yield from _of_client(child)
