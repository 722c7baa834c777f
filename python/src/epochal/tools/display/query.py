"""The query of a display."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epochal._options import Location, text
from epochal._start import OutputMode
from epochal._trigger import Trigger, triggered
from epochal.errors import named
from epochal.tools.display.live import FORMAT, Live
from epochal.tools.display.selection import Selection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Output modes in the order in which they are tried if none is set; the first that the query allows is used.
_MODES: tuple[OutputMode, ...] = ("complete", "append", "update")
#: Prefix of the temporary checkpoints, which the jar removes when the query ends.
_TEMPORARY = "epochal-display-"


@dataclass(frozen=True, kw_only=True)
class QuerySettings:
    """The user's settings of the query."""

    trigger: Trigger
    checkpoint: Location | None
    output_mode: OutputMode | None


def start(df: DataFrame, selection: Selection, settings: QuerySettings) -> Live:
    """Starts the query of a streaming frame.

    Raises:
        EpochalError, AnalysisException: Spark or a source rejects the query.
    """
    spark = df.sparkSession
    display = str(uuid.uuid4())
    checkpoint = _temporary(spark) if settings.checkpoint is None else text(settings.checkpoint)
    writer = df.writeStream.format(FORMAT).queryName(selection.name).option("checkpointLocation", checkpoint)
    writer = triggered(writer.option("display", display).option("maxRows", str(selection.rows)), settings.trigger)
    modes = _MODES if settings.output_mode is None else (settings.output_mode,)
    with named():
        for mode in modes:
            try:
                query = writer.outputMode(mode).start()
            except Exception as error:
                if mode == modes[-1] or not re.search("output mode", str(error), re.IGNORECASE):
                    raise
            else:
                break
        else:
            raise AssertionError("There is an output mode.")
    try:
        return Live(query, mode, display, spark, selection)
    except BaseException:
        query.stop()
        raise


def _temporary(spark: SparkSession) -> str:
    """A new checkpoint directory on the driver's default file system, like Spark's own temporary checkpoints."""
    base: str | None = spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    parent = base or (tempfile.gettempdir() if os.name == "nt" else "/tmp")
    return f"{parent.rstrip('/')}/{_TEMPORARY}{uuid.uuid4()}"
