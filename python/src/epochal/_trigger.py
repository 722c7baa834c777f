"""The argument ``trigger``: micro-batches, continuous processing or real-time mode."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from epochal._options import milliseconds
from epochal.errors import ModeError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: ``"availableNow"``, ``"once"``, an interval (``"5 seconds"`` or a ``timedelta``), ``"continuous 1 second"``, or
#: ``"realTime 5 minutes"``.
Trigger = Literal["availableNow", "once"] | str | timedelta

_INTERVAL = re.compile(r"\d+\s*[a-z]+(\s+\d+\s*[a-z]+)*", re.IGNORECASE)
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
#: Units of an interval in Spark, as far as their length does not depend on the calendar.
_SPARKS = [name for unit in (*_UNITS.values(), "weeks", "microseconds") for name in (unit[:-1], unit)]
_TRIGGER = re.compile(rf"(continuous |)({_INTERVAL.pattern})", re.IGNORECASE)
_WORDS = {"availablenow": "availableNow", "once": "once", "realtime": "realTime"}
_REAL_TIME = "realTime"
#: Batch duration of a real-time trigger without one: Spark's default.
_DURATION = "5 minutes"

#: Spark's list of allowed sinks contains only its own: it is off while a real-time query starts.
_ALLOWLIST = "spark.sql.streaming.realTimeMode.allowlistCheck"
#: Since Spark 4.3 a real-time query tracks its progress asynchronously, which an exactly-once sink must refuse.
_ASYNCHRONOUS = "asyncProgressTrackingEnabled"
_STARTING = Lock()


def real_time(trigger: Trigger | None) -> str | None:
    """The batch duration of a real-time trigger, in Spark's spelling; None for other triggers."""
    if not isinstance(trigger, str) or trigger.split(maxsplit=1)[:1] != [_REAL_TIME]:
        return None
    interval = trigger.strip().removeprefix(_REAL_TIME).strip()
    if interval and not _is_interval(interval):
        raise _invalid(trigger)
    return _sparks(interval or _DURATION)


def triggered(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    """Sets the trigger of a writer."""
    if trigger == "availableNow":
        return writer.trigger(availableNow=True)
    if trigger == "once":
        return writer.trigger(once=True)
    if isinstance(trigger, timedelta):
        return writer.trigger(processingTime=f"{milliseconds(trigger)} milliseconds")
    if isinstance(trigger, str):
        interval = trigger.removeprefix("continuous ").strip()
        if _is_interval(interval):
            pace = _sparks(interval)
            return writer.trigger(processingTime=pace) if interval == trigger else writer.trigger(continuous=pace)
    raise _invalid(trigger)


def set_real_time(
    writer: DataStreamWriter, spark: SparkSession, interval: str, output_mode: str, options: frozenset[str]
) -> None:
    """Sets a real-time trigger of a writer, with the output mode and what Spark requires beyond the options, which are
    names in lower case."""
    if output_mode == "complete":
        raise OptionError(
            "OPTION_CONFLICT",
            'trigger="realTime …" and output_mode="complete" exclude each other: it is not supported in real time.',
            'Leave output_mode out: a real-time query runs in output mode "update".',
        )
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        raise _mode_error(
            f"the session runs Spark {spark.version}, and real-time mode came with Spark 4.1",
            'Use Spark 4.1 or newer, or trigger="continuous 1 second".',
        )
    writer.outputMode("update")
    if _ASYNCHRONOUS.lower() not in options:
        writer.option(_ASYNCHRONOUS, "false")
    jvm = getattr(spark, "_jvm", None)
    if jvm is not None:
        own: Any = writer
        own._jwrite = own._jwrite.trigger(jvm.org.apache.spark.sql.streaming.Trigger.RealTime(interval))
        return
    try:
        writer.trigger(realTime=interval)  # type: ignore[call-overload, unused-ignore]
    except TypeError:
        raise _mode_error(
            "this client of Spark Connect has no real-time trigger",
            "Use a client and a server of Spark 4.2 or newer, or a session without Connect.",
        ) from None


@contextmanager
def real_time_settings(spark: SparkSession) -> Iterator[None]:
    """Changes session settings while a real-time query starts, and restores them afterwards. The query keeps a copy.

    Starts are serialised, so that each restores the user's settings.
    """
    with _STARTING:
        before = spark.conf.get(_ALLOWLIST, None)
        spark.conf.set(_ALLOWLIST, "false")
        try:
            yield
        finally:
            if before is None:
                spark.conf.unset(_ALLOWLIST)
            else:
                spark.conf.set(_ALLOWLIST, before)


def _is_interval(text: str) -> bool:
    return bool(_INTERVAL.fullmatch(text)) and _nearest(text) == text


def _nearest(interval: str) -> str | None:
    """The interval with the units that were meant; None if one has none that is near."""
    units = {
        word: word if word.lower() in (*_UNITS, *_SPARKS) else _nearest_unit(word)
        for word in re.findall("[a-zA-Z]+", interval)
    }
    if None in units.values():
        return None
    return re.sub("[a-zA-Z]+", lambda match: str(units[match[0]]), interval)


def _nearest_unit(unit: str) -> str | None:
    return next(iter(difflib.get_close_matches(unit.lower(), _SPARKS, 1)), None)


def _sparks(interval: str) -> str:
    """An interval such as ``5s`` in Spark's spelling, ``5 seconds``."""
    return re.sub(r"(\d+)\s*([a-zA-Z]+)", lambda m: f"{m[1]} {_UNITS.get(m[2].lower(), m[2])}", interval)


def _invalid(trigger: object) -> OptionError:
    word, _, rest = re.sub(r"(?i)^(real|available)[\s_-]+(?=[a-z])", r"\1", str(trigger).strip()).partition(" ")
    spelling = re.sub(r"[\s_-]", "", word).lower() if isinstance(trigger, str) else ""
    meant = next((_WORDS[found] for found in difflib.get_close_matches(spelling, _WORDS, 1)), None)
    if meant == _REAL_TIME and _INTERVAL.fullmatch(rest.strip()):
        meant = f"{meant} {_nearest(rest.strip()) or ''}".strip()
    elif (
        isinstance(trigger, str) and (parts := _TRIGGER.fullmatch(trigger.strip())) and (interval := _nearest(parts[2]))
    ):
        meant = parts[1] + interval
    return OptionError(
        "OPTION_INVALID",
        f'The argument \'trigger\' is {trigger!r}, which is not "availableNow", "once", an interval, '
        '"continuous" with an interval, or "realTime" with one or without.',
        f'Did you mean trigger="{meant}"?' if meant else 'Set it like this: trigger="5 seconds".',
    )


def _mode_error(reason: str, hint: str) -> ModeError:
    return ModeError("MODE_UNSUPPORTED", f"A real-time query cannot be started: {reason}.", hint)
