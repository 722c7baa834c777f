"""Short tracebacks for errors of Epochal: the frames of the user's own code, and the message."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

_HERE = str(Path(__file__).resolve().parent) + os.sep
_LIBRARIES = ("pyspark", "py4j", "grpc", "IPython", "ipykernel")


def lines(error: BaseException) -> list[str]:
    """The lines of ``traceback.format_exception``, without the libraries' frames."""
    shown = traceback.format_exception(type(error), error, users_frames(error.__traceback__))
    return "".join(shown).rstrip("\n").split("\n")


def users_frames(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without frames of Epochal, PySpark and the libraries below; unchanged if no other frame is left."""
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
