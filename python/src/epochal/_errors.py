"""The classes of ``epochal.errors``, which everything else may raise."""

from __future__ import annotations

from typing import Any

from epochal import _traceback
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

#: Where users import the classes from, as a traceback and a pickle name it.
_MODULE = "epochal.errors"


class EpochalError(Exception):
    """Whatever Epochal reports on purpose.

    Attributes:
        condition: stable upper-case name of what happened, part of the public contract.
        problem: what went wrong, with the real values; never a secret.
        hint: what can be done about it.
        original: Spark's exception that it was found in, if there was one.
    """

    original: BaseException | None = None
    #: The jar's text with references to options.
    _markup: str | None = None

    def __init__(self, condition: str, problem: str, hint: str = "") -> None:
        Exception.__init__(self, condition, problem, hint)  # a subclass may be one of PySpark's classes, too
        self.condition = condition
        self.problem = problem
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return own_kind(type(self)), (self.condition, self.problem, self.hint)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback with the source code around every frame."""
        return _traceback.lines(self)

    def __str__(self) -> str:
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"[EPOCHAL.{self.condition}] {self.problem}{hint}"


class ConfigurationError(EpochalError):
    """What was asked for cannot be; nothing was started."""


class SessionWithoutJarError(ConfigurationError):
    """The Spark session, or the JVM behind it, already runs without Epochal's jar."""

    @classmethod
    def told(cls) -> SessionWithoutJarError:
        """With what to do about it."""
        return cls(
            "SESSION_WITHOUT_JAR",
            "This process's JVM already runs without Epochal's jar, and the jar cannot be added any more.",
            "Call epochal.configure before the first session of this process, or start Spark with the jar: "
            f"spark-submit --jars epochal-spark_{SCALA}-{VERSION}.jar. In a notebook, restart the kernel first.",
        )

    @classmethod
    def of_server(cls) -> SessionWithoutJarError:
        """The same, of a Spark Connect server."""
        return cls(
            "SESSION_WITHOUT_JAR",
            "The Spark Connect server runs without Epochal's jar.",
            f"Start the server with it: start-connect-server.sh --jars epochal-spark_{SCALA}-{VERSION}.jar "
            "(epochal.jar_path() gives the file). spark.addArtifacts is not enough.",
        )


class VersionMismatchError(ConfigurationError):
    """The jar and the Python package are of different releases, or Spark is of one that Epochal does not run on."""


class ConnectUnsupportedError(ConfigurationError):
    """The call asks the driver's JVM, which a Spark Connect client does not have."""


class OptionError(ConfigurationError):
    """An option is unknown, missing, wrong, not allowed on this driver, or excludes another one."""


class SchemaError(ConfigurationError):
    """No schema where one is needed, one that cannot be read, or one that is not wanted."""


class ModeError(ConfigurationError):
    """A trigger or an output mode that the format does not have."""


class CheckpointError(EpochalError):
    """There is no checkpoint; its offsets cannot be read or belong to another source; its journal cannot be written."""


class RepairError(EpochalError):
    """A repair of a checkpoint or a ledger was refused: the query seems to run, or it could not go on afterwards.

    Nothing was changed.
    """


class ServerError(EpochalError):
    """The server that a source reads from, or a sink writes to, cannot be reached, says no, or failed."""


class HttpError(ServerError):
    """The API cannot be reached, is too slow, responds with an error, or with too much."""


class DatabaseError(ServerError):
    """The database cannot be reached, has no driver here, or failed.

    Nothing of the epoch was written, but after ``COMMIT_UNKNOWN`` it may have been.
    """


class SourceError(EpochalError):
    """A source could not deliver what it reads."""


class DataLossError(SourceError):
    """Rows between two offsets are gone from the source."""


class RecordError(SourceError):
    """The API's response has no records where they should be, or they do not fit the schema or the pagination."""


class SinkError(EpochalError):
    """A sink could not commit what it was given. Nothing of the epoch was written."""


class TableError(SinkError):
    """The table, its columns, their types or its keys do not fit the query."""


class RowError(SinkError):
    """A row cannot be stored or sent, has no unique key, is refused by the API, or was swallowed by the database."""


class EpochError(SinkError):
    """The ledger does not expect this epoch, or it cannot be carried."""


class EpochGapError(EpochError):
    """Epochs before this one are missing in the ledger: the database went back in time."""


class EpochRegressedError(EpochError):
    """The ledger has later epochs already: the checkpoint went back in time."""


class EpochChangedError(EpochError):
    """The epoch was committed before with other source offsets or other rows, or begun with other requests."""


class SinkIdentityError(SinkError):
    """Another query, another table, another trigger or another ledger than the sink's own."""


class SinkFencedError(SinkError):
    """A newer run of the same query has taken the sink over."""


def own_kind(kind: type[EpochalError]) -> type[EpochalError]:
    """The class of this module behind one that is PySpark's, too."""
    return next(
        base for base in kind.__mro__ if vars(base).get("__module__") == _MODULE and "_sparks" not in vars(base)
    )


for _kind in [kind for kind in vars().values() if isinstance(kind, type) and issubclass(kind, EpochalError)]:
    _kind.__module__ = _MODULE
