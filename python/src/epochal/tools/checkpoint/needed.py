"""Files of sources and state stores that an epoch needs. Their contents are not read."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from epochal.tools.checkpoint import kinds
from epochal.tools.checkpoint.epochs import Epoch
from epochal.tools.checkpoint.log import VOID

#: A version of a state store: the whole state, or what has changed since the version before.
_STATE = re.compile(r"(\d+)(?:_[\w-]+)?\.(?:(snapshot|zip)|delta|changelog)")


def damaged_segment(directory: Path, start: Epoch | None, end: Epoch) -> str | None:
    """A file of a journal that is missing or cut off, with rows that ``end`` names and ``start`` has not delivered."""
    begin = _offsets(start)
    for name, offset in _offsets(end).items():
        journal = directory / "sources" / name / "journal"
        lengths = {file.name: file.stat().st_size for file in journal.glob("**/*.seg")}
        for segment, length in kinds.segments(offset, begin.get(name, VOID)):
            if lengths.get(segment) != length:
                state = f"has {lengths[segment]:,} of {length:,} bytes" if segment in lengths else "is missing"
                return f"sources/{name}/journal/{segment} {state}"
    return None


def removed_rows(directory: Path, start: Epoch | None, end: Epoch) -> str | None:
    """Rows between two epochs that a journal of acknowledged rows no longer has."""
    begin = _offsets(start)
    for name, offset in _offsets(end).items():
        if journal := kinds.acknowledged(offset):
            folder, last = journal
            before = kinds.acknowledged(begin.get(name, VOID))
            row = before[1] if before else 0
            files = (directory / "sources" / name / folder).glob("*.ack")
            first = min((first for file in files if (first := _first_row(file)) is not None), default=last)
            if row < min(first, last):
                return f"sources/{name}/{folder} no longer has the rows {row:,} to {min(first, last):,}"
    return None


def missing_state(directory: Path, version: int) -> str | None:
    """A state store that lacks a version from which Spark would load this one."""
    stores: dict[Path, dict[int, bool]] = defaultdict(dict)
    for file in (directory / "state").rglob("*"):
        if match := _STATE.fullmatch(file.name):
            whole = stores[file.parent].get(int(match[1])) or match[2] is not None
            stores[file.parent][int(match[1])] = whole
    for store, versions in sorted(stores.items()):
        at = version
        while at > 0 and not versions.get(at):
            if at not in versions:
                return f"{store.relative_to(directory)} has no version {at}"
            at -= 1
    return None


def _offsets(epoch: Epoch | None) -> dict[str, str]:
    return {source.name: source.offset for source in epoch.sources} if epoch else {}


def _first_row(file: Path) -> int | None:
    """The number of the first row of an acknowledged journal's file; None if it has no header."""
    with file.open("rb") as stream:
        header = stream.read(20)
    return int.from_bytes(header[12:20], "big") if len(header) == 20 and header.startswith(b"EPOCHALA") else None
