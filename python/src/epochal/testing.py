"""Checks whether a streaming source keeps the promises of exactly-once reading, for tests of sources in Python.

>>> from epochal import testing
>>> report = testing.check_source(spark, MyDataSource, options={"path": path}, add=append_rows)  # doctest: +SKIP
>>> print(report)  # doctest: +SKIP
>>> report.assert_all()  # doctest: +SKIP
"""

from epochal.tools.testing.report import Finding, Promise, Report
from epochal.tools.testing.source import check_source, source_promises

__all__ = ["Finding", "Promise", "Report", "check_source", "source_promises"]
__dir__ = __all__.copy
