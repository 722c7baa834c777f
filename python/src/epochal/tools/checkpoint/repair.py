"""Repairs of a local checkpoint: rewinds to an earlier epoch, copies, and offsets that were set aside.

A rewind removes epochs from the last one down, and of each epoch first the commit, then the offsets. The directory is a
valid checkpoint at every moment: without ``commits/n``, Spark replays epoch n; without both, it plans epoch n again. A
file's checksum (``.n.crc``) is removed before the file: a leftover checksum would invalidate the file that Spark writes
next.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from epochal.errors import RepairError
from epochal.tools.checkpoint import files, needed
from epochal.tools.checkpoint.files import local_path
from epochal.tools.checkpoint.log import ASIDE, set_aside
from epochal.tools.checkpoint.model import Checkpoint
from epochal.tools.checkpoint.reading import read_local, unfinished

#: Logs with a file for each epoch, in the order of removal. The REST sink's log holds what determines the requests of
#: an epoch, and would contradict a new plan of that epoch.
LOGS = ("commits", "epochal-rest", "offsets")

#: The position before the first epoch.
START = -1

#: A query whose logs have changed within this time may be running.
QUIET = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class Repair:
    """A repair that is checked but not started.

    Attributes:
        steps: the steps, one line each.
        warnings: consequences that the operator must know.
    """

    checkpoint: Checkpoint
    directory: Path
    steps: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rewind(Repair):
    """Removes all epochs after a given one.

    Attributes:
        epoch: the last epoch to keep.
        backup: directory to which the logs are copied first.
    """

    epoch: int
    backup: Path

    def run(self) -> None:
        """Makes the backup, then removes the epochs.

        Raises:
            RepairError: the checkpoint has changed since it was read. Nothing is removed.
        """
        files.copy(self.directory, self.backup, only=("metadata", *LOGS))
        if _positions(read_local(self.directory)) != _positions(self.checkpoint):
            raise _active(self.checkpoint, "it has changed since it was read")
        _forget_stored(self.directory)
        for epoch in range(_newest(self.directory), self.epoch, -1):
            for log in LOGS:
                files.remove(self.directory / log, str(epoch))
        if self.epoch == START:
            for file in unfinished(self.directory):
                files.remove(file.parent, file.name)


@dataclass(frozen=True, kw_only=True)
class Fork(Repair):
    """Copies the whole checkpoint.

    Attributes:
        copy: the new directory.
        query_id: query id of the copy.
    """

    copy: Path
    query_id: str

    def run(self) -> None:
        """Copies under a temporary name, and renames the copy when it is complete.

        Raises:
            RepairError: the checkpoint has changed during the copy. The copy is removed.
        """

        def complete(partial: Path) -> None:
            if _positions(read_local(self.directory)) != _positions(self.checkpoint):
                raise _active(self.checkpoint, "it has changed while it was copied")
            _forget_stored(partial)
            if self.query_id != self.checkpoint.query_id:
                (partial / ".metadata.crc").unlink(missing_ok=True)
                (partial / "metadata").write_text(json.dumps({"id": self.query_id}), "utf-8")

        files.copy(self.directory, self.copy, complete=complete)


@dataclass(frozen=True, kw_only=True)
class Restore(Repair):
    """Puts offsets back that were set aside.

    Attributes:
        epoch: their epoch.
        entry: the file.
    """

    epoch: int
    entry: Path

    def run(self) -> None:
        """Moves the file back; offsets that are in its place are set aside instead.

        Raises:
            RepairError: the checkpoint has changed since it was read. Nothing is moved.
        """
        if _positions(read_local(self.directory)) != _positions(self.checkpoint):
            raise _active(self.checkpoint, "it has changed since it was read")
        place = self.directory / "offsets" / str(self.epoch)
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            newest = max((entry.millis for entry in set_aside(self.directory)), default=0)
            now = max(int(datetime.now(timezone.utc).timestamp() * 1000), newest + 1)
            files.move(place, self.entry.with_name(f"{self.epoch}-{now}"))
        files.move(self.entry, place)


def restore(
    checkpoint: Checkpoint,
    epoch: int,
    *,
    entry: str | None = None,
    offsets_hash: str | None = None,
    stopped: bool = False,
) -> Restore:
    """Checks whether the offsets of an epoch can be put back.

    Args:
        epoch: their epoch.
        entry: the name of the file, if several were set aside.
        offsets_hash: the hash that the ledger has for the epoch, which chooses among several.
        stopped: the caller knows that no query uses the checkpoint.

    Raises:
        RepairError: they cannot (``REPAIR_REFUSED``): none were set aside, or several and none is chosen.
    """
    directory = _local(checkpoint)
    entries = [one for one in set_aside(directory) if one.epoch == epoch and one.offsets_hash]
    if entry:
        candidates = [one for one in entries if one.file.name == entry]
    elif offsets_hash:
        candidates = [one for one in entries if one.offsets_hash == offsets_hash]
    else:
        candidates = entries if len(entries) == 1 else []
    if not candidates:
        choices = ", ".join(str(one) for one in entries)
        raise refused(
            f"No offsets of epoch {epoch} were set aside in {directory / ASIDE}"
            if not entries
            else f"It is not clear which offsets of epoch {epoch} to put back: {choices}",
            "Name another epoch: the files there begin with theirs." if not entries else "Name one with --entry.",
        )
    _check_quiet(checkpoint, stopped)
    choice = candidates[-1]
    place = directory / "offsets" / str(epoch)
    return Restore(
        checkpoint=checkpoint,
        directory=directory,
        epoch=epoch,
        entry=choice.file,
        steps=(
            *((f"set {place} aside",) if place.exists() else ()),
            f"move {choice} to {place}",
        ),
        warnings=_unknowable(stopped),
    )


def rewind(checkpoint: Checkpoint, epoch: int, *, stopped: bool = False) -> Rewind:
    """Checks whether the checkpoint can go back to the end of an epoch.

    Args:
        epoch: the last epoch to keep; Spark then plans the next one again, from the offsets at its end. ``START``
            removes all epochs.
        stopped: the caller knows that no query uses the checkpoint.

    Raises:
        RepairError: it cannot (``REPAIR_REFUSED``): the query seems to run, there are state stores, or Spark could not
            resume from there.
        CheckpointError: the epoch is not in the logs (``EPOCH_NOT_FOUND``).
    """
    directory = _local(checkpoint)
    end = None if epoch == START else checkpoint.epoch(epoch)
    later = [one for one in checkpoint.epochs if one.number > epoch]
    whole = {one.number for one in checkpoint.epochs if one.logged and not one.problem}
    if not later and not (end is None and unfinished(directory)):
        raise refused(
            f"{checkpoint.path} has no later epoch, so there is nothing to rewind", "Look at it: epochal status."
        )
    if end and (not end.committed or epoch not in whole or (epoch > 0 and epoch - 1 not in whole)):
        raise refused(
            f"Spark could not resume from epoch {epoch} of {checkpoint.path}: it needs the files offsets/{epoch}, "
            f"commits/{epoch}" + (f" and offsets/{epoch - 1}" if epoch else ""),
            "Name another epoch: epochal checkpoint show lists them.",
        )
    if checkpoint.has_state:
        raise refused(
            f"The checkpoint {checkpoint.path} has state stores, which contain the changes of later epochs",
            "Start the query with a new checkpoint, or restore a copy of the whole checkpoint from that time.",
        )
    # After a batch that ended within a segment, later epochs may have deleted the rest of it.
    damage = end and needed.damaged_segment(directory, end, end)
    damage = damage or (needed.removed_rows(directory, end, later[-1]) if later else None)
    if damage:
        raise refused(
            f"A journal lacks rows of the epochs after {epoch}: {damage}",
            "Name a later epoch, or restore a copy of the whole checkpoint from that time.",
        )
    _check_quiet(checkpoint, stopped)
    backup = directory.with_name(f"{directory.name}-backup-{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}")
    return Rewind(
        checkpoint=checkpoint,
        directory=directory,
        epoch=epoch,
        backup=backup,
        steps=(
            f"copy the logs of {directory} to {backup}",
            _removal([one.number for one in later]),
            f"after that, Spark plans epoch {epoch + 1}, "
            + (f"from the offsets at the end of epoch {epoch}" if end else "from the beginning of its sources"),
        ),
        warnings=(
            "A sink that records its epochs (epochal-jdbc, Delta, Spark's files) refuses or skips those that it "
            "already has.",
            *_unknowable(stopped),
        ),
    )


def fork(checkpoint: Checkpoint, copy: Path, *, same_query: bool = False, stopped: bool = False) -> Fork:
    """Checks whether the checkpoint can be copied.

    Args:
        copy: the new directory, which must not exist.
        same_query: whether the copy keeps the query's id. Sinks then treat both as the same query, so only one of them
            may be started. Otherwise the copy is a separate query.
        stopped: the caller knows that no query uses the checkpoint.

    Raises:
        RepairError: it cannot (``REPAIR_REFUSED``).
    """
    directory = _local(checkpoint)
    if copy.exists():
        raise refused(f"{copy} exists", "Name a directory that does not exist.")
    if copy.resolve().is_relative_to(directory.resolve()):
        raise refused(f"{copy} is in the checkpoint itself", "Name a directory beside it.")
    if checkpoint.query_id is None:
        raise refused(f"The id of the query of {checkpoint.path} cannot be read", "Restore its file 'metadata' first.")
    _check_quiet(checkpoint, stopped)
    query_id = checkpoint.query_id if same_query else str(uuid.uuid4())
    same = "Start only one of the two: sinks treat them as the same query."
    other = (
        "The copy is another query: epochal-jdbc refuses it (QUERY_CHANGED, LEDGER_EMPTY) until an option states "
        "the intent."
    )
    return Fork(
        checkpoint=checkpoint,
        directory=directory,
        copy=copy,
        query_id=query_id,
        steps=(
            f"copy {directory} with all its contents to {copy}",
            f"keep the query's id, {query_id}" if same_query else f"give the copy its own query id, {query_id}",
        ),
        warnings=(same if same_query else other, *_unknowable(stopped)),
    )


def _forget_stored(directory: Path) -> None:
    """Removes the notes of until when everything is stored."""
    for mark in directory.glob("sources/*/*/stored-until/*"):
        mark.unlink()


def _removal(epochs: list[int]) -> str:
    if not epochs:
        return "remove the unfinished files of the first epoch"
    numbers = f"epochs {epochs[0]} to {epochs[-1]}" if len(epochs) > 1 else f"epoch {epochs[0]}"
    return f"remove {numbers} from them"


def _check_quiet(checkpoint: Checkpoint, stopped: bool) -> None:
    """Refuses if the query seems to run. A query on another machine is recognised only by its files."""
    times = [when for epoch in checkpoint.epochs for when in (epoch.logged_at, epoch.committed_at) if when]
    newest = max(times, default=None)
    if stopped or newest is None:
        return
    age = datetime.now(timezone.utc) - newest
    if age < QUIET:
        raise _active(checkpoint, f"it was written {max(age.total_seconds(), 0):.0f} s ago")


def _unknowable(stopped: bool) -> tuple[str, ...]:
    if stopped:
        return ()
    return ("An idle query writes nothing: make sure that no query uses this checkpoint.",)


def _active(checkpoint: Checkpoint, sign: str) -> RepairError:
    return refused(
        f"A query seems to use the checkpoint {checkpoint.path}: {sign}",
        "Stop the query. If it is stopped, wait for a minute, or pass --stopped.",
    )


def refused(problem: str, hint: str) -> RepairError:
    """The error for a repair that was not made."""
    return RepairError("REPAIR_REFUSED", f"{problem}. Nothing was changed.", hint)


def _local(checkpoint: Checkpoint) -> Path:
    directory = local_path(checkpoint.path)
    if directory is None or not directory.is_dir():
        raise refused(
            f"{checkpoint.path} is not on this machine",
            "Copy the checkpoint to a local directory, repair the copy, and copy it back.",
        )
    return directory.absolute()


def _positions(checkpoint: Checkpoint) -> list[tuple[int, bool, bool]]:
    return [(epoch.number, epoch.logged, epoch.committed) for epoch in checkpoint.epochs]


def _newest(directory: Path) -> int:
    names = [file.name for log in LOGS if (directory / log).is_dir() for file in (directory / log).iterdir()]
    return max((int(name) for name in names if name.isdigit()), default=START)
