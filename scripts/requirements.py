"""The pinned Python packages of this repository."""

from __future__ import annotations

import re
from pathlib import Path

FILES = (
    "python/requirements.txt",
    "python/requirements-test.txt",
    "python/requirements-check.txt",
    "python/requirements-release.txt",
    "python/requirements-site.txt",
    "bench/requirements.txt",
)


def pinned(root: Path) -> dict[str, str]:
    """The version of each package, by its name in lower case, without packages for old Python versions only."""
    lines = [line for file in FILES for line in (root / file).read_text(encoding="utf-8").splitlines()]
    pin = re.compile(r"([\w.-]+)(?:\[.*\])?==([^;\s]+)(?:; python_version >= .*)?")
    found = (pin.fullmatch(line) for line in lines)
    return {match[1].lower(): match[2] for match in found if match}
