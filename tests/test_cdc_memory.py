"""A capture whose memory is too small."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.databases import Postgres
from support.scripts import run_script


@pytest.mark.slow
def test_a_row_that_exceeds_the_memory_ends_the_query_by_name(postgres: Postgres, tmp_path: Path) -> None:
    slot = f"SELECT (pg_create_logical_replication_slot('{postgres.schema}', 'pgoutput')).lsn::text"
    postgres.execute("CREATE TABLE orders (id INT PRIMARY KEY, note TEXT)")
    postgres.execute(f"CREATE PUBLICATION {postgres.schema} FOR TABLE orders")
    ((begin,),) = postgres.query(slot)
    postgres.execute("INSERT INTO orders VALUES (101, repeat('x', 250 << 20))")
    facts = run_script(
        """
        spark = epochal.configure(builder().config("spark.driver.memory", "512m")).getOrCreate()
        schema = os.environ["SCHEMA"]
        position = dict(slot=epochal.cdc.Slot(schema, starting_offset=os.environ["BEGIN"]))
        changes = epochal.read.cdc(spark, os.environ["URL"], table=f"{schema}.orders", user="postgres", **position)
        query = changes.writeStream.format("noop").option("checkpointLocation", os.environ["CHECKPOINT"]).start()
        try:
            says(ended=query.awaitTermination(120))
        except epochal.EpochalError as error:
            says(condition=error.condition, problem=str(error))
        """,
        URL=postgres.url,
        SCHEMA=postgres.schema,
        BEGIN=begin,
        CHECKPOINT=str(tmp_path),
    )
    postgres.drop_slot()
    assert facts.get("condition") == "FEED_FAILED", facts
    assert "OutOfMemoryError" in facts["problem"]
