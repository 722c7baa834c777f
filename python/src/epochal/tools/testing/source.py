"""Checks the promises of one source: ``epochal.testing.check_source``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epochal import _hooks
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
    """All that is checked, in order: first of Python readers, then of queries over any format."""
    return [*promises.OF_READERS, *promises.OF_QUERIES]


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
    """Checks which promises a streaming source keeps, without a query and with real ones.

    Queries run in local mode or wherever the driver shares this machine's temporary directory: they are restarted, and
    the last commit is deleted from their checkpoints. One origin serves all checks, one after the other.

    Args:
        spark: the session, classic or Connect.
        source: the name of a format; a ``DataSource`` class, which is registered; or a function without arguments that
            gives a new ``DataSourceStreamReader`` or ``SimpleDataSourceStreamReader``, as a restarted driver would.
        options: of the reader.
        schema: the columns. A function needs them.
        add: makes so many more rows exist at the origin, each unlike any other; when it returns, they can be read.
            Nothing else may add rows. Without it, checks that need new rows are exempt.
        exempt: promises that the source does not make, by name, and why. ``keeps-rows`` says that rows cannot be read
            again long after they were committed.
        only: the names of the promises to check; all without it.
        timeout: seconds after which a query that has not delivered or ended will not.

    Returns:
        What became of each promise. Nothing is raised for one that is broken: ``assert_all()`` does that.

    Raises:
        OptionError: ``only`` or ``exempt`` name what is no promise, ``only`` names none, or a function comes without
            ``schema``.
        ConfigurationError: a reader in Python without pyarrow (``EXTRA_MISSING``).
    """
    _hooks.install()
    reasons = dict(exempt or {})
    known = [promise.name for promise in source_promises()]
    unknown = sorted((set(reasons) - {*known, promises.KEEPS_ROWS}) | (set(only or ()) - set(known)))
    if only is not None and not only:
        raise OptionError("OPTION_INVALID", "only names no promise.", f"The promises are {', '.join(known)}.")
    if unknown:
        raise OptionError(
            "OPTION_UNKNOWN", f"There is no promise {', '.join(unknown)}.", f"The promises are {', '.join(known)}."
        )
    found = subject(spark, source, options or {}, schema)
    wanted = [promise for promise in source_promises() if only is None or promise.name in only]
    return Report(found.name, tuple(_check(promise, found, add, reasons, timeout) for promise in wanted))


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
            raise NotCheckedError("the reader of a format by name is not Python's: only its queries are checked")
        else:
            with closing(Restartable(source.make_reader, add)) as restartable:
                reader_checks.CHECKS[promise](restartable)
    except NotCheckedError as reason:
        outcome, explanation = "exempt", str(reason)
    except BrokenError as evidence:
        outcome, explanation = "broken", str(evidence)
    except Exception as error:  # whatever a source raises is evidence against it
        outcome, explanation = "broken", f"the source failed: {type(error).__name__}: {str(error)[:1000]}"
    return Finding(promise, outcome, explanation, time.monotonic() - begin)
