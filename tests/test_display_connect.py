"""``epochal.display`` over Spark Connect: the query and its rows are in the server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import epochal
from support import connect_server
from support.scripts import run_script


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with connect_server.running(epochal.jar_path()) as address:
        yield address


def test_a_display_works_over_connect_and_only_its_own_session_sees_it(server: str) -> None:
    facts = run_script(f"""
spark = SparkSession.builder.remote("{server}").getOrCreate()
rows = epochal.read.random(spark, rows_per_batch=10, max_rows=25, num_partitions=1).select("id", "timestamp")
spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
spark.conf.set("spark.sql.shuffle.partitions", 1)
shown = epochal.display(rows, name="strings", trigger="availableNow")
live = epochal.display(epochal.read.random(spark, rows_per_batch=10), rows=3, wait=False, trigger="100 ms")
while len(live.rows()) < 3: pass
live.stop()
counts = epochal.display(rows.groupBy("id").count().orderBy("id"), kind="bar", rows=2, trigger="availableNow")
other = SparkSession.builder.remote("{server}").create()
says(
    kept=[row["id"] for row in shown.rows()],
    sql=spark.sql("SELECT count(*) AS n FROM strings").collect()[0]["n"],
    first=shown._snapshot.rows[0],
    text=repr(shown).splitlines()[0],
    stopped=live._snapshot.status.state,
    counts=[tuple(row) for row in counts.rows()],
    points=counts._snapshot.points.series,
    foreign=other.catalog.tableExists("strings"),
)
""")
    assert facts["kept"] == list(range(25))
    assert facts["sql"] == 25
    assert facts["first"] == ["0", "2000-01-01 05:30:00"]
    assert facts["text"].startswith("strings · ended · batch 2 · 25 rows")
    assert facts["stopped"] == "stopped"
    assert facts["counts"] == [[0, 1], [1, 1]]
    assert facts["points"] == [[1.0, 1.0]]
    assert facts["foreign"] is False
