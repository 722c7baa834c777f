"""Places of checkpoints, and changes of their files that survive a crash: each is synced, with Hadoop's checksum."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit


def local_path(location: str) -> Path | None:
    """The local directory of a path or ``file:`` URI; None for other file systems."""
    parts = urlsplit(location)
    if not parts.scheme or len(parts.scheme) == 1:  # a single letter is a drive
        return Path(location)
    return Path(unquote(parts.path)) if parts.scheme.lower() == "file" else None


def move(source: Path, target: Path) -> None:
    """Moves a file with its checksum, without which Hadoop reads it unchecked."""
    checksum = target.with_name(f".{target.name}.crc")
    checksum.unlink(missing_ok=True)
    source.rename(target)
    old = source.with_name(f".{source.name}.crc")
    if old.exists():
        old.rename(checksum)
    sync(source.parent)
    sync(target.parent)


def remove(log: Path, name: str) -> None:
    for file in (log / f".{name}.crc", log / name):
        if file.exists():
            file.unlink()
            sync(log)


def copy(
    source: Path, target: Path, *, only: tuple[str, ...] = (), complete: Callable[[Path], None] | None = None
) -> None:
    """Copies files and directories; ``target`` appears only when it is complete and synced."""
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    partial.mkdir(parents=True)
    try:
        for name in only or [entry.name for entry in source.iterdir()]:
            if (source / name).is_dir():
                shutil.copytree(source / name, partial / name)
            elif (source / name).exists():
                shutil.copy2(source / name, partial / name)
        if complete:
            complete(partial)
        for directory, _, files in os.walk(partial):
            for file in files:
                sync(Path(directory, file))
            sync(Path(directory))
        partial.rename(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def sync(path: Path) -> None:
    """Syncs a file or a directory to disk, if the system supports it."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
