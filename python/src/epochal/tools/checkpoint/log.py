"""Parses the files of Spark's offset log and commit log."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

#: Logged in place of an offset if the source had none yet.
VOID = "-"

#: Versions of the files; Spark 4.3 writes commits as ``v3`` if sinks have names.
_OFFSETS, _COMMITS = ("v1", "v2"), ("v1", "v2", "v3")

#: Offsets that a run of Epochal has moved out of Spark's log: ``<epoch>-<milliseconds since 1970>``.
ASIDE = "epochal-offsets"

_PARTITIONS = re.compile(r'"spark\.sql\.shuffle\.partitions":"(\d+)"')

#: Begins the reason of a file with a torn offset. Spark does not parse the offsets before the last epoch's.
TORN_OFFSET = "the offset of source"


class UnreadableError(ValueError):
    """A file is torn, empty, or of an unknown version."""


@dataclass(frozen=True, kw_only=True)
class OffsetLog:
    """The contents of ``offsets/<epoch>``.

    Attributes:
        version: version of the file: ``v1`` lists the sources by their position in the plan, ``v2`` by their names.
        settings: the second line, as written: watermark, time and Spark's settings of the epoch, as JSON.
        sources: name and offset of each source. In ``v1`` the name is the position: ``"0"``, ``"1"`` …
        watermark: watermark of the epoch, in milliseconds since 1970; None if the file has none.
        timestamp: when the epoch was planned, in milliseconds since 1970; None if the file has none.
        offsets_hash: as in the ledger's column ``offsets_hash``.
    """

    version: str
    settings: str
    sources: tuple[tuple[str, str], ...]
    watermark: int | None
    timestamp: int | None
    offsets_hash: str


def read_offsets(text: str) -> OffsetLog:
    """Reads an ``offsets`` file.

    Raises:
        UnreadableError: Spark could not resume from this file either.
    """
    version, *rest = _lines(text, _OFFSETS)
    if not rest:
        raise UnreadableError("it ends after its first line")
    settings, sources = rest[0], rest[1:]
    metadata = _json_object(settings) if settings.strip() else {}
    if not sources:
        raise UnreadableError("it lists no sources: the file is torn")
    pairs = [_split_name(line) for line in sources] if version == "v2" else [(str(n), s) for n, s in enumerate(sources)]
    for name, offset in pairs:
        _check_offset(name, offset)
    return OffsetLog(
        version=version,
        settings=settings,
        sources=tuple(sorted(pairs, key=_order) if version == "v2" else pairs),
        watermark=_number(metadata, "batchWatermarkMs"),
        timestamp=_number(metadata, "batchTimestampMs"),
        offsets_hash=_hash(version, sources),
    )


def is_control(settings: str, before: str) -> bool:
    """Whether an epoch is of Spark itself, without rows: Spark 4.2 logs one when it repartitions the state.

    Args:
        settings: the second line of its ``offsets`` file.
        before: that of the epoch before; ``v1`` shows only that the number of partitions differs.
    """
    (own, other) = (_PARTITIONS.search(text) for text in (settings, before))
    return '"controlBatchInfo"' in settings or bool(own and other and own[1] != other[1])


def read_commit(text: str) -> int | None:
    """Reads a ``commits`` file.

    Returns:
        The watermark of the next epoch, in milliseconds since 1970; None if the file has none.

    Raises:
        UnreadableError: Spark could not resume from this file either.
    """
    version, *rest = _lines(text, _COMMITS)
    metadata = _json_object(rest[0]) if rest else {}
    if version == "v3" and not metadata.get("sinkMetadataMap"):
        raise UnreadableError("it names no sink")
    return _number(metadata, "nextBatchWatermarkMs")


def _lines(text: str, versions: Sequence[str]) -> list[str]:
    """The version, and the lines below it without empty ones at the end, which Spark ignores too."""
    lines = text.split("\n")
    while lines and not lines[-1]:
        del lines[-1]
    if not lines:
        raise UnreadableError("it is empty")
    version = lines[0]
    if version not in versions:
        if version[:1] != "v" or not version[1:].isdigit():
            raise UnreadableError("it does not begin with a version")
        *first, last = versions
        raise UnreadableError(f"it is of version {version}, and {', '.join(first)} and {last} are known")
    return lines


def _json_object(text: str) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except ValueError as error:
        raise UnreadableError("its second line is not JSON: the file is torn") from error
    if not isinstance(entry, dict):
        raise UnreadableError("its second line is not a JSON object")
    return entry


def _split_name(line: str) -> tuple[str, str]:
    name, colon, offset = line.partition(":")
    if not colon:
        raise UnreadableError("a line has no name of a source: the file is torn")
    return name, offset


def _order(source: tuple[str, str]) -> tuple[bool, int, str]:
    name = source[0]
    return (False, int(name), "") if name.isdigit() else (True, 0, name)


def _check_offset(name: str, offset: str) -> None:
    """Rejects a torn offset: one that begins like JSON but is not JSON. Any other text is valid."""
    if offset[:1] in ("{", "["):
        try:
            json.loads(offset)
        except ValueError as error:
            raise UnreadableError(f"{TORN_OFFSET} {name} is not JSON: the file is torn") from error


def _number(values: dict[str, Any], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) else None


def _hash(version: str, sources: list[str]) -> str:
    """SHA-256 over what determines the epoch's rows, as the sink computes it (``docs/PROTOCOL.md``)."""
    lines = sorted(sources, key=lambda line: line.encode("utf-16-be")) if version == "v2" else sources
    return hashlib.sha256("\n".join([version, *lines]).encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """An entry of Spark's offset log that was set aside.

    Attributes:
        file: the file.
        epoch: its epoch.
        millis: when it was set aside, in milliseconds since 1970.
        offsets_hash: as in the ledger; None if the file cannot be read.
    """

    file: Path
    epoch: int
    millis: int
    offsets_hash: str | None

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.millis / 1000, timezone.utc)
        return f"{self.file.name} (set aside {when:%Y-%m-%d %H:%M:%S} UTC, offsets_hash {self.offsets_hash})"


def set_aside(directory: Path) -> list[SetAside]:
    """Entries that were set aside, in the order of time."""
    entries = []
    for file in (directory / ASIDE).glob("*-*"):
        epoch, _, millis = file.name.partition("-")
        if epoch.isdigit() and millis.isdigit():
            try:
                digest: str | None = read_offsets(file.read_text("utf-8")).offsets_hash
            except (UnreadableError, UnicodeDecodeError):
                digest = None
            entries.append(SetAside(file=file, epoch=int(epoch), millis=int(millis), offsets_hash=digest))
    return sorted(entries, key=lambda one: one.millis)
