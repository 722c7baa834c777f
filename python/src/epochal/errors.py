"""The exceptions of Epochal, and functions that find them inside Spark's.

    EpochalError
    ├── ConfigurationError            the configuration is invalid; nothing was started
    │   ├── SessionWithoutJarError    the session runs without Epochal's jar
    │   ├── VersionMismatchError      the jar, the Python package and Spark do not fit together
    │   ├── ConnectUnsupportedError   needs the driver's JVM, which a Connect client cannot access
    │   ├── OptionError               an option is unknown, missing, invalid, not allowed here, or excludes another one
    │   ├── SchemaError               a schema is missing, cannot be parsed, or is not allowed
    │   └── ModeError                 the format does not support the trigger or output mode
    ├── CheckpointError               a checkpoint is missing, unreadable, or of another source
    ├── RepairError                   a repair of a checkpoint or a ledger was refused; nothing was changed
    ├── ServerError                   the server of a source or a sink
    │   ├── HttpError                 the API cannot be reached, is too slow, or responds with an error
    │   └── DatabaseError             the database cannot be reached, or reports an error
    ├── SourceError                   a source could not deliver its rows
    │   ├── DataLossError             rows between two offsets are no longer in the source
    │   └── RecordError               the API's response does not fit the schema or the pagination
    └── SinkError                     a sink could not commit an epoch
        ├── TableError                the table, its columns, types or keys do not fit the query
        ├── RowError                  a row cannot be stored or sent, is rejected, or ignored
        ├── EpochError                the ledger does not expect this epoch
        │   ├── EpochGapError         epochs before it are missing
        │   ├── EpochRegressedError   later ones are already committed
        │   └── EpochChangedError     it was committed with other offsets or rows, or started with other requests
        ├── SinkIdentityError         another query, table or ledger than the sink's
        └── SinkFencedError           a newer run has taken the sink over

Each has a ``condition`` (a stable name such as ``EPOCH_GAP``), ``problem`` and ``hint``.

``epochal.configure``, and every function that takes a session, a DataFrame or a query, makes PySpark raise them on
classic and Connect sessions, also from plain calls (``spark.read.format("epochal-rest").load()``,
``query.awaitTermination()``). Such an error is also an instance of the class that PySpark would have raised
(``AnalysisException``, ``StreamingQueryException`` …); ``original`` is PySpark's exception. Scripts and notebooks show
the message and the frames of your own code; ``EPOCHAL_TRACEBACK=full`` shows every frame.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from types import TracebackType
from typing import Final

from epochal import _calls, _errors, _references
from epochal._declarations import FORMS
from epochal._errors import *

__all__ = ["from_spark", "named"]
__all__ += _errors.__all__

__dir__ = sorted(__all__).copy


_TEXTS: Final[Mapping[str, Mapping[str, str]]] = json.loads(
    files("epochal").joinpath("conditions.json").read_text("utf-8")
)
#: The class of each condition, of the jar and of this package.
_TYPES: Final[Mapping[str, type[EpochalError]]] = {
    name: getattr(_errors, texts["python"]) for name, texts in _TEXTS.items()
} | {"SESSION_WITHOUT_JAR": SessionWithoutJarError, "VERSION_MISMATCH": VersionMismatchError}

_MESSAGE = re.compile(r"\[EPOCHAL\.([A-Z_]+)\] (.*?) Hint: ([^\n]*)", re.DOTALL)
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")
_NOT_FOUND = re.compile(r"\[DATA_SOURCE_NOT_FOUND\][^\n]*?\b(epochal-[\w-]*)")
#: The formats that the jar registers.
_FORMATS = sorted({form.format.removesuffix(" sink") for form in FORMS.values()} | {"epochal-display"})
#: If the jar is only an artifact of the session, the driver of a Connect server cannot load objects of the tasks.
_CLASS_NOT_FOUND = re.compile(
    r"(?:ClassNotFoundException|NoClassDefFoundError): io[./]epochal[./]"
    r"|ClassNotFound with classloader(?=.*\bepochal-)",
    re.DOTALL,
)
_MICRO_BATCHES = 'Use micro-batches, as trigger="1 second" (.trigger(processingTime="1 second")).'

#: Problem and hint in place of Spark's errors about triggers that it does not support for a query.
_OF_REAL_TIME = {
    "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED": (
        "The checkpoint was begun in micro-batches with state format v1, which Spark does not support in real time",
        'First run the query once with trigger="availableNow": records that epochal-ingest has acknowledged are in '
        "this checkpoint alone. Then start it in real time with a new checkpoint. To be able to switch a query later, "
        "start it with "
        "spark.conf.set('spark.sql.streaming.stateStore.checkpointFormatVersion', '2').",
    ),
    "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST": (
        "Spark's list of allowed sinks and operators in real time has only its own ones",
        'Start the query with a helper, as epochal.write.jdbc(…, trigger="realTime"), or before the start '
        "spark.conf.set('spark.sql.streaming.realTimeMode.allowlistCheck', 'false').",
    ),
    "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED": (
        "A source of the query cannot be read in real time",
        _MICRO_BATCHES,
    ),
}

#: In a query's plan: a source or sink of the jar.
_OURS = re.compile(rf"io\.epochal\.|(?<![\w/])(?:{'|'.join(_FORMATS)})\b")
#: Two runs of a query have logged the same epoch.
_LOGGED_TWICE = re.compile(r"\[CONCURRENT_STREAM_LOG_UPDATE\][^\n]* detected for (\d+)")
_REAL_TIME = re.compile(r"\[(STREAMING_REAL_TIME_MODE\.\w+)\]")
#: Errors without a condition name.
_CONTINUOUS_SOURCE = re.compile(r"Data source ([\w-]+) does not support continuous processing")
_CONTINUOUS_OPERATOR = re.compile(r"Continuous processing does not support (\w+) operations")
_OPERATORS = {
    "Aggregate": "an aggregation",
    "StreamingRelation": "a source such as files",
    "Deduplicate": "dropDuplicates",
}


def from_spark(exc: BaseException | None) -> EpochalError | None:
    """Epochal's error inside an exception of Spark; None if there is none.

    Accepts any exception of PySpark (``StreamingQueryException``, ``Py4JJavaError``, ``IllegalArgumentException`` …),
    of a classic or Connect session, and the result of ``query.exception()``. An unknown condition becomes a plain
    ``EpochalError`` with that condition.
    """
    chain = [*_chain(exc)]
    error = next(filter(None, (one if isinstance(one, EpochalError) else _in_message(one) for one in chain)), None)
    if error is None or error is exc:
        return error
    markup = next(filter(None, map(_markup, chain)), None)
    if markup and (calls := _calls.of_message("\n".join(map(str, chain))) or _calls.of_action()):
        error = _of(markup, calls) or error
    error._markup = markup
    error.original = error.original or exc
    return error


def _of_condition(name: str, **values: object) -> EpochalError:
    """An error of the jar's that this package finds itself; options are written as the caller's arguments.

    Args:
        values: of the placeholders in its texts.
    """

    def text(key: str) -> str:
        template = _references.in_python(_TEXTS[name][key], _calls.of_message(""))
        return re.sub(r"<(\w+)>", lambda match: str(values[match[1]]), template)

    return _TYPES[name](name, text("problem"), text("hint"))


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes."""
    ids = set[int]()
    while exc is not None and id(exc) not in ids:
        ids.add(id(exc))
        yield exc
        exc = exc.__cause__ or getattr(exc, "_cause", None) or exc.__context__


