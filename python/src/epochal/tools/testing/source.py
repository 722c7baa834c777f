"""Checks the promises of one source: ``epochal.testing.check_source``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epochal import _hooks
from epochal._arguments import suggesting
from epochal.errors import OptionError
from epochal.tools.testing import promises, query_checks, reader_checks
from epochal.tools.testing.query_checks import QueryScene
from epochal.tools.testing.reader import Restartable
from epochal.tools.testing.report import BrokenError, Finding, NotCheckedError, Outcome, Promise, Report
from epochal.tools.testing.sources import Subject, subject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType


def source_promises() -> list[Promise]:
    """All promises in the order of their checks: those of Python readers, then those of queries over any format."""
    return [*reader_checks.CHECKS, *query_checks.CHECKS]


@suggesting
def check_source(
    spark: SparkSession,
    source: str | type[DataSource] | Callable[[], Any],
    *,
    options: Mapping[str, Any] | None = None,
    schema: str | StructType | None = None,
    add: Callable[[int], object] | None = None,
    exempt: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    timeout: float = 60,
) -> Report:
    """Checks which promises a streaming source keeps, with direct calls and with real queries.

    The driver must share this machine's temporary directory, as in local mode: the checks restart queries and delete
    the last commit from their checkpoints. All checks use the same origin, one after the other.

    Args:
        spark: the session, classic or Connect.
        source: the name of a format; a ``DataSource`` class, which is registered; or a function without arguments that
            creates a ``DataSourceStreamReader`` or ``SimpleDataSourceStreamReader``, as a restarted driver would.
        options: options of the reader.
        schema: schema of the rows; required for a function.
        add: adds a number of rows to the origin, each different from all others; they must be readable when it
            returns. Nothing else may add rows. Unset, checks that need new rows are exempt.
        exempt: promises that the source does not make, by name, with the reason. ``keeps-rows`` means that rows cannot
            be read again long after they were committed.
        only: names of the promises to check; unset, all.
        timeout: maximum wait for a delivery or the end of a query, in seconds.

    Returns:
        The result for each promise. A broken promise raises nothing: call ``assert_all()`` for that.

    Raises:
        OptionError: ``only`` or ``exempt`` contain an unknown name, ``only`` is empty, or a function was passed without
            ``schema``.
        ConfigurationError: a Python reader requires pyarrow (``EXTRA_MISSING``).
    """
    _hooks.install()
    reasons = dict(exempt or {})
    names = [promise.name for promise in source_promises()]
    unknown_names = sorted((set(reasons) - {*names, promises.KEEPS_ROWS}) | (set(only or ()) - set(names)))
    if only is not None and not only:
        raise OptionError("OPTION_INVALID", "only names no promise.", f"The promises are {', '.join(names)}.")
    if unknown_names:
        raise OptionError(
            "OPTION_UNKNOWN",
            f"There is no promise {', '.join(unknown_names)}.",
            f"The promises are {', '.join(names)}.",
        )
    report = subject(spark, source, options or {}, schema)
    selection = [promise for promise in source_promises() if only is None or promise.name in only]
    return Report(report.name, tuple(_check(promise, report, add, reasons, timeout) for promise in selection))


def _check(
    promise: Promise,
    source: Subject,
    add: Callable[[int], object] | None,
    reasons: Mapping[str, str],
    timeout: float,
) -> Finding:
    begin = time.monotonic()
    outcome: Outcome = "kept"
    explanation = ""
    try:
        if promise.name in reasons:
            raise NotCheckedError(f"declared: {reasons[promise.name]}")
        if promise in query_checks.CHECKS:
            with tempfile.TemporaryDirectory(prefix="epochal-testing-", ignore_cleanup_errors=True) as directory:
                keeps = promises.KEEPS_ROWS not in reasons
                query_checks.CHECKS[promise](QueryScene(source.frame, add, Path(directory), timeout, keeps))
        elif source.make_reader is None:
            raise NotCheckedError("the format's reader is not written in Python: only its queries are checked")
        else:
            with closing(Restartable(source.make_reader, add)) as restartable:
                reader_checks.CHECKS[promise](restartable)
    except NotCheckedError as reason:
        outcome, explanation = "exempt", str(reason)
    except BrokenError as evidence:
        outcome, explanation = "broken", str(evidence)
    except Exception as error:  # any error of the source is evidence against it
        outcome, explanation = "broken", f"the source failed: {type(error).__name__}: {str(error)[:1000]}"
    return Finding(promise, outcome, explanation, time.monotonic() - begin)
