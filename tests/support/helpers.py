"""Arguments of ``epochal.read`` and ``epochal.write`` as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Arguments that are not options of a format. All others use the jar's names.
_OWN = {"url", "table", "checkpoint", "trigger", "output_mode", "query_name", "schema", "headers", "params"}


def arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``{"table": "t", "sinkId": "s"}`` → ``{"table": "t", "options": {"sinkId": "s"}}``; None is not set."""
    own = {name: value for name, value in settings.items() if name in _OWN}
    return own | {
        "options": {name: value for name, value in settings.items() if name not in _OWN and value is not None}
    }
