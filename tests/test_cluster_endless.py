"""Continuous and real-time queries on a cluster: tasks run outside of the driver's process."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cluster import SMALL, Cluster
from support.databases import Postgres
from support.scripts import run_script

pytestmark = pytest.mark.slow

#: Starts a query without the helpers' settings, and reports the condition of its end, or that it runs.
ENDLESS = """
conf = {conf}
spark = epochal.configure(builder().master("{master}").config(map=conf)).getOrCreate()

def end(frame, name, sink="noop", options={{}}, **trigger):
    mode = "update" if "realTime" in trigger else "append"
    try:
        query = (frame.writeStream.format(sink).option("checkpointLocation", os.environ["CHECKPOINT"] + name)
                 .option("asyncProgressTrackingEnabled", "false").options(**options)
                 .outputMode(mode).trigger(**trigger).start())
        ended = query.awaitTermination(60)
        query.stop()
        says(**{{name: "ended" if ended else "runs"}})
    except epochal.EpochalError as error:
        says(**{{name: error.condition}})
    except Exception as error:
        says(**{{name: str(error)[:2000]}})
"""

REAL_TIME = {
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.shuffle.partitions": "1",
}


def run(cluster: Cluster, checkpoint: Path, body: str, **environment: str) -> dict[str, str]:
    script = ENDLESS.format(conf=SMALL | REAL_TIME, master=cluster.master) + body
    return run_script(script, 600, CHECKPOINT=f"{checkpoint}/", **environment)


@pytest.mark.parametrize("trigger", [{"continuous": "1 second"}, {"realTime": "5 seconds"}], ids=str)
def test_received_sources_are_refused_before_the_start(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path, trigger: dict[str, str]
) -> None:
    postgres.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    slot = f"endless_{next(iter(trigger)).lower()}"
    facts = run(
        two_workers,
        tmp_path,
        f"""
trigger = {trigger}
lines = spark.readStream.format("epochal-ingest").option("port", "0").load()
end(lines, "ingest", **trigger)
orders = spark.readStream.format("epochal-cdc").options(
    url=os.environ["URL"], user="postgres", dbtable="orders", slot="{slot}").load()
end(orders, "cdc", **trigger)
""",
        URL=postgres.url,
    )
    assert facts == {"ingest": "TRIGGER_UNSUPPORTED", "cdc": "TRIGGER_UNSUPPORTED"}
    assert postgres.query(f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{slot}'") == [(0,)]


def test_the_first_failure_of_a_continuous_task_ends_the_query_by_name(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path
) -> None:
    postgres.execute("CREATE TABLE narrow (id varchar(1))", "CREATE TABLE other (id varchar(1))")
    facts = run(
        two_workers,
        tmp_path,
        """
strings = epochal.read.random(spark, rows_per_second=20, num_partitions=1).select("id")
end(strings.selectExpr("raise_error('of the task')"), "source", continuous="1 second")
into = dict(url=os.environ["URL"], user="postgres", dbtable="narrow", sinkId="narrow")
end(strings.selectExpr("CAST(id AS STRING) || '-long' AS id"), "sink", "epochal-jdbc", into, continuous="1 second")
rates = spark.readStream.format("rate").option("rowsPerSecond", 20).option("numPartitions", 1).load()
foreign = rates.selectExpr("CAST(value AS STRING) || '-long' AS id")
end(foreign, "foreign", "epochal-jdbc", into | dict(dbtable="other", sinkId="other"), continuous="1 second")
""",
        URL=postgres.url,
    )
    assert "of the task" in facts.pop("source")
    assert facts == {"sink": "BAD_ROW", "foreign": "BAD_ROW"}
