"""Hooks in this process: PySpark raises Epochal's errors, and scripts and IPython show them with a short traceback.

PySpark converts all exceptions with one function for the JVM and one for Connect servers. The error is also an instance
of the class that PySpark would have raised, so that existing ``except`` clauses still match.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import TracebackType
from typing import Any

from epochal import _calls
from epochal._errors import EpochalError, UnknownArgumentError, own_kind, users_frames
from epochal.errors import from_spark

#: Functions that register formatters with IPython. The package adds those of its tools.
for_ipython: list[Callable[[], None]] = []


@cache
def install() -> None:
    """Called by ``epochal.configure`` and by all functions that take a session, a DataFrame or a query. Only the first
    call has an effect."""
    _convert()
    _shorten()
    if "IPython" in sys.modules:
        for register in for_ipython:
            register()


def _convert() -> None:
    if importlib.util.find_spec("pyspark") is None:
        return
    from pyspark.errors.exceptions import captured

    _wrap(captured)
    if importlib.util.find_spec("grpc") is None:
        return
    from pyspark.errors.exceptions import connect

    _wrap(connect)
    client = sys.modules.get("pyspark.sql.connect.client.core")
    if client is not None:
        vars(client)["convert_exception"] = connect.convert_exception


def _wrap(module: Any) -> None:
    theirs: Callable[..., Exception] | None = getattr(module, "convert_exception", None)
    if theirs is None or hasattr(theirs, "_epochals"):
        return

    @wraps(theirs)
    def convert_exception(*args: Any, **keywords: Any) -> Exception:
        spark_exception = theirs(*args, **keywords)
        try:
            vars(spark_exception).update(_parameters(*args, **keywords))
            found = from_spark(spark_exception) or _calls.failure(spark_exception)
            return spark_exception if found is None else of_both_kinds(found, spark_exception)
        except Exception:  # the original error must not be lost
            return spark_exception

    convert_exception._epochals = True  # type: ignore[attr-defined]
    module.convert_exception = convert_exception


def _parameters(*args: Any, **keywords: Any) -> dict[str, str]:
    """The jar's message with references to options, if a Connect server has sent the whole chain of errors."""
    arguments = (*args, *keywords.values())
    details = next((one for one in arguments if type(one).__name__ == "FetchErrorDetailsResponse"), None)
    parameters = [error.spark_throwable.message_parameters for error in details.errors] if details else []
    found = [one["markup"] for one in parameters if "markup" in one]
    return {"_markup": found[0]} if found else {}


def of_both_kinds(error: EpochalError, spark_error: Exception) -> EpochalError:
    """The error as an instance of both its class and PySpark's, with the attributes of PySpark's exception."""
    kind = _class_of_both(own_kind(type(error)), _base(type(spark_error)))
    both = kind.__new__(kind)
    vars(both).update(vars(spark_error))
    EpochalError.__init__(both, error.condition, error.problem, error.hint)
    both.original = spark_error
    both._markup = error._markup
    return both


def _base(kind: type[Exception]) -> type[Exception]:
    """The base class of an ``UnknownException``, since PySpark would not convert an instance of that class."""
    return kind.__bases__[0] if kind.__name__ == "UnknownException" else kind


_classes: dict[tuple[type[Exception], type[Exception]], type[EpochalError]] = {}


def _class_of_both(ours: type[EpochalError], theirs: type[Exception]) -> type[EpochalError]:
    if (ours, theirs) not in _classes:
        names = {"__module__": ours.__module__, "__qualname__": ours.__qualname__, "__doc__": ours.__doc__}
        _classes[ours, theirs] = type(ours.__name__, (ours, theirs), names | {"_sparks": theirs})
    return _classes[ours, theirs]


def _shorten() -> None:
    """Shortens the tracebacks of Epochal's errors, and of calls with an unknown argument."""
    before = sys.excepthook
    if getattr(before, "_epochals", False):
        return

    def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> Any:
        if not isinstance(error, EpochalError | UnknownArgumentError):
            return before(kind, error, tb)
        whole = error.__traceback__
        visible = users_frames(tb)
        try:
            return before(kind, error.with_traceback(visible), visible)
        finally:
            error.__traceback__ = whole

    hook._epochals = True  # type: ignore[attr-defined]
    sys.excepthook = hook