def _markup(exc: BaseException) -> str | None:
    """The jar's message with references to options, which is a message parameter."""
    if isinstance(markup := getattr(exc, "_markup", None), str):
        return markup
    try:
        parameters = exc.getMessageParameters()  # type: ignore[attr-defined]
        return (parameters or {}).get("markup")
    except Exception:  # not an exception of PySpark, or its JVM has ended
        return None


def _of(text: str, calls: Sequence[_calls.Call] = ()) -> EpochalError | None:
    """Parses an error in a text.

    Args:
        calls: calls of helpers; options are written as their arguments.
    """
    match = _MESSAGE.search(text)
    if match is None:
        return None
    condition, problem, hint = match.groups()
    kind = _TYPES.get(condition, EpochalError)
    is_of_source = issubclass(kind, SourceError | HttpError | CheckpointError)
    calls = sorted(calls, key=lambda call: call.form.is_source != is_of_source)
    problem, hint = (_references.in_python(part, calls) for part in (problem, _SQLSTATE.sub("", hint).rstrip()))
    return kind(condition, problem, hint)


def _in_message(exc: BaseException) -> EpochalError | None:
    message = str(exc)
    if error := _of(message):
        return error
    if match := _NOT_FOUND.search(message):
        if match[1] not in _FORMATS:
            return _no_format(match[1])
        return SessionWithoutJarError.behind(exc)
    if _CLASS_NOT_FOUND.search(message):
        return SessionWithoutJarError.of_server()
    return _of_engine(message, bool(_calls.of_message(message)))


def _of_engine(message: str, helping: bool) -> EpochalError | None:
    """Spark's error about a trigger or a second driver, rewritten, if the query has Epochal's sources or sinks.

    Args:
        helping: whether a helper started the query; otherwise the message must mention Epochal.
    """
    if not helping and not _OURS.search(message):
        return None
    if match := _LOGGED_TWICE.search(message):
        problem = f"Another run has logged epoch {match[1]} in the checkpoint."
        hint = "Two drivers run this query on one checkpoint: stop one of them, and start the other again."
        return SinkFencedError("EPOCH_LOGGED_BY_OTHER", f"{problem} The ledger knows whether it was committed.", hint)
    hint = _MICRO_BATCHES
    if (match := _REAL_TIME.search(message)) and match[1] in _OF_REAL_TIME:
        problem, hint = _OF_REAL_TIME[match[1]]
        problem = f"{problem} ({match[1]})."
    elif match := _CONTINUOUS_SOURCE.search(message):
        problem = f"Source {match[1]} cannot be read under the continuous trigger."
    elif match := _CONTINUOUS_OPERATOR.search(message):
        what = _OPERATORS.get(match[1], "an operation of the query")
        problem = f"Spark does not run {what} under the continuous trigger ({match[1]})."
    else:
        return None
    return ModeError("MODE_UNSUPPORTED", problem, hint)


def _no_format(name: str) -> OptionError:
    close = difflib.get_close_matches(
        name.removeprefix("epochal-"), [known[len("epochal-") :] for known in _FORMATS], 1
    )
    return OptionError(
        "OPTION_INVALID",
        f"There is no format '{name}'.",
        f"Did you mean 'epochal-{close[0]}'?" if close else f"The formats are {', '.join(_FORMATS)}.",
    )


def named() -> AbstractContextManager[None]:
    """Raises Epochal's error in place of Spark's, which is kept as ``original``.

    ``epochal.configure`` has the same effect on all exceptions of PySpark; this is for exceptions from other code.

    >>> with epochal.errors.named():  # doctest: +SKIP
    ...     query.awaitTermination()
    """
    return _Named()


class _Named(AbstractContextManager[None]):
    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, Exception) and not isinstance(exc, EpochalError):
            error = from_spark(exc)
            if error is not None:
                raise error from None
