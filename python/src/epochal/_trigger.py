"""The argument ``trigger``: micro-batches, continuous processing or real-time mode."""

from __future__ import annotations

import difflib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from epochal._options import milliseconds
from epochal._realtime import DEFAULT
from epochal.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: ``"availableNow"``, ``"once"``, an interval (``"5 seconds"`` or a ``timedelta``), ``"continuous 1 second"``, or
#: ``"realTime 5 minutes"``.
Trigger = Literal["availableNow", "once"] | str | timedelta

_INTERVAL = re.compile(r"\d+\s*[a-z]+(\s+\d+\s*[a-z]+)*", re.IGNORECASE)
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_WORDS = {"availablenow": "availableNow", "once": "once", "realtime": "realTime"}
_REAL_TIME = "realTime"


def real_time(trigger: Trigger | None) -> str | None:
    """The batch duration of a real-time trigger, in Spark's spelling; None for other triggers.

    Raises:
        OptionError: the text after ``realTime`` is not an interval.
    """
    if not isinstance(trigger, str) or trigger.split(maxsplit=1)[:1] != [_REAL_TIME]:
        return None
    interval = trigger.strip().removeprefix(_REAL_TIME).strip()
    if interval and not _INTERVAL.fullmatch(interval):
        raise _invalid(trigger)
    return _sparks(interval or DEFAULT)


def triggered(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    """Sets the trigger of a writer.

    Raises:
        OptionError: the text is not a trigger.
    """
    if trigger == "availableNow":
        return writer.trigger(availableNow=True)
    if trigger == "once":
        return writer.trigger(once=True)
    if isinstance(trigger, timedelta):
        return writer.trigger(processingTime=f"{milliseconds(trigger)} milliseconds")
    if isinstance(trigger, str):
        interval = trigger.removeprefix("continuous ").strip()
        if _INTERVAL.fullmatch(interval):
            spelled = _sparks(interval)
            return writer.trigger(processingTime=spelled) if interval == trigger else writer.trigger(continuous=spelled)
    raise _invalid(trigger)


def _sparks(interval: str) -> str:
    """An interval such as ``5s`` in Spark's spelling, ``5 seconds``."""
    return re.sub(r"(\d+)\s*([a-zA-Z]+)", lambda m: f"{m[1]} {_UNITS.get(m[2].lower(), m[2])}", interval)


def _invalid(trigger: object) -> OptionError:
    word, _, rest = re.sub(r"(?i)^(real|available)[\s_-]+(?=[a-z])", r"\1", str(trigger).strip()).partition(" ")
    written = re.sub(r"[\s_-]", "", word).lower() if isinstance(trigger, str) else ""
    meant = next((_WORDS[found] for found in difflib.get_close_matches(written, _WORDS, 1)), None)
    if meant == _REAL_TIME and _INTERVAL.fullmatch(rest.strip()):
        meant = f"{meant} {rest.strip()}"
    return OptionError(
        "OPTION_INVALID",
        f'The argument \'trigger\' is {trigger!r}, which is not "availableNow", "once", an interval, '
        '"continuous" with an interval, or "realTime" with one or without.',
        f'Did you mean trigger="{meant}"?' if meant else 'Set it like this: trigger="5 seconds".',
    )
