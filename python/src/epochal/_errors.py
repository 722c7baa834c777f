"""The classes of ``epochal.errors`` with their short tracebacks, in a module that every other one can import."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from epochal._version import SCALA, VERSION

__all__ = [
    "CheckpointError",
    "ConfigurationError",
    "ConnectUnsupportedError",
    "DataLossError",
    "DatabaseError",
    "EpochChangedError",
    "EpochError",
    "EpochGapError",
    "EpochRegressedError",
    "EpochalError",
    "HttpError",
    "ModeError",
    "OptionError",
    "RecordError",
    "RepairError",
    "RowError",
    "SchemaError",
    "ServerError",
    "SessionWithoutJarError",
    "SinkError",
    "SinkFencedError",
    "SinkIdentityError",
    "SourceError",
    "TableError",
    "VersionMismatchError",
]

#: The public module of the classes, as tracebacks and pickles name it.
_MODULE = "epochal.errors"
#: Files whose frames a short traceback leaves out: those of this package and of these libraries.
_HERE = str(Path(__file__).resolve().parent) + os.sep
_LIBRARIES = ("pyspark", "py4j", "grpc", "IPython", "ipykernel")


class EpochalError(Exception):
    """Base class of all errors of Epochal.

    Attributes:
        condition: stable upper-case name of the error, part of the public contract.
        problem: what happened, with the values; never a secret.
        hint: how to correct it.
        original: Spark's exception, if the error was raised through Spark.
    """

    original: BaseException | None = None
    #: The jar's message with references to options.
    _markup: str | None = None

    def __init__(self, condition: str, problem: str, hint: str = "") -> None:
        Exception.__init__(self, condition, problem, hint)  # a subclass may also derive from one of PySpark's classes
        self.condition = condition
        # A reason of a driver or the system ends in a point, and so does the sentence around it.
        self.problem = re.sub(r"(?<!\.)\.\.$", ".", problem)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return own_kind(type(self)), (self.condition, self.problem, self.hint)

    def _render_traceback_(self) -> list[str]:
        """Replaces IPython's traceback, which shows the source code around every frame."""
        return short_traceback(self)

    def __str__(self) -> str:
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"[EPOCHAL.{self.condition}] {self.problem}{hint}"


class UnknownArgumentError(TypeError):
    """A ``TypeError`` of a call, and printed as one: its traceback ends at the call, as Python's own does."""

    def __reduce__(self) -> tuple[Any, ...]:
        return TypeError, self.args

    def _render_traceback_(self) -> list[str]:
        return short_traceback(self)


UnknownArgumentError.__module__, UnknownArgumentError.__qualname__ = "builtins", "TypeError"


class ConfigurationError(EpochalError):
    """The configuration is invalid. Nothing was started."""


class SessionWithoutJarError(ConfigurationError):
    """The Spark session, or its JVM, already runs without Epochal's jar."""

    @classmethod
    def of_process(cls) -> SessionWithoutJarError:
        """The error for the JVM of this process."""
        return cls(
            "SESSION_WITHOUT_JAR",
            "This process's JVM already runs without Epochal's jar, and the jar can no longer be added.",
            "Call epochal.configure before the first session of this process, or start Spark with the jar: "
            f"spark-submit --jars epochal-spark_{SCALA}-{VERSION}.jar. In a notebook, restart the kernel first.",
        )

    @classmethod
    def of_server(cls) -> SessionWithoutJarError:
        """The error for a Spark Connect server."""
        return cls(
            "SESSION_WITHOUT_JAR",
            "The Spark Connect server runs without Epochal's jar.",
            f"Start the server with it: start-connect-server.sh --jars epochal-spark_{SCALA}-{VERSION}.jar "
            "(epochal.jar_path() returns the file). spark.addArtifacts is not enough.",
        )

    @classmethod
    def behind(cls, error: BaseException) -> SessionWithoutJarError:
        """The error for the process or the server that raised another one."""
        return cls.of_server() if "connect" in type(error).__module__.split(".") else cls.of_process()


