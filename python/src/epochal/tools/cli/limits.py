"""The limits of ``epochal status``: how far a query may be behind, and how much log the server may keep for it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from epochal.errors import OptionError
from epochal.tools.checkpoint import Checkpoint
from epochal.tools.checkpoint.log import VOID
from epochal.tools.checkpoint.slots import SlotState
from epochal.tools.output import duration, size

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_BYTES = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _BYTES |= {_letter: 1000**_power, f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}

#: A limit, and how it was typed.
_Limit = tuple[float, str]


def add(status: argparse.ArgumentParser) -> None:
    """Adds the arguments to those of ``status``."""
    status.add_argument(
        "--max-behind", type=_seconds, metavar="TIME", help="how long a change may wait until it is stored: 10m"
    )
    status.add_argument(
        "--max-retained", type=_bytes, metavar="SIZE", help="how much log the server may keep for the slot: 20g"
    )


def _seconds(text: str) -> _Limit:
    return _amount(text, _SECONDS, "a time such as 10m or 90s")


def _bytes(text: str) -> _Limit:
    return _amount(text, _BYTES, "a size such as 20g or 512m")


def _amount(text: str, units: dict[str, int], form: str) -> _Limit:
    match = _AMOUNT.fullmatch(text.strip())
    factor = units.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not {form}")
    return float(match[1]) * factor, text


def excesses(options: argparse.Namespace, checkpoint: Checkpoint, slots: Sequence[SlotState]) -> list[str]:
    """A sentence for each limit that is exceeded, or cannot be compared.

    Raises:
        OptionError: the checkpoint, or the arguments, can never show what a limit is for.
    """
    return [*_behind(options.max_behind, checkpoint), *_log(options, checkpoint, slots)]


def _behind(limit: _Limit | None, checkpoint: Checkpoint) -> Iterator[str]:
    if limit is None:
        return
    most, text = limit
    sources = checkpoint.epochs[-1].sources if checkpoint.epochs else ()
    if not sources:
        yield f"{checkpoint.path} has no epoch yet that shows its sources: how far it is behind is not known"
        return
    captures = [source for source in sources if source.kind == "epochal-cdc" or source.offset == VOID]
    if not captures:
        raise _useless("--max-behind", checkpoint, "the time until which everything is stored")
    for source in captures:
        name = f"Source {source.name} of {checkpoint.path}"
        if source.stored_until is None:
            yield f"{name} has not noted yet until when its changes are stored"
        elif (behind := (datetime.now(timezone.utc) - source.stored_until).total_seconds()) > most:
            yield f"{name} is {duration(behind)} behind, more than {text}"


def _log(options: argparse.Namespace, checkpoint: Checkpoint, slots: Sequence[SlotState]) -> Iterator[str]:
    if options.max_retained is None:
        return
    most, text = options.max_retained
    if options.url is None:
        raise OptionError(
            "OPTION_REQUIRED",
            "--max-retained needs --url: the server knows how much log it keeps.",
            "Add --url with the JDBC URL of the source's server.",
        )
    offsets = [source.offset for epoch in checkpoint.epochs for source in epoch.sources]
    if not slots and any(offset != VOID for offset in offsets):
        raise _useless("--max-retained", checkpoint, "a replication slot")
    if not slots:
        yield f"{checkpoint.path} has no epoch yet that shows its slot: how much log the server keeps is not known"
    for slot in slots:
        if slot.retained is None:
            yield f"How much log the server keeps for slot {slot.name} is not known"
        elif slot.retained > most:
            yield f"The server keeps {size(slot.retained)} of log for slot {slot.name}, more than {text}"


def _useless(argument: str, checkpoint: Checkpoint, fact: str) -> OptionError:
    return OptionError(
        "OPTION_INVALID",
        f"{argument} is for queries with a source epochal-cdc: the checkpoint {checkpoint.path} does not have {fact}.",
        f"Leave {argument} out.",
    )
