"""Contents of Spark's UI and event log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

_PARTS = ("sql?details=true&planDescription=true", "jobs", "stages", "environment")


def status_pages(ui: str, application: str) -> dict[str, str]:
    """Responses of the status API, by name."""
    pages = {}
    for part in _PARTS:
        with urlopen(f"{ui}/api/v1/applications/{application}/{part}", timeout=300) as answer:
            pages[part] = answer.read().decode()
    return pages


def events(directory: Path) -> list[dict[str, Any]]:
    """All events of all applications in the directory."""
    lines = [
        line
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.endswith(".crc")
        for line in path.read_text("utf-8").splitlines()
    ]
    return [json.loads(line) for line in lines if line.startswith("{")]


def kinds_with(found: list[dict[str, Any]], mark: str) -> list[str]:
    """Kinds and fields of the events that contain a text."""
    return sorted(
        {
            f"{event['Event']}.{name}"
            for event in found
            for name, value in event.items()
            if mark in json.dumps(value, ensure_ascii=False)
        }
    )
