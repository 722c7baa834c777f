"""Starts a streaming DataFrame as a query, or writes a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from epochal import _hooks, _references
from epochal import _realtime as realtime
from epochal import _started as started
from epochal._form import Form
from epochal._forms import FORMS
from epochal._options import Location, OptionValue, text
from epochal._trigger import Trigger, real_time, triggered
from epochal.errors import OptionError, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True)
class Stream:
    """The arguments that only a streaming write has."""

    checkpoint: Location | None
    trigger: Trigger | None
    output_mode: OutputMode
    query_name: str | None

    def given(self) -> list[str]:
        """The names of the arguments that are set."""
        is_set = {
            "checkpoint": self.checkpoint is not None,
            "trigger": self.trigger is not None,
            "output_mode": self.output_mode != "append",
            "query_name": self.query_name is not None,
        }
        return [name for name, given in is_set.items() if given]


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
        if names := stream.given():
            raise OptionError(
                "OPTION_CONFLICT",
                f"The DataFrame is a batch, and {form.caller} was given arguments of a stream: {', '.join(names)}.",
                "Leave them out, or read the source as a stream.",
            )
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
        realtime.check_output_mode(stream.output_mode)
        realtime.set_trigger(writer, df.sparkSession, batch, frozenset(name.lower() for name in options))
    elif stream.trigger is not None:
        writer = triggered(writer, stream.trigger)
    settings = nullcontext() if batch is None else realtime.settings(df.sparkSession)
    with settings, _references.calling(calls), named():
        query = writer.start()
    _references.started(query.runId, calls)
    started.remember(df.sparkSession, query, given.get("table"))
    return query


_Read = tuple[str, Callable[[str], str | None]]


def _sources(df: Any) -> list[_references.Call]:
    """Calls equivalent to the reads in a DataFrame's plan; empty where the plan cannot be inspected."""
    try:
        reads = [*(_of_jvm(df._jdf.queryExecution().logical()) if hasattr(df, "_jdf") else _of_client(df._plan))]
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
