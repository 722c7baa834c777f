"""Streams a comments API into a database table exactly once. Needs only Spark and Epochal's jar, no Python package:

spark-submit --jars dist/epochal-spark_2.13-0.1.0.jar examples/comments_to_table.py \
    http://127.0.0.1:8000/comments jdbc:sqlite:comments.db checkpoint-comments

You can stop it at any time, even with SIGKILL: a restarted job resumes where the table ends.
"""

import sys

from pyspark.sql import SparkSession

api, database, checkpoint = sys.argv[1:]

spark = SparkSession.builder.appName("comments to table").getOrCreate()

comments = (
    spark.readStream.format("epochal-rest")
    .option("url", api)
    .option("pagination", "offset")  # ?_start=0&_limit=100
    .option("pageSize", 100)
    .option("maxRowsPerBatch", 1000)
    .schema("postId INT, id INT, name STRING, email STRING, body STRING")
    .load()
)

query = (
    comments.writeStream.format("epochal-jdbc")
    .option("url", database)
    .option("dbtable", "comments")
    .option("createTable", True)
    .option("sinkId", "comments")
    .option("checkpointLocation", checkpoint)
    .trigger(availableNow=True)  # leave it out to follow the API continuously
    .start()
)
query.awaitTermination()
