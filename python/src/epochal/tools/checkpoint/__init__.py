"""``epochal.checkpoint``: the logs of a checkpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from epochal._arguments import suggesting
from epochal._options import Location
from epochal.errors import OptionError
from epochal.tools.checkpoint.epochs import Epoch, SourceOffset
from epochal.tools.checkpoint.files import local_path
from epochal.tools.checkpoint.model import Checkpoint
from epochal.tools.checkpoint.reading import read_local, read_remote
from epochal.tools.checkpoint.start import NextStart

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Checkpoint", "Epoch", "NextStart", "SourceOffset", "checkpoint"]


@suggesting
def checkpoint(path: Location, *, spark: SparkSession | None = None) -> Checkpoint:
    """Reads the logs of a checkpoint, of any query and any sink, without changing it.

    >>> found = epochal.checkpoint("/data/checkpoints/comments")  # doctest: +SKIP
    >>> print(found)  # doctest: +SKIP
    >>> found.compare(epochal.ledger("jdbc:sqlite:comments.db").find(found.query_id))  # doctest: +SKIP

    Args:
        path: the query's ``checkpointLocation``. A local directory is read without Spark and without a JVM.
        spark: a classic or Connect session, required for other file systems (``s3a://…``, ``hdfs://…``). With a
            session, a path without a scheme is on Spark's default file system.

    Returns:
        A frozen value that prints as a summary.

    Raises:
        CheckpointError: there is no checkpoint at this path (``CHECKPOINT_NOT_FOUND``). A file that cannot be read
            raises no error: ``Epoch.problem`` describes it.
        OptionError: the path is not local and no session was passed.
    """
    location = os.fspath(path)
    local = local_path(location)
    if spark is not None:
        return read_remote(location, spark)
    if local is None:
        raise OptionError(
            "OPTION_REQUIRED",
            f"epochal.checkpoint needs 'spark' for {location}, which is not on this machine.",
            "Pass a session that can read it: epochal.checkpoint(path, spark=spark).",
        )
    return read_local(local)
