"""The version of this package, and the versions of Spark and Scala that it supports."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Final

#: Scala version in the jar's name.
SCALA: Final = "2.13"

#: Spark versions that the jar is tested with, oldest first.
SPARK_LINES: Final = ("4.0", "4.1", "4.2", "4.3")


def _own_version() -> str:
    try:
        return metadata.version("epochal")
    except metadata.PackageNotFoundError:
        source_tree = Path(__file__).resolve().parents[3] / "version.txt"
        return source_tree.read_text("utf-8").strip() if source_tree.is_file() else "0.0.0"


VERSION: Final = _own_version()
