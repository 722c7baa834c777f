"""Real-time mode: the trigger on each line of Spark, and what Spark asks for beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from epochal.errors import ModeError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: How long a batch is where the trigger does not say: Spark's own default.
DEFAULT = "5 minutes"

#: Settings of the session that a real-time query is started with. The list of sinks that Spark allows has only its own.
_SETTINGS = {"spark.sql.streaming.realTimeMode.allowlistCheck": "false"}
#: From Spark 4.3 on a real-time query logs its progress asynchronously, which an exactly-once sink must refuse.
_ASYNCHRONOUS = "asyncProgressTrackingEnabled"

_STARTING = Lock()


def set_trigger(writer: DataStreamWriter, spark: SparkSession, interval: str, options: frozenset[str]) -> None:
    """Sets the trigger, the output mode that goes with it, and what Spark asks for of the writer.

    Args:
        interval: how long a batch is, as Spark spells it.
        options: those that the writer has already, in lower case.

    Raises:
        ModeError: this Spark has no real-time mode (``MODE_UNSUPPORTED``).
    """
    if _line(spark.version) < (4, 1):
        raise _unsupported(
            f"the session runs Spark {spark.version}, and real-time mode came with Spark 4.1",
            'Use Spark 4.1 or newer, or trigger="continuous 1 second".',
        )
    writer.outputMode("update")
    if _ASYNCHRONOUS.lower() not in options:
        writer.option(_ASYNCHRONOUS, "false")
    jvm = getattr(spark, "_jvm", None)
    if jvm is not None:
        trigger = jvm.org.apache.spark.sql.streaming.Trigger.RealTime(interval)
        own: Any = writer
        own._jwrite = own._jwrite.trigger(trigger)
        return
    try:
        writer.trigger(realTime=interval)  # type: ignore[call-overload, unused-ignore]
    except TypeError:
        raise _unsupported(
            "this client of Spark Connect has no real-time trigger",
            "Use a client and a server of Spark 4.2 or newer, or a session without Connect.",
        ) from None


def check_output_mode(output_mode: str) -> None:
    """Refuses what Spark does not do in real time.

    Raises:
        OptionError: the output mode is ``"complete"`` (``OPTION_CONFLICT``).
    """
    if output_mode == "complete":
        raise OptionError(
            "OPTION_CONFLICT",
            'trigger="realTime …" and output_mode="complete" exclude each other: Spark replaces no table in real time.',
            'Leave output_mode out: a real-time query runs in output mode "update".',
        )


@contextmanager
def settings(spark: SparkSession) -> Iterator[None]:
    """Sets what Spark asks of the session while a query starts. The query keeps it, the session does not.

    One start at a time, so that each finds what the user has set.
    """
    with _STARTING:
        before = {name: spark.conf.get(name, None) for name in _SETTINGS}
        for name, value in _SETTINGS.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, old)


def _line(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def _unsupported(reason: str, hint: str) -> ModeError:
    return ModeError("MODE_UNSUPPORTED", f"A real-time query cannot be started: {reason}.", hint)
