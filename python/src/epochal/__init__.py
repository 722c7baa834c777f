"""Exactly-once connectors for Spark Structured Streaming.

>>> import epochal
>>> spark = epochal.configure(SparkSession.builder.appName("comments")).getOrCreate()  # doctest: +SKIP
>>> comments = epochal.read.rest(spark, url, schema="id INT, name STRING", pagination="offset")  # doctest: +SKIP
>>> query = epochal.write.jdbc(  # doctest: +SKIP
...     comments, "jdbc:sqlite:comments.db", table="comments", checkpoint="checkpoint", sink_id="comments"
... )
"""

from epochal import _convert, _traceback, errors, read, write
from epochal._session import check_version, configure, jar_path
from epochal._version import VERSION as __version__
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
    RowError,
    SchemaError,
    SessionWithoutJarError,
    SinkError,
    SinkFencedError,
    SinkIdentityError,
    SourceError,
    TableError,
    VersionMismatchError,
)

__all__ = [
    "CheckpointError",
    "ConfigurationError",
    "ConnectUnsupportedError",
    "DataLossError",
    "DatabaseError",
    "EpochChangedError",
    "EpochError",
    "EpochGapError",
    "EpochRegressedError",
    "EpochalError",
    "HttpError",
    "ModeError",
    "OptionError",
    "RecordError",
    "RowError",
    "SchemaError",
    "SessionWithoutJarError",
    "SinkError",
    "SinkFencedError",
    "SinkIdentityError",
    "SourceError",
    "TableError",
    "VersionMismatchError",
    "__version__",
    "check_version",
    "configure",
    "errors",
    "jar_path",
    "read",
    "write",
]

_convert.install()
_traceback.install()
