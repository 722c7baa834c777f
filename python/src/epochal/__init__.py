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
from typing import TYPE_CHECKING

from epochal import _errors, _hooks, cdc, errors, ingest, jdbc, read, rest, write
from epochal._errors import *
from epochal._lazy import attributes
from epochal._replicate import replicate
from epochal._replication import Replication
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
    "Replication",
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
    "replicate",
    "rest",
    "stop_all",
    "testing",
    "watch",
    "write",
]
__all__ += _errors.__all__


_hooks.for_ipython.append(lambda: import_module("epochal.tools.watch.formatters").install())

__dir__ = sorted(__all__).copy

if not TYPE_CHECKING:
    __getattr__ = attributes(
        __name__,
        {
            "testing": "testing",
            "watch": "tools.watch.watching",
            **dict.fromkeys(("Checkpoint", "checkpoint"), "tools.checkpoint"),
            **dict.fromkeys(("Display", "display"), "tools.display"),
            **dict.fromkeys(("DatabaseLedger", "LedgerRow", "ledger"), "tools.ledger"),
            **dict.fromkeys(("await_all", "queries", "stop_all"), "tools.watch.queries"),
        },
    )
