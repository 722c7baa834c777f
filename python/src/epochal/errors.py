"""The exceptions of Epochal, and how they are found inside Spark's.

::

    EpochalError
    ├── ConfigurationError            what was asked for cannot be; nothing was started
    │   ├── SessionWithoutJarError    the session runs without Epochal's jar
    │   ├── VersionMismatchError      the jar and the Python package, or Spark, do not fit each other
    │   ├── ConnectUnsupportedError   needs the driver's JVM, which a Connect client does not have
    │   ├── OptionError               an option is unknown, missing, wrong, not allowed here, or excludes another one
    │   ├── SchemaError               no schema, one that cannot be read, or one that is not wanted
    │   └── ModeError                 a trigger or an output mode that the format does not have
    ├── CheckpointError               there is no checkpoint, or its offsets belong to something else
    ├── RepairError                   a repair of a checkpoint or a ledger was refused; nothing was changed
    ├── ServerError                   the server of a source or a sink
    │   ├── HttpError                 the API cannot be reached, is too slow, or says no
    │   └── DatabaseError             the database cannot be reached, says no, or failed
    ├── SourceError                   what the source reads
    │   ├── DataLossError             rows that were promised are gone from the source
    │   └── RecordError               the API's response does not fit the schema or the pagination
    └── SinkError                     what the sink writes
        ├── TableError                the table, its columns, types or keys do not fit the query
        ├── RowError                  a row cannot be stored or sent, is refused, or swallowed
        ├── EpochError                the ledger does not expect this epoch
        │   ├── EpochGapError         epochs before it are missing
        │   ├── EpochRegressedError   later ones were committed already
        │   └── EpochChangedError     it was committed with other offsets or rows, or begun otherwise
        ├── SinkIdentityError         another query, table or ledger than the sink's
        └── SinkFencedError           a newer run has taken the sink over

Every one of them has ``condition`` (a stable name such as ``EPOCH_GAP``), ``problem`` and ``hint``.

``epochal.configure``, and every function that takes a session, a DataFrame or a query, makes PySpark raise them, on
classic and on Connect sessions, from plain calls too (``spark.read.format("epochal-rest").load()``,
``query.awaitTermination()``). Such an error is also of the class that PySpark would have raised
(``AnalysisException``, ``StreamingQueryException`` …), which is kept as ``original``. A script and a notebook show the
frames of your own code and the message; ``EPOCHAL_TRACEBACK=full`` shows every frame.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Final

from epochal import _errors, _references, _spark_says
from epochal._errors import *

__all__ = ["from_spark", "named"]
__all__ += _errors.__all__


def __dir__() -> list[str]:
    return sorted(__all__)


#: By condition, of the jar's and of this package's own.
_TYPES: Final[Mapping[str, type[EpochalError]]] = {
    name: getattr(_errors, texts["python"])
    for name, texts in json.loads(Path(__file__).with_name("conditions.json").read_text("utf-8")).items()
} | {"SESSION_WITHOUT_JAR": SessionWithoutJarError, "VERSION_MISMATCH": VersionMismatchError}

_MESSAGE = re.compile(r"\[EPOCHAL\.([A-Z_]+)\] (.*?) Hint: ([^\n]*)", re.DOTALL)
_NOT_FOUND = re.compile(r"\[DATA_SOURCE_NOT_FOUND\][^\n]*?\b(epochal-[\w-]*)")
#: What the jar registers.
_FORMATS = ("epochal-checkpoint", "epochal-display", "epochal-ingest", "epochal-jdbc", "epochal-random", "epochal-rest")
#: The driver of a Connect server cannot load what tasks send it when the jar is only an artifact of the session.
_CLASS_NOT_FOUND = re.compile(
    r"(?:ClassNotFoundException|NoClassDefFoundError): io[./]epochal[./]"
    r"|ClassNotFound with classloader(?=.*\bepochal-)",
    re.DOTALL,
)
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")


def from_spark(exc: BaseException | None) -> EpochalError | None:
    """Epochal's error inside an exception of Spark's, or None when there is none.

    Takes whatever pyspark raises (``StreamingQueryException``, ``Py4JJavaError``, ``IllegalArgumentException`` …), on a
    classic or a Connect session, as well as ``query.exception()``. A condition that this release does not know gives a
    plain ``EpochalError`` with that condition.
    """
    chain = [*_chain(exc)]
    found = next(filter(None, (one if isinstance(one, EpochalError) else _in_message(one) for one in chain)), None)
    if found is None or found is exc:
        return found
    markup = next(filter(None, map(_markup, chain)), None)
    calls = _references.calls("\n".join(map(str, chain)))
    if markup and calls:
        found = _of(markup, calls) or found
    found._markup = markup
    found.original = found.original or exc
    return found


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes."""
    seen = set[int]()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or getattr(exc, "_cause", None) or exc.__context__


def _markup(exc: BaseException) -> str | None:
    """The jar's message with references to options, which comes as a parameter of the message."""
    if isinstance(markup := getattr(exc, "_markup", None), str):
        return markup
    try:
        parameters = exc.getMessageParameters()  # type: ignore[attr-defined]
        return (parameters or {}).get("markup")
    except Exception:  # no exception of PySpark's, or one whose JVM has gone
        return None


def _of(text: str, calls: Sequence[_references.Call] = ()) -> EpochalError | None:
    """The error that a text has.

    Args:
        calls: of helpers whose arguments its options are.
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
    if found := _of(message):
        return found
    if match := _NOT_FOUND.search(message):
        if match[1] not in _FORMATS:
            return _no_format(match[1])
        remote = "connect" in type(exc).__module__.split(".")
        return SessionWithoutJarError.of_server() if remote else SessionWithoutJarError.told()
    if _CLASS_NOT_FOUND.search(message):
        return SessionWithoutJarError.of_server()
    if said := _spark_says.of(message, bool(_references.calls(message))):
        return ModeError("MODE_UNSUPPORTED", *said)
    return None


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
    """Raises Epochal's own error in place of Spark's, which is kept as ``original``.

    ``epochal.configure`` does the same to what PySpark raises; this is for exceptions that came another way.

    >>> with epochal.errors.named():  # doctest: +SKIP
    ...     query.awaitTermination()
    """
    return _Named()


class _Named(AbstractContextManager[None]):
    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(exc, Exception) and not isinstance(exc, EpochalError):
            found = from_spark(exc)
            if found is not None:
                raise found from None
