"""Locks on an SQLite file, and the error when one is not released."""

from __future__ import annotations

import re
from pathlib import Path

from epochal.errors import DatabaseError

#: How long a connection waits for a lock, as the sink's ``lockTimeout`` by default.
TIMEOUT_SECONDS = 30
_HELD = re.compile(r"\d+: (?:POSIX|OFDLCK) +\S+ +WRITE +(-?\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) +(\d+) ")


def locked(place: str, file: Path, reason: str) -> DatabaseError:
    """The error when a lock outlasts the timeout; names the processes that hold it, as far as Linux lists them."""
    return DatabaseError(
        "DATABASE_LOCKED",
        f"{place} stayed locked by {_holder(file)} until the end of the timeout: {reason}.",
        "End that transaction, or wait until it has ended, and try again.",
    )


def is_locked(reason: str) -> bool:
    return "SQLITE_BUSY" in reason or "SQLITE_LOCKED" in reason or "is locked" in reason


def _holder(file: Path) -> str:
    try:
        files = (Path(f"{file.resolve()}{suffix}") for suffix in ("", "-shm"))
        inodes = {str(one.stat().st_ino) for one in files if one.exists()}
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return "another connection"
    locks = [match.groups() for match in map(_HELD.match, lines) if match]
    processes = {pid for pid, inode, first in locks if inode in inodes and _is_sqlites(int(first))}
    return ", ".join(f"process {pid}" for pid in sorted(processes)) or "another connection"


def _is_sqlites(first: int) -> bool:
    """Whether SQLite locks this byte of a database, or of the index of its write-ahead log."""
    return 0x40000000 <= first < 0x40000200 or 120 <= first < 128
