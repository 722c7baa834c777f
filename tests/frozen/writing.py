"""Runs scenarios on command, to be killed, also into databases whose drivers are in no other session of the tests.

The first line of its input is JSON: the JVM's ``arguments``, and ``jars`` besides Epochal's. On each further line

- ``start`` has the places of queries, by name, and ``wait`` says whether to wait until all have ended
- ``query`` is a statement, for the database of ``url`` and ``user``

and each is answered by a line that begins with ``answer``. A query that fails ends the program.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal.tools.watch.state import failure
from frozen.scenario import Place
from frozen.scenarios import SCENARIOS

CONF: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": 2,
    "spark.driver.memory": "1g",
    "spark.log.level": os.environ.get("EPOCHAL_TEST_LOG_LEVEL", "OFF"),
    "spark.sql.streaming.realTimeMode.minBatchDuration": "500ms",
}


def end_with(queries: list[StreamingQuery]) -> None:
    """Ends the program as soon as a query has failed."""
    while True:
        for query in list(queries):
            if not query.isActive and (error := failure(query)) is not None:
                print(query.name, epochal.errors.from_spark(error) or error, flush=True)
                os._exit(1)
        time.sleep(0.1)


def rows(spark: SparkSession, url: str, user: str | None, sql: str) -> list[list[Any]]:
    """By JDBC; texts and whole numbers only."""
    jvm: Any = spark._jvm
    name = {"mariadb": "org.mariadb.jdbc.Driver", "h2": "org.h2.Driver"}[url.split(":")[1]]
    driver = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name).newInstance()
    properties = jvm.java.util.Properties()
    properties.setProperty("user", user)
    connection = driver.connect(url, properties)
    try:
        found = connection.createStatement().executeQuery(sql)
        columns = range(1, found.getMetaData().getColumnCount() + 1)
        taken = []
        while found.next():
            values = [found.getObject(column) for column in columns]
            taken.append(
                [
                    value if value is None or isinstance(value, int) else found.getString(column)
                    for column, value in zip(columns, values, strict=True)
                ]
            )
        return taken
    finally:
        connection.close()


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    jvm = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {settings['arguments']}"
    conf = CONF | {"spark.driver.extraJavaOptions": jvm, "spark.jars": ",".join(settings["jars"])}
    spark = epochal.configure(SparkSession.builder.master("local[16]").config(map=conf)).getOrCreate()
    queries: list[StreamingQuery] = []
    threading.Thread(target=end_with, args=(queries,), daemon=True).start()
    for line in sys.stdin:
        asked, answer = json.loads(line), None
        if "query" in asked:
            answer = rows(spark, asked["url"], asked["user"], asked["query"])
        else:
            started = [SCENARIOS[name].start(spark, Place(**place)) for name, place in asked["start"].items()]
            queries += started
            if asked["wait"]:
                for query in started:
                    query.awaitTermination()
        print("\nanswer", json.dumps(answer), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
