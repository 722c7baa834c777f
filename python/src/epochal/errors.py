"""The exceptions of Epochal, and how they are found inside Spark's.

::

    EpochalError
    ├── ConfigurationError            what was asked for cannot be; nothing was started
    │   ├── SessionWithoutJarError    the session runs without Epochal's jar
    │   ├── VersionMismatchError      the jar and the Python package are of different releases
    │   ├── ConnectUnsupportedError   needs the driver's JVM, which a Connect client does not have
    │   ├── OptionError               an option is unknown, missing, wrong, or excludes another one
    │   ├── SchemaError               no schema, one that cannot be read, or one that is not wanted
    │   └── ModeError                 a trigger or an output mode that the format does not have
    ├── CheckpointError               the checkpoint's offsets belong to something else
    ├── SourceError
    │   ├── DataLossError             rows that were promised are gone from the source
    │   ├── HttpError                 the API cannot be reached, is too slow, or says no
    │   └── RecordError               the API's answer does not fit the schema or the pagination
    └── SinkError
        ├── DatabaseError             the database cannot be reached or failed
        ├── TableError                the table, its columns, types or keys do not fit the query
        ├── RowError                  a row cannot be stored or sent, is refused, or swallowed
        ├── EpochError                the ledger does not expect this epoch
        │   ├── EpochGapError         epochs before it are missing
        │   ├── EpochRegressedError   later ones were committed already
        │   └── EpochChangedError     it was committed with other offsets or rows, or begun otherwise
        ├── SinkIdentityError         another query, table or ledger than the sink's
        └── SinkFencedError           a newer run has taken the sink over

Every one of them has ``condition`` (a stable name such as ``EPOCH_GAP``), ``problem`` and ``hint``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

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
    "RowError",
    "SchemaError",
    "SessionWithoutJarError",
    "SinkError",
    "SinkFencedError",
    "SinkIdentityError",
    "SourceError",
    "TableError",
    "VersionMismatchError",
    "from_spark",
    "named",
]


class EpochalError(Exception):
    """Whatever Epochal reports on purpose.

    Attributes:
        condition: stable upper-case name of what happened, part of the public contract.
        problem: what went wrong, with the real values; never a secret.
        hint: what can be done about it.
    """

    def __init__(self, condition: str, problem: str, hint: str = "") -> None:
        super().__init__(condition, problem, hint)
        self.condition = condition
        self.problem = problem
        self.hint = hint

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
            "This process's JVM already runs without Epochal's jar, and cannot take it any more.",
            "Call epochal.configure before the first session of this process, or start Spark with the jar: "
            f"spark-submit --jars epochal-spark_{SCALA}-{VERSION}.jar. In a notebook, restart the kernel first.",
        )


class VersionMismatchError(ConfigurationError):
    """The jar and the Python package are of different releases."""


class ConnectUnsupportedError(ConfigurationError):
    """The call asks the driver's JVM, which a Spark Connect client does not have."""


class OptionError(ConfigurationError):
    """An option is unknown, missing, wrong, or excludes another one."""


class SchemaError(ConfigurationError):
    """No schema where one is needed, one that cannot be read, or one that is not wanted."""


class ModeError(ConfigurationError):
    """A trigger or an output mode that the format does not have."""


class CheckpointError(EpochalError):
    """The checkpoint's offsets cannot be read, belong to another source, or its journal cannot be written."""


class SourceError(EpochalError):
    """A source could not deliver."""


class DataLossError(SourceError):
    """Rows between two offsets are gone from the source."""


class HttpError(SourceError):
    """The API cannot be reached, is too slow, answers with an error, or with too much."""


class RecordError(SourceError):
    """The API's answer has no records where they were looked for, or they do not fit the schema or the pagination."""


class SinkError(EpochalError):
    """A sink could not commit. Nothing of the epoch was written, but after ``COMMIT_UNKNOWN`` it may have been."""


class DatabaseError(SinkError):
    """The database cannot be reached, has no driver here, or failed."""


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


