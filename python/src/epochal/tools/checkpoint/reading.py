"""Reads the logs of a checkpoint: local directories directly, other file systems through Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epochal.errors import CheckpointError
from epochal.tools.checkpoint import kinds, needed
from epochal.tools.checkpoint.epochs import Epoch, SourceOffset
from epochal.tools.checkpoint.log import UnreadableError, is_control, read_commit, read_offsets
from epochal.tools.checkpoint.model import Checkpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OFFSETS, _COMMITS = "offsets", "commits"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WHOLE = re.compile(r"-?\d+")
_ID = re.compile(r"[0-9a-fA-F]+(?:-[0-9a-fA-F]+){4}")


def read_local(directory: Path) -> Checkpoint:
    """Reads a local directory, without Spark.

    Raises:
        CheckpointError: there is no checkpoint (``CHECKPOINT_NOT_FOUND``).
    """
    if not directory.is_dir():
        raise not_found(str(directory), "there is no such directory")
    logs = [name for name in (_OFFSETS, _COMMITS, "metadata") if (directory / name).exists()]
    if not logs:
        raise not_found(str(directory), "it has neither 'offsets' nor 'commits' nor 'metadata'")
    offsets, commits = _files_by_epoch(directory / _OFFSETS), _files_by_epoch(directory / _COMMITS)
    query_id, problem = _query_id(directory / "metadata")
    problems = [f"metadata {problem}"] if problem else []
    if not offsets and not commits and unfinished(directory):
        problems.append(_TORN)
    checkpoint = Checkpoint(
        path=str(directory),
        query_id=query_id,
        epochs=_with_marks(
            directory, _with_control([_epoch(n, offsets.get(n), commits.get(n)) for n in sorted({*offsets, *commits})])
        ),
        has_state=_is_filled(directory / "state"),
        problems=tuple(problems),
    )
    damage = _damage(directory, checkpoint)
    return replace(checkpoint, problems=(*problems, damage)) if damage else checkpoint


def _damage(directory: Path, checkpoint: Checkpoint) -> str | None:
    """A file beside the logs that the next epoch needs, and why it cannot be used."""
    epoch = checkpoint.next_start.epoch
    if epoch is None or checkpoint.last_logged is None:
        return None
    by_number = {one.number: one for one in checkpoint.epochs}
    start, end = by_number.get(epoch - 1), checkpoint.epochs[-1]
    return (
        needed.damaged_segment(directory, start, end)
        or needed.removed_rows(directory, start, end)
        or needed.missing_state(directory, epoch)
    )


def _with_marks(directory: Path, epochs: list[Epoch]) -> tuple[Epoch, ...]:
    """Adds to the last epoch what its run has noted: event times, and until when everything is stored."""
    if not epochs:
        return ()
    *before, last = epochs
    sources = (
        replace(
            source,
            event_time=max(
                filter(None, (source.event_time, _mark(directory, source.name, "event-time"))), default=None
            ),
            stored_until=_mark(directory, source.name, "*/stored-until"),
        )
        for source in last.sources
    )
    return (*before, replace(last, sources=tuple(sources)))


def _mark(directory: Path, source: str, marks: str) -> datetime | None:
    """The latest of the times of a source that are the names of empty files: microseconds since 1970."""
    files = (directory / "sources" / source).glob(f"{marks}/*")
    names = [int(file.name) for file in files if _WHOLE.fullmatch(file.name)]
    try:
        return _EPOCH + timedelta(microseconds=max(names)) if names else None
    except OverflowError:  # a year that datetime does not support
        return None


def unfinished(directory: Path) -> list[Path]:
    """Temporary files that Spark was writing when it was killed, and never reads."""
    return [file for log in (_OFFSETS, _COMMITS) for file in (directory / log).glob(".*.tmp")]


def read_remote(location: str, spark: SparkSession) -> Checkpoint:
    """Reads a checkpoint on any Hadoop file system, through ``format("epochal-checkpoint")``."""
    from epochal import read

    rows = [row.asDict() for row in read.checkpoint_log(spark, location).collect()]
    by_epoch: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if row["epoch"] is not None:
            by_epoch.setdefault(row["epoch"], []).append(row)
    return Checkpoint(
        path=location,
        query_id=next((row["query_id"] for row in rows), None),
        epochs=tuple(_with_control([_epoch_of_rows(number, by_epoch[number]) for number in sorted(by_epoch)])),
        has_state=any(row["has_state"] for row in rows),
        problems=() if any(row["query_id"] for row in rows) else ("metadata is missing or cannot be read",),
    )


def not_found(location: str, reason: str) -> CheckpointError:
    return CheckpointError(
        "CHECKPOINT_NOT_FOUND",
        f"There is no checkpoint at {location}: {reason}.",
        "Give the directory that the query has as checkpointLocation (checkpoint=… in Python).",
    )


_TORN = (
    "the first epoch was torn: Spark 4.3 refuses to start on its unfinished files, until an Epochal sink or "
    "epochal checkpoint rewind … --to start removes them"
)


def _files_by_epoch(directory: Path) -> dict[int, Path]:
    """The files of a log by epoch, without unfinished ones, whose names are not numbers."""
    if not directory.is_dir():
        return {}
    return {int(file.name): file for file in directory.iterdir() if file.name.isdigit()}


def _query_id(metadata: Path) -> tuple[str | None, str | None]:
    """The query's id, or why there is none."""
    if not metadata.is_file():
        return None, "is missing"
    try:
        text = _text(metadata)
        if not text:
            raise UnreadableError("it is empty")
        query_id = json.loads(text)["id"]
    except UnreadableError as error:
        return None, f"cannot be read: {error}"
    except (ValueError, KeyError, TypeError):
        query_id = None
    if not isinstance(query_id, str) or not _ID.fullmatch(query_id):
        return None, 'cannot be read: it is not {"id":"<UUID>"}'
    return query_id, None


