"""Reads and writes ledgers through the jar, with the sink's drivers, login and trust rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epochal.errors import ConnectUnsupportedError, named
from epochal.tools.ledger.model import Change, DatabaseLedger, epoch_of, replica_of, row_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read(spark: SparkSession, options: Mapping[str, str]) -> DatabaseLedger:
    """Reads the ledger that the options of ``epochal-jdbc`` name."""
    with named():
        answer = json.loads(_desk(spark).read(dict(options)))
    return DatabaseLedger(
        place=answer["place"],
        rows=tuple(
            row_of(
                sink["row"],
                tuple(map(row_of, sink["retired"])),
                tuple(map(epoch_of, sink["history"])),
                tuple(map(replica_of, sink["replicas"])),
            )
            for sink in answer["sinks"]
        ),
    )


def beside(spark: SparkSession, options: Mapping[str, str]) -> DatabaseLedger:
    """Reads the ledger beside the table of a sink with these options, in one attempt."""
    schema = "".join(options["dbtable"].rpartition(".")[:2])
    return read(spark, {**options, "dbtable": f"{schema}epochal_ledger", "retry.maxAttempts": "1"})


def change(spark: SparkSession, options: Mapping[str, str], edit: Change) -> None:
    """Forgets a sink, or sets its last epoch, in one transaction.

    Raises:
        RepairError: a run has written or claimed since the row was read. Nothing is changed.
    """
    row, applied = edit.row, edit.applied
    values = [row.query_id, row.generation, row.run_id, row.last_epoch, row.offsets_hash]
    with named():
        _desk(spark).change(
            dict(options),
            row.sink_id,
            json.dumps(values),
            None if applied is None else json.dumps([applied.epoch, applied.offsets_hash]),
        )


def _desk(spark: SparkSession) -> Any:
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise ConnectUnsupportedError(
            "CONNECT_UNSUPPORTED",
            "epochal.ledger reads the database through the driver's JVM, which a Spark Connect client does not have.",
            "Call it with a classic session, or on the machine of the driver: epochal ledger list --url …",
        )
    from epochal._session import check_version

    check_version(spark)
    return jvm.io.epochal.jdbc.LedgerDesk
