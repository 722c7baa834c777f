"""Descriptions of offsets. The source is recognised by the shape of an offset, since Spark does not log it."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import zip_longest
from typing import Any

from epochal.tools.checkpoint.log import VOID
from epochal.tools.output import counted

_MAX_LENGTH = 100
#: Sources whose offsets count the rows of a journal in the checkpoint.
_ACKNOWLEDGED = ("epochal-ingest", "epochal-cdc")


def kind_of(offset: str) -> str:
    """The kind of source that writes such offsets; ``unknown`` if none is recognised."""
    if offset == VOID:
        return "no offset yet"
    return _kind(_parse(offset))


def words(offset: str) -> str:
    """Describes what is delivered up to an offset."""
    if offset == VOID:
        return "nothing yet"
    value = _parse(offset)
    match _kind(value):
        case "epochal-random":
            return counted(value["rows"], "row")
        case "epochal-ingest":
            return counted(value["row"], "row")
        case "epochal-cdc":
            return f"{counted(value['row'], 'row')} of slot {value.get('slot')}, changes from {value.get('start')} on"
        case "epochal-rest":
            return _rest(value)
        case "files":
            return f"the files of {counted(value['logOffset'] + 1, 'poll')}"
        case "Kafka":
            return "; ".join(_topic(name, partitions) for name, partitions in sorted(value.items()))
        case "Delta":
            return f"version {value['reservoirVersion']} of the table, file {value.get('index', 0)} in it"
        case "Iceberg":
            return f"snapshot {value['snapshot_id']}, file {value.get('position', 0)} in it"
        case "rate-micro-batch":
            return counted(value["offset"], "row")
        case "a counter":
            return f"position {value:,}"
    return offset if len(offset) <= _MAX_LENGTH else f"{offset[:_MAX_LENGTH]}…"


def identity(offset: str) -> str | None:
    """The identity of an Epochal source, from its offset; None for other sources."""
    value = _parse(offset)
    source = value.get("source") if _kind(value).startswith("epochal-") else None
    return source if isinstance(source, str) else None


def position(offset: str) -> int | None:
    """Number of rows or records delivered up to an offset; None if the offset does not count them."""
    value = _parse(offset)
    count: Any = None
    match _kind(value):
        case "epochal-random":
            count = value["rows"]
        case "epochal-ingest" | "epochal-cdc":
            count = value["row"]
        case "epochal-rest":
            count = value["records"] if not value.get("crawl") else None
        case "Kafka":
            count = sum(sum(partitions.values()) for partitions in value.values())
        case "rate-micro-batch":
            count = value["offset"]
        case "a counter":
            count = value
    return count if isinstance(count, int) else None


def event_time(offset: str) -> datetime | None:
    """The highest event time of the rows before an offset; None without ``eventTimeColumn``."""
    value = _parse(offset)
    moment = value.get("eventTime") if _kind(value).startswith("epochal-") else None
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")) if isinstance(moment, str) else None
    except ValueError:  # a year that datetime does not support
        return None


def segments(offset: str, start: str) -> list[tuple[str, int]]:
    """Journal files of an offset with records after an earlier one, each with its length in bytes."""
    none: dict[str, Any] = {}
    return [
        (segment["name"], segment["bytes"])
        for part, begin in zip_longest(_parts(offset), _parts(start), fillvalue=none)
        for segment in part.get("segments") or []
        if segment["until"] > (begin.get("records") or 0)
    ]


def _parts(offset: str) -> list[dict[str, Any]]:
    """The positions in an offset: one, and one for each row of ``partitionParams``."""
    value = _parse(offset)
    if not isinstance(value, dict) or "format" not in value:
        return []
    # Connectors on the kit count rows.
    return [{"records": value.get("rows"), **value}, *(value.get("members") or [])]


def acknowledged(offset: str) -> tuple[str, int] | None:
    """Directory of the journal of acknowledged rows, below the source's, and number of rows before an offset.

    None for sources without such a journal.
    """
    value = _parse(offset)
    kind = _kind(value)
    return (kind.removeprefix("epochal-"), value["row"]) if kind in _ACKNOWLEDGED else None


def slot(offset: str) -> tuple[str, str] | None:
    """The replication slot of an offset, and the system identifier of its server; None for other sources."""
    value = _parse(offset)
    return (str(value.get("slot")), str(value.get("system"))) if _kind(value) == "epochal-cdc" else None


def _kind(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "a counter"  # the sources rate, socket and memory write the same offsets
    if not isinstance(value, dict):
        return "unknown"
    own = value.get("format")
    if own == "epochal-random" and isinstance(value.get("rows"), int):
        return "epochal-random"
    if own in _ACKNOWLEDGED and isinstance(value.get("row"), int):
        return str(own)
    if own == "epochal-rest" and isinstance(value.get("records"), int):
        return "epochal-rest"
    if value.keys() == {"logOffset"} and isinstance(value["logOffset"], int):
        return "files"
    if "reservoirId" in value and "reservoirVersion" in value:
        return "Delta"
    if "snapshot_id" in value:
        return "Iceberg"
    if value.keys() == {"offset", "timestamp"} and isinstance(value["offset"], int):
        return "rate-micro-batch"
    return "Kafka" if _is_kafka(value) else "unknown"


def _is_kafka(value: dict[str, Any]) -> bool:
    return bool(value) and all(
        isinstance(partitions, dict)
        and partitions
        and all(number.isdigit() and isinstance(end, int) for number, end in partitions.items())
        for partitions in value.values()
    )


def _parse(offset: str) -> Any:
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _rest(value: dict[str, Any]) -> str:
    facts = [counted(value["records"], "record")]
    if crawl := value.get("crawl"):
        facts.append(f"since the list was restarted ({crawl}×)")
    if members := value.get("members"):
        facts.append(f"of {counted(len(members), 'row')} of parameters")
    if segments := value.get("segments"):
        facts.append(f"the last in {counted(len(segments), 'segment')} of the journal")
    return ", ".join(facts)


def _topic(name: str, partitions: dict[str, int]) -> str:
    return f"{name}: {counted(sum(partitions.values()), 'offset')} in {counted(len(partitions), 'partition')}"