def _is_filled(directory: Path) -> bool:
    return directory.is_dir() and any(directory.iterdir())


def _with_control(epochs: Sequence[tuple[Epoch, str]]) -> list[Epoch]:
    """Marks the epochs of Spark itself, by their settings and those of the epochs before."""
    settings = {epoch.number: own for epoch, own in epochs}
    return [replace(epoch, control=is_control(own, settings.get(epoch.number - 1, ""))) for epoch, own in epochs]


def _epoch(number: int, offsets: Path | None, commit: Path | None) -> tuple[Epoch, str]:
    """An epoch and its settings."""
    problems: list[str] = []
    log = None
    if offsets:
        try:
            log = read_offsets(_text(offsets))
        except UnreadableError as error:
            problems.append(_cannot_be_read(_OFFSETS, number, error))
    next_watermark, committed = None, False
    if commit:
        try:
            next_watermark, committed = read_commit(_text(commit)), True
        except UnreadableError as error:
            problems.append(_cannot_be_read(_COMMITS, number, error))
    epoch = Epoch(
        number=number,
        logged=offsets is not None,
        committed=committed,
        sources=tuple(
            SourceOffset(name=name, offset=offset, event_time=kinds.event_time(offset)) for name, offset in log.sources
        )
        if log
        else (),
        watermark=log.watermark if log else None,
        timestamp=log.timestamp if log else None,
        next_watermark=next_watermark,
        offsets_hash=log.offsets_hash if log else None,
        logged_at=_modification_time(offsets),
        committed_at=_modification_time(commit),
        problem="; ".join(problems) or None,
    )
    return epoch, log.settings if log else ""


def _cannot_be_read(log: str, number: int, error: UnreadableError) -> str:
    return f"{log}/{number} cannot be read: {error}"


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not UTF-8") from error
    except OSError as error:
        raise UnreadableError(error.strerror or type(error).__name__) from error


def _modification_time(file: Path | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, timezone.utc) if file else None
    except OSError:  # Spark has removed it in the meantime
        return None


def _epoch_of_rows(number: int, rows: Iterable[dict[str, Any]]) -> tuple[Epoch, str]:
    first, *_ = records = list(rows)
    epoch = Epoch(
        number=number,
        logged=first["logged"],
        committed=first["committed"],
        sources=tuple(
            SourceOffset(
                name=row["source_name"],
                offset="-" if row["offset"] is None else row["offset"],
                event_time=_in_utc(row["event_time"]),
                stored_until=_in_utc(row["stored_until"]),
            )
            for row in records
            if row["source_name"] is not None
        ),
        watermark=first["watermark"],
        timestamp=first["batch_timestamp"],
        next_watermark=first["next_watermark"],
        offsets_hash=first["offsets_hash"],
        logged_at=_in_utc(first["logged_at"]),
        committed_at=_in_utc(first["committed_at"]),
        problem=first["problem"],
    )
    return epoch, first["settings"] or ""


def _in_utc(when: datetime | None) -> datetime | None:
    """Converts PySpark's timestamps, which are local and without a zone, to UTC."""
    return when.astimezone(timezone.utc) if when else None
