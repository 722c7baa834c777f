"""How a DataFrame is written: started as a query, or written as a batch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from epochal import _hooks, _names
from epochal import _realtime as realtime
from epochal import _started as started
from epochal._form import Form
from epochal._options import Location, OptionValue, text
from epochal._trigger import Trigger, real_time, triggered
from epochal.errors import OptionError, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True)
class Stream:
    """What only a streaming write has."""

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
        given: the arguments of the helper that are options.
        more: options by the jar's own names.

    Returns:
        The query; None for a batch.

    Raises:
        OptionError: what only a stream has was given for a batch, or a stream has no checkpoint.
    """
    _hooks.install()
    options = form.options(given, more)
    source = form.format.removesuffix(" sink")
    if not df.isStreaming:
        if names := stream.given():
            raise OptionError(
                "OPTION_CONFLICT",
                f"The DataFrame is a batch, and {form.caller} was given what only a stream has: {', '.join(names)}.",
                "Leave them out, or read the source as a stream.",
            )
        with _names.helper(form, given), named():
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
    with settings, _names.helper(form, given), named():
        query = writer.start()
    _names.started(query.runId, form)
    started.remember(df.sparkSession, query, given.get("table"))
    return query
