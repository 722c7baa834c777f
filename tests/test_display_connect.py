"""``epochal.display`` over Spark Connect: the query and its rows are on the server.

All sessions except the client's first one must be stopped, or the process would hang: at exit PySpark closes its
channel, and gRPC waits for a thread that has ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import epochal
from support import connect_server
from support.scripts import run_script
from support.waiting import until


class Server(NamedTuple):
    """Address of the server, and directory of its temporary checkpoints."""

    address: str
    checkpoints: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("checkpoints")
    conf = {"spark.sql.streaming.checkpointLocation": str(place), "spark.sql.shuffle.partitions": "1"}
    with connect_server.running(epochal.jar_path(), conf) as address:
        yield Server(address, place)


@pytest.mark.slow
def test_a_display_works_over_connect_and_only_its_own_session_sees_it(server: Server) -> None:
    facts = run_script(f"""
spark = SparkSession.builder.remote("{server.address}").getOrCreate()
rows = epochal.read.random(spark, rows_per_batch=10, max_rows=25, num_partitions=1).select("id", "timestamp")
spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
shown = epochal.display(rows, name="strings", trigger="availableNow")
live = epochal.display(epochal.read.random(spark, rows_per_batch=10), rows=3, wait=False, trigger="100 ms")
while live.query.lastProgress is None: pass
kept = len(live.rows())
live.stop()
counts = epochal.display(rows.groupBy("id").count().orderBy("id"), kind="bar", rows=2, trigger="availableNow")
other = SparkSession.builder.remote("{server.address}").create()
says(
    strings=[row["id"] for row in shown.rows()],
    sql=spark.sql("SELECT count(*) AS n FROM strings").collect()[0]["n"],
    first=shown._snapshot.rows[0],
    text=repr(shown).splitlines()[0],
    kept=kept,
    stopped=[live._snapshot.status.state, live.query.isActive, len(spark.streams.active)],
    counts=[tuple(row) for row in counts.rows()],
    points=counts._snapshot.points.series,
    foreign=other.catalog.tableExists("strings"),
)
other.stop()
""")
    assert facts["strings"] == list(range(25))
    assert facts["sql"] == 25
    assert facts["first"] == ["0", "2000-01-01 05:30:00"]
    assert facts["text"].startswith("strings · ended · epoch 2 · 25 rows")
    assert facts["kept"] == 3
    assert facts["stopped"] == ["stopped", False, 0]
    assert facts["counts"] == [[0, 1], [1, 1]]
    assert facts["points"] == [[1.0, 1.0]]
    assert facts["foreign"] is False
    until(lambda: not list(server.checkpoints.iterdir()), "the end of all temporary checkpoints")


@pytest.mark.slow
def test_a_display_ends_with_its_session_and_leaves_nothing_in_the_server(server: Server) -> None:
    facts = run_script(f"""
spark = SparkSession.builder.remote("{server.address}").getOrCreate()
live = epochal.display(epochal.read.random(spark, rows_per_batch=10), name="strings", wait=False, trigger="100 ms")
while live.query.lastProgress is None: pass
spark.stop()
live._poller.join(60)
says(left=os.listdir("{server.checkpoints}"), state=live._snapshot.status.state, text=repr(live).splitlines()[0])
""")
    assert facts["state"] == "failed"
    assert "strings · failed · the session does not respond" in facts["text"]
    until(lambda: not list(server.checkpoints.iterdir()), "the end of the temporary checkpoint")
