"""What Epochal changes in a process, once: what PySpark raises, and how a script and IPython show it.

PySpark has one function for the JVM and one for Connect servers, which every exception goes through. A found error is
also of the class that PySpark would have raised, so that code which catches that one still does.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import TracebackType
from typing import Any

from epochal._errors import EpochalError, own_kind
from epochal._traceback import users_frames
from epochal.errors import from_spark

#: Registers with IPython. The package adds those of its tools, which this module does not know.
for_ipython: list[Callable[[], None]] = []


@cache
def install() -> None:
    """Makes PySpark raise Epochal's errors, an uncaught one end a script with the short traceback, and IPython show a
    query as what it does. Called by ``epochal.configure``, and by what takes a session, a DataFrame or a query; only
    the first call does something."""
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
    def convert_exception(*args: Any, **named: Any) -> Exception:
        converted = theirs(*args, **named)
        try:
            vars(converted).update(_sent(*args, **named))
            found = from_spark(converted)
            return converted if found is None else of_both_kinds(found, converted)
        except Exception:  # the error itself must come through
            return converted

    convert_exception._epochals = True  # type: ignore[attr-defined]
    module.convert_exception = convert_exception


def _sent(*args: Any, **named: Any) -> dict[str, str]:
    """The jar's text with references to options, where a Connect server has sent all errors of a chain."""
    given = (*args, *named.values())
    details = next((one for one in given if type(one).__name__ == "FetchErrorDetailsResponse"), None)
    parameters = [error.spark_throwable.message_parameters for error in details.errors] if details else []
    found = [one["markup"] for one in parameters if "markup" in one]
    return {"_markup": found[0]} if found else {}


def of_both_kinds(found: EpochalError, spark_error: Exception) -> EpochalError:
    """The found error as an exception that is of PySpark's class, too, with all that PySpark knows of it."""
    kind = _class_of_both(own_kind(type(found)), _converted(type(spark_error)))
    both = kind.__new__(kind)
    vars(both).update(vars(spark_error))
    EpochalError.__init__(both, found.condition, found.problem, found.hint)
    both.original = spark_error
    both._markup = found._markup
    return both


def _converted(kind: type[Exception]) -> type[Exception]:
    """PySpark takes an ``UnknownException`` of the JVM for one that it must not convert: its base class is none."""
    return kind.__bases__[0] if kind.__name__ == "UnknownException" else kind


_classes: dict[tuple[type[Exception], type[Exception]], type[EpochalError]] = {}


def _class_of_both(ours: type[EpochalError], theirs: type[Exception]) -> type[EpochalError]:
    if (ours, theirs) not in _classes:
        names = {"__module__": ours.__module__, "__qualname__": ours.__qualname__, "__doc__": ours.__doc__}
        _classes[ours, theirs] = type(ours.__name__, (ours, theirs), names | {"_sparks": theirs})
    return _classes[ours, theirs]


def _shorten() -> None:
    """An exception that is none of Epochal's is shown as before."""
    before = sys.excepthook
    if getattr(before, "_epochals", False):
        return

    def hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> Any:
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
