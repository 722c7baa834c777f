"""A pipeline flow that writes random strings into a database table."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import jdbc

dp.create_sink(
    "strings",
    "epochal-jdbc",
    epochal.write.jdbc_options(
        "jdbc:sqlite:/tmp/epochal-strings.db",
        table="strings",
        create_table=True,
        sink_id="strings",
        ledger=jdbc.Ledger(on_new_query="replace"),
    ),
)


@dp.append_flow(target="strings")
def random_strings() -> DataFrame:
    return epochal.read.random(SparkSession.active(), rows_per_batch=100, max_rows=1000)
