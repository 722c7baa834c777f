"""How a DataFrame is written: started as a query, or written as a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from epochal import _names
from epochal._options import Duration, Location, milliseconds, text
from epochal.errors import OptionError, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True)
class Stream:
    """What only a streaming write has."""

    checkpoint: Location | None
    output_mode: OutputMode
    available_now: bool
    processing_time: Duration | None
    query_name: str | None

    def given(self) -> list[str]:
        """The names of the arguments that are set."""
        is_set = {
            "checkpoint": self.checkpoint is not None,
            "output_mode": self.output_mode != "append",
            "available_now": self.available_now,
            "processing_time": self.processing_time is not None,
            "query_name": self.query_name is not None,
        }
        return [name for name, given in is_set.items() if given]


def start(df: DataFrame, source: str, caller: str, options: Mapping[str, str], stream: Stream) -> StreamingQuery | None:
    """Starts the query, or writes the batch.

    Args:
        source: the format's short name.
        caller: the function that the user called, for messages.

    Returns:
        The query; None for a batch.

    Raises:
        OptionError: what only a stream has was given for a batch, or a stream has no checkpoint.
    """
    if not df.isStreaming:
        if names := stream.given():
            raise OptionError(
                "OPTIONS_CONFLICT",
                f"The DataFrame is a batch, and {caller} was given what only a stream has: {', '.join(names)}.",
                "Leave them out, or read the source as a stream.",
            )
        with _names.helper(), named():
            df.write.format(source).options(**options).mode("append").save()
        return None
    if stream.checkpoint is None:
        raise OptionError(
            "OPTION_REQUIRED",
            f"{caller} needs 'checkpoint' for a streaming DataFrame (the directory of the query's state).",
            "Set it, for example checkpoint='checkpoints/comments'.",
        )
    writer = df.writeStream.format(source).options(**options).outputMode(stream.output_mode)
    writer = writer.option("checkpointLocation", text(stream.checkpoint))
    if stream.query_name is not None:
        writer = writer.queryName(stream.query_name)
    if stream.available_now and stream.processing_time is not None:
        raise OptionError(
            "OPTIONS_CONFLICT",
            f"{caller} was given options that exclude each other: available_now, processing_time.",
            "A query that ends has no interval: leave processing_time out.",
        )
    if stream.available_now:
        writer = writer.trigger(availableNow=True)
    elif stream.processing_time is not None:
        writer = writer.trigger(processingTime=_interval(stream.processing_time))
    with _names.helper(), named():
        query = writer.start()
    _names.started(query.runId)
    return query


def _interval(value: Duration) -> str:
    return f"{milliseconds(value)} milliseconds" if isinstance(value, timedelta) else value
