"""``epochal.read.ingest``: clients' lines into a table, in the tests' session."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import epochal
from epochal import ingest
from support.databases import Sqlite
from support.waiting import until
from support.writers import say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.timeout(600)


def started(spark: SparkSession, database: Sqlite, checkpoint: Path, port: int = 0, **more: Any) -> StreamingQuery:
    lines = epochal.read.ingest(spark, protocol=ingest.Tcp(port, ack=True, **more), num_partitions=1)
    return epochal.write.jdbc(
        lines.select("value", "remote"),
        database.url,
        table="lines",
        checkpoint=str(checkpoint),
        sink_id="lines",
        create_table=True,
    )


@pytest.mark.line
def test_lines_are_stored_once_in_order_across_a_restart(spark: SparkSession, sqlite: Sqlite, tmp_path: Path) -> None:
    first = started(spark, sqlite, tmp_path / "checkpoint")
    address = ingest.address(first)
    assert say(address, "one\ntwo\nthree")[-1] == "OK 3"
    first.stop()
    with pytest.raises(ConnectionRefusedError):
        say(address, "nobody is there\n")
    second = started(spark, sqlite, tmp_path / "checkpoint", address[1])
    until(lambda: ingest.address(second) == address, "the same port")
    assert say(address, "four\n") == ["OK 1"]
    until(lambda: len(sqlite.query("SELECT value FROM lines")) >= 4, "four rows")
    assert [value for (value,) in sqlite.query("SELECT value FROM lines ORDER BY rowid")] == [
        "one",
        "two",
        "three",
        "four",
    ]
    second.stop()


def test_an_unprotected_listener_is_refused_before_the_start(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match="LISTENER_EXPOSED"):
        epochal.read.ingest(spark, protocol=ingest.Tcp(0, host="0.0.0.0"))


def test_a_port_in_use_is_named(spark: SparkSession, sqlite: Sqlite, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        query = started(spark, sqlite, tmp_path / "checkpoint", taken.getsockname()[1])
        with pytest.raises(epochal.SourceError, match="PORT_UNAVAILABLE"):
            ingest.address(query)


def test_a_query_without_the_source_has_no_address(spark: SparkSession, tmp_path: Path) -> None:
    rows = epochal.read.random(spark, rows_per_batch=1, max_rows=1)
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(epochal.ModeError, match="no source epochal-ingest"):
        ingest.address(query)
    query.stop()


def test_a_listener_on_all_addresses_is_reachable_at_the_reported_one(
    spark: SparkSession, sqlite: Sqlite, tmp_path: Path
) -> None:
    query = started(spark, sqlite, tmp_path / "checkpoint", host="0.0.0.0", token="any")
    host, port = ingest.address(query)
    assert host == "127.0.0.1"
    assert say((host, port), "TOKEN any\none\n") == ["OK 1"]
    query.stop()