class VersionMismatchError(ConfigurationError):
    """The jar and the Python package are of different releases, or the version of Spark is not supported."""


class ConnectUnsupportedError(ConfigurationError):
    """The call needs the driver's JVM, which a Spark Connect client cannot access."""


class OptionError(ConfigurationError):
    """An option is unknown, missing, invalid, not allowed on this driver, or excludes another one."""


class SchemaError(ConfigurationError):
    """A schema is missing, cannot be parsed, or is not allowed."""


class ModeError(ConfigurationError):
    """The format does not support the trigger or output mode."""


class CheckpointError(EpochalError):
    """The checkpoint is missing, its offsets cannot be read or belong to another source, or its journal fails."""


class RepairError(EpochalError):
    """A repair of a checkpoint or a ledger was refused: the query seems to run, or could not resume afterwards.

    Nothing was changed.
    """


class ServerError(EpochalError):
    """The server of a source or sink cannot be reached, or responds with an error."""


class HttpError(ServerError):
    """The API cannot be reached, is too slow, or responds with an error or too many bytes."""


class DatabaseError(ServerError):
    """The database cannot be reached, its driver is missing, or it reports an error.

    The epoch was not written. After ``COMMIT_UNKNOWN`` it may have been.
    """


class SourceError(EpochalError):
    """A source could not deliver its rows."""


class DataLossError(SourceError):
    """Rows between two offsets are no longer in the source."""


class RecordError(SourceError):
    """The records of an API are missing in a response, or do not fit the schema or the pagination."""


class SinkError(EpochalError):
    """A sink could not commit an epoch. None of its rows were written."""


class TableError(SinkError):
    """The table, its columns, their types or its keys do not fit the query."""


class RowError(SinkError):
    """A row cannot be stored or sent, has no unique key, is rejected by the API, or is ignored by the database."""


class EpochError(SinkError):
    """The ledger does not expect this epoch, or its rows cannot be transported."""


class EpochGapError(EpochError):
    """Epochs before this one are missing in the ledger, as after a restore of the database."""


class EpochRegressedError(EpochError):
    """The ledger already has later epochs, as after a restore of the checkpoint."""


class EpochChangedError(EpochError):
    """The epoch was already committed with other offsets or rows, or started with other requests."""


class SinkIdentityError(SinkError):
    """The ledger belongs to another query, table or trigger, or is not the sink's."""


class SinkFencedError(SinkError):
    """A newer run of the same query has taken over the sink."""


def own_kind(kind: type[EpochalError]) -> type[EpochalError]:
    """The class of this module behind a class that also derives from one of PySpark's."""
    return next(
        base for base in kind.__mro__ if vars(base).get("__module__") == _MODULE and "_sparks" not in vars(base)
    )


def short_traceback(error: BaseException) -> list[str]:
    """The lines of ``traceback.format_exception``, without the libraries' frames."""
    visible = traceback.format_exception(type(error), error, users_frames(error.__traceback__))
    return "".join(visible).rstrip("\n").split("\n")


def users_frames(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without frames of Epochal, PySpark and the libraries below; unchanged if no other frame is left."""
    if os.environ.get("EPOCHAL_TRACEBACK") == "full":
        return tb
    frames: list[TracebackType] = []
    at = tb
    while at is not None:
        if not _is_librarys(at.tb_frame.f_code.co_filename):
            frames.append(at)
        at = at.tb_next
    visible: TracebackType | None = None
    for frame in reversed(frames):
        visible = TracebackType(visible, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return visible or tb


def _is_librarys(file: str) -> bool:
    if file.startswith(_HERE):
        return not file.startswith(os.path.join(_HERE, "tools", "demo"))
    parts = file.replace("\\", "/").split("/")
    return any(library in parts for library in _LIBRARIES)


for _kind in [kind for kind in vars().values() if isinstance(kind, type) and issubclass(kind, EpochalError)]:
    _kind.__module__ = _MODULE
