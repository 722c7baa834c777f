"""Typical mistakes of users, as code.

The code uses ``spark``, ``url`` (no server listens there), ``bad`` (its records do not fit the schema) and ``place`` (a
directory).
"""

from __future__ import annotations

#: Code of a script or a notebook cell, by condition and route.
MISTAKES = {
    "OPTION_INVALID helper": 'epochal.read.rest(spark, url, schema="id INT", pages="offset")',
    "OPTION_INVALID value": "epochal.rest.Offset(size=0)",
    "OPTION_UNKNOWN load": """
rows = spark.readStream.format("epochal-rest").options(url=url, pagesiz="1").schema("id INT").load()
rows.schema
""",
    "HTTP_UNREACHABLE show": """
rows = spark.read.format("epochal-rest").schema("id INT").option("url", url).option("retry.maxAttempts", 1).load()
rows.show()
""",
    "RECORD_INVALID show": 'spark.read.format("epochal-rest").schema("id INT").option("url", bad).load().show()',
    "RECORD_INVALID helper": 'epochal.read.rest(spark, bad, schema="id INT", streaming=False).collect()',
    "TABLE_MISSING helper": """
rows = epochal.read.random(spark)
epochal.write.jdbc(rows, f"jdbc:sqlite:{place}/a.db", table="t", checkpoint=f"{place}/a")
""",
    "TABLE_MISSING batch": """
writer = spark.range(3).write.format("epochal-jdbc").mode("append")
writer.options(url=f"jdbc:sqlite:{place}/b.db", dbtable="t").save()
""",
    "HTTP_UNREACHABLE awaitTermination": """
rows = spark.readStream.format("epochal-rest").schema("id INT").option("url", url).option("retry.maxAttempts", 1).load()
query = rows.writeStream.format("noop").option("checkpointLocation", f"{place}/c").start()
query.awaitTermination()
""",
    "RECORD_INVALID awaitTermination": """
query = epochal.write.jdbc(
    epochal.read.rest(spark, bad, schema="id INT"), f"jdbc:sqlite:{place}/d.db", table="t", create_table=True,
    checkpoint=f"{place}/d", trigger="availableNow"
)
query.awaitTermination()
""",
}
