"""Exactly-once connectors for Spark Structured Streaming.

>>> import epochal
>>> from epochal import Limits, Secret, rest
>>> spark = epochal.configure(SparkSession.builder.appName("comments")).getOrCreate()  # doctest: +SKIP
>>> comments = epochal.read.rest(  # doctest: +SKIP
...     spark,
...     "https://api.example.com/comments",
...     pages=rest.Offset(size=100),
...     auth=rest.Bearer(Secret.env("TOKEN")),
...     schema="id INT, name STRING",
...     limits=Limits(rows=10_000),
... )
>>> query = epochal.write.jdbc(  # doctest: +SKIP
...     comments, "jdbc:sqlite:comments.db", table="comments", checkpoint="checkpoint", sink_id="comments"
... )
>>> epochal.display(comments.groupBy("postId").count())  # doctest: +SKIP
"""

from epochal import _convert, _traceback, errors, ingest, jdbc, read, rest, testing, write
from epochal._checkpoint import Checkpoint, checkpoint
from epochal._display import Display, display
from epochal._ledger import Ledger, LedgerRow, ledger
from epochal._session import check_version, configure, jar_path
from epochal._values.http import Budget, Http, Limits, Proxy, Retry, Tls
from epochal._values.secret import Secret
from epochal._version import VERSION as __version__
from epochal._watch import formatters as _formatters
from epochal._watch.queries import await_all, queries, stop_all
from epochal._watch.watching import watch
from epochal.errors import (
    CheckpointError,
    ConfigurationError,
    ConnectUnsupportedError,
    DatabaseError,
    DataLossError,
    EpochalError,
    EpochChangedError,
    EpochError,
    EpochGapError,
    EpochRegressedError,
    HttpError,
    ModeError,
    OptionError,
    RecordError,
    RepairError,
    RowError,
    SchemaError,
    ServerError,
    SessionWithoutJarError,
    SinkError,
    SinkFencedError,
    SinkIdentityError,
    SourceError,
    TableError,
    VersionMismatchError,
)

__all__ = [
    "Budget",
    "Checkpoint",
    "CheckpointError",
    "ConfigurationError",
    "ConnectUnsupportedError",
    "DataLossError",
    "DatabaseError",
    "Display",
    "EpochChangedError",
    "EpochError",
    "EpochGapError",
    "EpochRegressedError",
    "EpochalError",
    "Http",
    "HttpError",
    "Ledger",
    "LedgerRow",
    "Limits",
    "ModeError",
    "OptionError",
    "Proxy",
    "RecordError",
    "RepairError",
    "Retry",
    "RowError",
    "SchemaError",
    "Secret",
    "ServerError",
    "SessionWithoutJarError",
    "SinkError",
    "SinkFencedError",
    "SinkIdentityError",
    "SourceError",
    "TableError",
    "Tls",
    "VersionMismatchError",
    "__version__",
    "await_all",
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


def __dir__() -> list[str]:
    return __all__


_convert.install()
_traceback.install()
_formatters.install()
