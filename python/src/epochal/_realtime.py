"""Real-time mode: the trigger in each version of Spark, and the settings that Spark requires with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from epochal.errors import ModeError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: Batch duration of a trigger without one: Spark's default.
DEFAULT = "5 minutes"

#: Session settings while a real-time query starts: Spark's list of allowed sinks contains only its own.
_SETTINGS = {"spark.sql.streaming.realTimeMode.allowlistCheck": "false"}
#: Since Spark 4.3 a real-time query tracks its progress asynchronously, which an exactly-once sink must refuse.
_ASYNCHRONOUS = "asyncProgressTrackingEnabled"

_STARTING = Lock()


def set_trigger(writer: DataStreamWriter, spark: SparkSession, interval: str, options: frozenset[str]) -> None:
    """Sets the trigger of a writer, its output mode, and the options that Spark requires.

    Args:
        interval: batch duration, in Spark's spelling.
        options: names of the options that are already set, in lower case.

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
    """Rejects output modes that Spark does not support in real time.

    Raises:
        OptionError: the output mode is ``"complete"`` (``OPTION_CONFLICT``).
    """
    if output_mode == "complete":
        raise OptionError(
            "OPTION_CONFLICT",
            'trigger="realTime …" and output_mode="complete" exclude each other: it is not supported in real time.',
            'Leave output_mode out: a real-time query runs in output mode "update".',
        )


@contextmanager
def settings(spark: SparkSession) -> Iterator[None]:
    """Changes session settings while a query starts, and restores them afterwards. The query keeps a copy.

    Starts are serialised, so that each restores the user's settings.
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
