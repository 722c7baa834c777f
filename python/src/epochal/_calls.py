"""Which calls of helpers an error belongs to: those that run, that started its query, or that read its DataFrame."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple

from epochal._declarations import FORMS, Form
from epochal._errors import EpochalError
from epochal._values.value import Value


class Call(NamedTuple):
    """A call of a helper, or one that would have the same effect.

    Attributes:
        kinds: classes of the values that were passed; they take precedence where several classes have an option.
    """

    form: Form
    kinds: tuple[type[Value], ...]


_current: ContextVar[tuple[Call, ...]] = ContextVar("current", default=())
#: Calls for the sink and the sources of each run, by run id.
_runs: dict[str, tuple[Call, ...]] = {}
_RUN = re.compile(r"runId = ([0-9a-f-]{36})")


@contextmanager
def calling(calls: Sequence[Call]) -> Iterator[None]:
    """Attributes errors within the block to these calls; within another such block, to those of the outer one: a
    command's errors name its own arguments."""
    token = _current.set(_current.get() or tuple(calls))
    try:
        yield
    finally:
        _current.reset(token)


def attribute(run_id: object, calls: Sequence[Call]) -> None:
    """Attributes errors of a query run to these calls."""
    _runs[str(run_id)] = tuple(calls)


def of_message(message: str) -> Sequence[Call]:
    """The calls that an error belongs to, by the run id in its message; empty if no helper was called."""
    match = _RUN.search(message)
    return _current.get() or (_runs.get(match[1], ()) if match else ())


_Failure = Callable[[Exception], EpochalError | None]
#: The latest reads that helpers have made, each with what finds its error in one of an action.
_of_helpers: dict[int, _Failure] = {}
_MAX_READS = 1000


class _Read(NamedTuple):
    """A source in a plan: its format, its options, and a number that plans derived from this one keep."""

    format: str
    get: Callable[[str], str | None]
    number: int


def remember(df: Any, failure: _Failure = lambda error: None) -> None:
    """Marks the reads of a DataFrame as made by a helper."""
    with suppress(Exception):  # another Spark version: errors then name the options themselves
        _of_helpers.update((read.number, failure) for read in _reads(df))
    for number in [*_of_helpers][:-_MAX_READS]:
        del _of_helpers[number]


def of_frame(df: Any, *, of_helpers: bool = False) -> list[Call]:
    """Calls equivalent to the reads in a DataFrame's plan; empty where the plan cannot be inspected.

    Args:
        of_helpers: only to reads that a helper has made.
    """
    with suppress(Exception):
        reads = [one for one in _reads(df) if not of_helpers or one.number in _of_helpers]
        return [Call(form, form.kinds(one.get)) for one in reads if (form := FORMS.get(one.format)) and form.is_source]
    return []


def of_action() -> list[Call]:
    """Calls of helpers that have made reads of the DataFrame or query whose method runs."""
    acting = _acting()
    return of_frame(getattr(acting, "__dict__", {}).get("_df", acting), of_helpers=True)


def failure(error: Exception) -> EpochalError | None:
    """The error of the only database that the DataFrame whose method runs reads, if a helper has made that read."""
    with suppress(Exception):
        (number,) = {one.number for one in _reads(_acting()) if one.format == "jdbc"}
        return _of_helpers[number](error)
    return None


def _acting() -> Any:
    """The DataFrame, writer of one, or query of a classic session whose method runs: the innermost on the stack."""
    from pyspark.sql import DataFrame

    frame: FrameType | None = sys._getframe(2)
    # An error of ``failure`` itself is not looked into.
    while frame is not None and frame.f_code is not failure.__code__:
        one = frame.f_locals.get("self")
        if isinstance(one, DataFrame) or getattr(one, "__dict__", {}).keys() & {"_df", "_jsq"}:
            return one
        frame = frame.f_back
    return None


def _reads(df: Any) -> Iterator[_Read]:
    """Of a DataFrame, or of a query of a classic session."""
    # A DataFrame of Spark 4.3's client has a column for any name.
    if "_jsq" in vars(df):
        return _of_jvm(df._jsq.streamingQuery().analyzedPlan())
    return _of_jvm(df._jdf.queryExecution().analyzed()) if "_jdf" in vars(df) else _of_client(df._plan)


def _of_jvm(plan: Any) -> Iterator[_Read]:
    from pyspark import SparkContext

    # A method call on a table would look all its methods up, some with types that Spark 4.0 lacks: the error ends the
    # JVM's thread of this session.
    jvm: Any = SparkContext._jvm
    number = jvm.java.lang.System.identityHashCode
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(n) for n in range(leaves.size())):
        kind = leaf.getClass().getSimpleName()
        if kind == "StreamingRelationV2":
            yield _Read(leaf.sourceName(), leaf.extraOptions().get, number(leaf.table()))
        elif kind == "DataSourceV2Relation":
            yield _Read(leaf.name().partition(" ")[0], leaf.options().get, number(leaf.table()))
        elif kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "JDBCRelation":
            yield _Read("jdbc", lambda name: None, number(leaf.relation()))


def _of_client(plan: Any) -> Iterator[_Read]:
    from pyspark.sql.connect.plan import LogicalPlan

    if hasattr(plan, "_format"):
        yield _Read(plan._format, (plan._options or {}).get, plan._plan_id)
    for child in vars(plan).values():
        if isinstance(child, LogicalPlan):
            yield from _of_client(child)
