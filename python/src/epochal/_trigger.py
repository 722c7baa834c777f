"""When a query's micro-batches run, in one argument."""

from __future__ import annotations

import difflib
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from epochal._options import milliseconds
from epochal.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: ``"availableNow"``, ``"once"``, an interval (``"5 seconds"`` or a ``timedelta``), or ``"continuous 1 second"``.
Trigger = Literal["availableNow", "once"] | str | timedelta

_INTERVAL = re.compile(r"\d+\s*[a-z]+(\s+\d+\s*[a-z]+)*", re.IGNORECASE)
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_WORDS = {"availablenow": "availableNow", "once": "once"}


def triggered(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    """The writer with the trigger.

    Raises:
        OptionError: the text is none of a trigger.
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
    """``5s`` as Spark writes it."""
    return re.sub(r"(\d+)\s*([a-zA-Z]+)", lambda m: f"{m[1]} {_UNITS.get(m[2].lower(), m[2])}", interval)


def _invalid(trigger: object) -> OptionError:
    written = re.sub(r"[\s_-]", "", trigger).lower() if isinstance(trigger, str) else ""
    meant = next((_WORDS[word] for word in difflib.get_close_matches(written, _WORDS, 1)), None)
    return OptionError(
        "OPTION_INVALID",
        f'The argument \'trigger\' is {trigger!r}, which is not "availableNow", "once", an interval or '
        '"continuous" with an interval.',
        f'Did you mean trigger="{meant}"?' if meant else 'Set it like this: trigger="5 seconds".',
    )
