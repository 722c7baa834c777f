"""Lines of log files into H2, by connectors that are not Epochal's.

``spark-submit job.py <logs> <h2 file> <checkpoint> <how>``:
``how`` is ``on``: run until killed; or ``end``: write the available rows and print the table as JSON.
"""

import json
import sys

from pyspark.sql import SparkSession

directory, file, checkpoint, how = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
lines = spark.readStream.format("logs").options(directory=directory, maxRowsPerBatch=50).load()
sink = lines.writeStream.format("h2").options(file=file, table="lines").option("checkpointLocation", checkpoint)
query = (sink.trigger(availableNow=True) if how == "end" else sink).start()
query.awaitTermination()
table = spark.read.format("jdbc").options(url=f"jdbc:h2:file:{file}", driver="org.h2.Driver", dbtable='"lines"').load()
print(json.dumps(sorted([row["file"], row["line"]] for row in table.collect())))
