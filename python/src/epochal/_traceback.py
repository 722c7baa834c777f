"""Errors of Epochal as a script or a notebook shows them: the frames of the user's own code, and the message."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

_HERE = str(Path(__file__).resolve().parent) + os.sep
_LIBRARIES = ("pyspark", "py4j", "grpc", "IPython", "ipykernel")


def lines(error: BaseException) -> list[str]:
    """As ``traceback.format_exception``, a line each."""
    shown = traceback.format_exception(type(error), error, users_frames(error.__traceback__))
    return "".join(shown).rstrip("\n").split("\n")


def users_frames(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of Epochal, PySpark and what they call; the whole one if it has no other."""
    if os.environ.get("EPOCHAL_TRACEBACK") == "full":
        return tb
    kept: list[TracebackType] = []
    at = tb
    while at is not None:
        if not _is_librarys(at.tb_frame.f_code.co_filename):
            kept.append(at)
        at = at.tb_next
    shown: TracebackType | None = None
    for frame in reversed(kept):
        shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return shown or tb


def _is_librarys(file: str) -> bool:
    if file.startswith(_HERE):
        return not file.startswith(os.path.join(_HERE, "tools", "demo"))
    parts = file.replace("\\", "/").split("/")
    return any(library in parts for library in _LIBRARIES)


def install() -> None:
    """Makes an uncaught error of ours end a script with the short traceback. Any other exception is shown as before."""
    before = sys.excepthook
    if getattr(before, "_epochals", False):
        return

    def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> Any:
        from epochal.errors import EpochalError

        if not isinstance(error, EpochalError):
            return before(kind, error, tb)
        whole = error.__traceback__
        shown = users_frames(tb)
        try:
            return before(kind, error.with_traceback(shown), shown)
        finally:
            error.__traceback__ = whole

    hook._epochals = True  # type: ignore[attr-defined]
    sys.excepthook = hook
