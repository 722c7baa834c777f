"""Exactly-once connectors for Spark Structured Streaming.

>>> import epochal
>>> from epochal import Limits, Secret, rest
>>> spark = epochal.configure(SparkSession.builder.appName("comments")).getOrCreate()  # doctest: +SKIP
>>> comments = epochal.read.rest(  # doctest: +SKIP
...     spark,
...     "https://api.example.com/comments",
...     pages=rest.Offset(size=100, key="/id"),
...     auth=rest.Bearer(Secret.env("TOKEN")),
...     schema="id INT, name STRING",
...     limits=Limits(rows=10_000),
... )
>>> query = epochal.write.jdbc(  # doctest: +SKIP
...     comments, "jdbc:sqlite:comments.db", table="comments", checkpoint="checkpoint", sink_id="comments"
... )
>>> epochal.display(comments.groupBy("postId").count())  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from epochal import _errors, _hooks, cdc, errors, ingest, jdbc, read, rest, write
from epochal._errors import *
from epochal._session import check_version, configure, jar_path
from epochal._values.http import Budget, Http, Limits, Proxy, Retry, Tls
from epochal._values.secret import Secret
from epochal._version import VERSION as __version__

if TYPE_CHECKING:
    from epochal import testing
    from epochal.tools.checkpoint import Checkpoint, checkpoint
    from epochal.tools.display import Display, display
    from epochal.tools.ledger import DatabaseLedger, LedgerRow, ledger
    from epochal.tools.watch.queries import await_all, queries, stop_all
    from epochal.tools.watch.watching import watch

__all__ = [
    "Budget",
    "Checkpoint",
    "DatabaseLedger",
    "Display",
    "Http",
    "LedgerRow",
    "Limits",
    "Proxy",
    "Retry",
    "Secret",
    "Tls",
    "__version__",
    "await_all",
    "cdc",
    "check_version",
    "checkpoint",
    "configure",
    "display",
    "errors",
    "ingest",
    "jar_path",
    "jdbc",
    "ledger",
    "queries",
    "read",
    "rest",
    "stop_all",
    "testing",
    "watch",
    "write",
]
__all__ += _errors.__all__


#: Modules of the tools, which are imported on first use.
_TOOLS = {
    "Checkpoint": "checkpoint",
    "Display": "display",
    "DatabaseLedger": "ledger",
    "LedgerRow": "ledger",
    "await_all": "watch.queries",
    "checkpoint": "checkpoint",
    "display": "display",
    "ledger": "ledger",
    "queries": "watch.queries",
    "stop_all": "watch.queries",
    "watch": "watch.watching",
}

_hooks.for_ipython.append(lambda: import_module("epochal.tools.watch.formatters").install())

if not TYPE_CHECKING:  # for a type checker, the imports above

    def __getattr__(name: str) -> Any:
        if name == "testing":
            return import_module("epochal.testing")
        if name not in _TOOLS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module(f"epochal.tools.{_TOOLS[name]}"), name)
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