_TYPES: dict[str, type[EpochalError]] = {
    "UNKNOWN_OPTION": OptionError,
    "OPTION_REQUIRED": OptionError,
    "OPTION_INVALID": OptionError,
    "OPTIONS_CONFLICT": OptionError,
    "SCHEMA_REQUIRED": SchemaError,
    "SCHEMA_NOT_INFERRED": SchemaError,
    "SCHEMA_CHANGED": SchemaError,
    "SCHEMA_INVALID": SchemaError,
    "SCHEMA_MISMATCH": SchemaError,
    "SCHEMA_UNSUPPORTED": SchemaError,
    "TRIGGER_UNSUPPORTED": ModeError,
    "MODE_UNSUPPORTED": ModeError,
    "OFFSET_VERSION": CheckpointError,
    "OFFSET_INVALID": CheckpointError,
    "OFFSET_SOURCE_CHANGED": CheckpointError,
    "DATA_LOSS": DataLossError,
    "HTTP_UNREACHABLE": HttpError,
    "HTTP_TIMEOUT": HttpError,
    "HTTP_STATUS": HttpError,
    "OAUTH_REFUSED": HttpError,
    "HTTP_RESPONSE_TOO_LARGE": HttpError,
    "HTTP_BODY_INVALID": HttpError,
    "RESPONSE_NOT_KEPT": HttpError,
    "PAGINATION_MISMATCH": RecordError,
    "PAGINATION_LOOP": RecordError,
    "CONTINUATION_MISSING": RecordError,
    "LIST_INCOMPLETE": RecordError,
    "LIST_SHIFTED": DataLossError,
    "TOO_MANY_PAGES": RecordError,
    "LINK_REFUSED": RecordError,
    "JOURNAL_UNWRITABLE": CheckpointError,
    "RECORDS_NOT_FOUND": RecordError,
    "CSV_HEADER_MISMATCH": RecordError,
    "RECORD_INVALID": RecordError,
    "DATABASE_UNREACHABLE": DatabaseError,
    "DATABASE_ERROR": DatabaseError,
    "SECRET_UNREADABLE": OptionError,
    "TLS_INVALID": OptionError,
    "SIGNER_INVALID": OptionError,
    "DRIVER_MISSING": DatabaseError,
    "COMMIT_UNKNOWN": DatabaseError,
    "TABLE_MISSING": TableError,
    "COLUMN_MISSING": TableError,
    "COLUMN_REQUIRED": TableError,
    "COLUMN_TYPE_MISMATCH": TableError,
    "TYPE_UNSUPPORTED": TableError,
    "KEY_COLUMNS_REQUIRED": TableError,
    "KEY_NOT_UNIQUE": TableError,
    "DUPLICATE_KEYS": RowError,
    "BAD_ROW": RowError,
    "TOO_MANY_BAD_ROWS": RowError,
    "ROWS_DROPPED": RowError,
    "STAGING_LOST": RowError,
    "ROW_REFUSED": RowError,
    "TOO_MANY_REFUSED_ROWS": RowError,
    "RESULTS_INVALID": RowError,
    "ORDER_NOT_REPEATABLE": ModeError,
    "EPOCH_DEALT_ANEW": EpochChangedError,
    "DEAD_LETTERS_UNWRITABLE": OptionError,
    "MESSAGE_CORRUPTED": RowError,
    "EPOCH_TOO_LARGE": EpochError,
    "EPOCH_GAP": EpochGapError,
    "EPOCH_REGRESSED": EpochRegressedError,
    "EPOCH_RANGE_CHANGED": EpochChangedError,
    "EPOCH_CONTENT_CHANGED": EpochChangedError,
    "NEW_QUERY": SinkIdentityError,
    "LEDGER_EMPTY": SinkIdentityError,
    "TARGET_SHARED": SinkIdentityError,
    "TARGET_CHANGED": SinkIdentityError,
    "TRIGGER_CHANGED": SinkIdentityError,
    "SINK_FENCED": SinkFencedError,
    "LEDGER_VERSION": SinkIdentityError,
    "QUERY_UNKNOWN": SinkError,
    "SESSION_WITHOUT_JAR": SessionWithoutJarError,
    "VERSION_MISMATCH": VersionMismatchError,
}

_MESSAGE = re.compile(r"\[EPOCHAL\.([A-Z_]+)\] (.*?) Hint: ([^\n]*)", re.DOTALL)
_NOT_FOUND = re.compile(r"\[DATA_SOURCE_NOT_FOUND\][^\n]*\bepochal-")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")


def from_spark(exc: BaseException | None) -> EpochalError | None:
    """Epochal's error inside an exception of Spark's, or None when there is none.

    Takes whatever pyspark raises (``StreamingQueryException``, ``Py4JJavaError``, ``IllegalArgumentException`` …), on a
    classic or a Connect session, as well as ``query.exception()``. A condition that this release does not know gives a
    plain ``EpochalError`` with that condition.
    """
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        if isinstance(exc, EpochalError):
            return exc
        if match := _MESSAGE.search(str(exc)):
            condition, problem, hint = match.groups()
            kind = _TYPES.get(condition, EpochalError)
            return kind(condition, problem, _SQLSTATE.sub("", hint).rstrip())
        if _NOT_FOUND.search(str(exc)):
            return SessionWithoutJarError.told()
        exc = exc.__cause__ or getattr(exc, "_cause", None) or exc.__context__
    return None


@contextmanager
def named() -> Iterator[None]:
    """Raises Epochal's own error in place of Spark's, which stays its cause.

    >>> with epochal.errors.named():  # doctest: +SKIP
    ...     query.awaitTermination()
    """
    try:
        yield
    except EpochalError:
        raise
    except Exception as exc:
        found = from_spark(exc)
        if found is None:
            raise
        raise found from exc
