"""``epochal.read.jdbc`` reads written rows in one line."""

from __future__ import annotations

import os
import pickle
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillLocked
from contextlib import contextmanager
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id

import epochal
from epochal import Secret, jdbc
from epochal._values.value import without_login
from support.databases import Database, Postgres, Sqlite
from support.proxy import proxy

HIDDEN = "s3cret"
BIG = 2**62 + 1


def test_written_rows_are_read_back(spark: SparkSession, database: Database) -> None:
    frame = spark.createDataFrame(
        [(1, BIG, 0.1, "é €"), (2, -BIG, 1e300, None)], "a INT, b BIGINT, c DOUBLE, `d ``e``` STRING"
    )
    epochal.write.jdbc(frame, database.url, table="numbers", create_table=True, user=database.user)
    found = epochal.read.jdbc(spark, database.url, table="numbers", user=database.user)
    assert sorted(map(tuple, found.collect())) == [(1, BIG, 0.1, "é €"), (2, -BIG, 1e300, None)]
    assert found.columns == ["a", "b", "c", "d `e`"]


def test_sqlite_keeps_64_bits_for_every_declared_type(spark: SparkSession, sqlite: Sqlite) -> None:
    kinds = ["INTEGER", "INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "REAL", "FLOAT", "DOUBLE"]
    columns = ", ".join(f'"{kind.lower()} x" {kind}' for kind in kinds)
    sqlite.execute(f"CREATE TABLE t ({columns})", f"INSERT INTO t VALUES ({values(kinds)})")
    (row,) = epochal.read.jdbc(spark, sqlite.url, table="t").collect()
    assert list(row) == [BIG] * 6 + [0.1] * 3


def values(kinds: list[str]) -> str:
    return ", ".join("0.1" if kind in ("REAL", "FLOAT", "DOUBLE") else str(BIG) for kind in kinds)


def test_a_query_is_read_in_the_database(spark: SparkSession, database: Database) -> None:
    database.execute("CREATE TABLE t (id BIGINT, word TEXT)", "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    query = "SELECT word, CAST(max(id) AS BIGINT) AS id FROM t GROUP BY word"
    found = epochal.read.jdbc(spark, database.url, query=query, user=database.user)
    assert sorted(map(tuple, found.collect())) == [("a", 1), ("b", 3)]


def test_several_tasks_read_ranges_without_omitting_rows(spark: SparkSession, database: Database) -> None:
    rows = spark.range(100).selectExpr("id", "date_add(DATE'2026-01-01', CAST(id AS INT)) AS day")
    epochal.write.jdbc(rows, database.url, table="days", create_table=True, user=database.user)
    ranges = [jdbc.Partitions(column="id", lower=10, upper=50, count=4)]
    if isinstance(database, Postgres):
        ranges += [jdbc.Partitions(column="day", lower=date(2026, 2, 1), upper="2026-03-01", count=3)]
    for partitions in ranges:
        found = epochal.read.jdbc(spark, database.url, table="days", user=database.user, partitions=partitions)
        assert found.rdd.getNumPartitions() == partitions.count
        assert sorted(row.id for row in found.collect()) == list(range(100))


def test_a_table_is_partitioned_by_timestamps(spark: SparkSession, postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TABLE t AS SELECT timestamptz '2026-01-01Z' + n * interval '1 h' AS at FROM generate_series(0, 99) n"
    )
    lower, upper = (datetime(2026, 1, day, tzinfo=timezone.utc) for day in (1, 5))
    partitions = jdbc.Partitions(column="at", lower=lower, upper=upper, count=4)
    found = epochal.read.jdbc(spark, postgres.url, table="t", user=postgres.user, partitions=partitions)
    by_task = found.groupBy(spark_partition_id().alias("task")).count().orderBy("task").collect()
    assert [row["count"] for row in by_task] == [24, 24, 24, 28]


def test_a_password_from_any_place_is_in_no_plan_and_no_error(
    spark: SparkSession, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute("CREATE TABLE t (id integer)")
    (tmp_path / "password").write_text(f"{HIDDEN}\n")
    monkeypatch.setenv("DB_PASSWORD", HIDDEN)
    for password in (HIDDEN, Secret(HIDDEN), Secret.env("DB_PASSWORD"), Secret.file(tmp_path / "password")):
        found = epochal.read.jdbc(spark, postgres.url, table="t", user=postgres.user, password=password)
        assert found.count() == 0
        frame: Any = found._jdf
        assert HIDDEN not in frame.queryExecution().toString()
        with pytest.raises(epochal.DatabaseError) as raised:
            epochal.read.jdbc(spark, postgres.url, table=f"missing_{HIDDEN}", user=postgres.user, password=password)
        assert HIDDEN not in str(raised.value)


@pytest.mark.parametrize(
    ("secret", "place"),
    [(Secret.env("EPOCHAL_NOT_SET"), "variable 'EPOCHAL_NOT_SET'"), (Secret.file("/not/there"), "file '/not/there'")],
)
def test_a_missing_secret_is_named(spark: SparkSession, sqlite: Sqlite, secret: Secret, place: str) -> None:
    assert "EPOCHAL_NOT_SET" not in os.environ
    with pytest.raises(epochal.OptionError, match="SECRET_UNREADABLE") as raised:
        epochal.read.jdbc(spark, sqlite.url, table="t", password=secret)
    assert f"cannot be read from the {place}" in raised.value.problem


def test_a_database_error_is_an_epochal_error(spark: SparkSession, database: Database) -> None:
    database.execute("CREATE TABLE t (id BIGINT)")
    with pytest.raises(epochal.DatabaseError, match="missing_table") as raised:
        epochal.read.jdbc(spark, database.url, table="missing_table", user=database.user)
    assert raised.value.condition == "DATABASE_ERROR"
    assert raised.value.original is not None
    found = epochal.read.jdbc(spark, database.url, table="t", user=database.user)
    database.execute("DROP TABLE t")
    with pytest.raises(epochal.DatabaseError, match=r"DATABASE_ERROR\] jdbc:\w+:\S+ cannot be read: ") as raised:
        found.filter("id > 1").collect()
    assert "\n" not in str(raised.value)


@contextmanager
def locked(sqlite: Sqlite) -> Iterator[None]:
    holder = sqlite3.connect(sqlite.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.close()


def test_a_lock_on_an_sqlite_file_is_named_with_its_holder(spark: SparkSession, sqlite: Sqlite) -> None:
    sqlite.execute("CREATE TABLE t (id BIGINT)")
    with locked(sqlite), pytest.raises(epochal.DatabaseError, match="DATABASE_LOCKED") as raised:
        epochal.read.jdbc(spark, sqlite.url, table="t", options={"busy_timeout": "100"})
    if sys.platform == "linux":
        assert f"locked by process {os.getpid()} " in raised.value.problem


@pytest.mark.slow
def test_a_table_is_read_after_a_lock_that_outlasts_the_timeout_of_the_driver(
    spark: SparkSession, sqlite: Sqlite
) -> None:
    sqlite.execute("CREATE TABLE t (id BIGINT)")
    with ThreadPoolExecutor() as pool, locked(sqlite):
        found = pool.submit(lambda: epochal.read.jdbc(spark, sqlite.url, table="t").count())
        with pytest.raises(StillLocked):
            found.result(4)
    assert found.result(20) == 0


def test_an_unreachable_database_and_a_missing_driver_are_named_errors(spark: SparkSession) -> None:
    with pytest.raises(epochal.DatabaseError, match=r"DATABASE_ERROR.*127\.0\.0\.1:1"):
        epochal.read.jdbc(spark, "jdbc:postgresql://127.0.0.1:1/x", table="t", user="u", password=HIDDEN)
    for url in ("jdbc:mysql://127.0.0.1/x", "jdbc:mariadb://127.0.0.1/x", "jdbc:unheard-of:x"):
        with pytest.raises(epochal.DatabaseError) as raised:
            epochal.read.jdbc(spark, url, table="t")
        assert raised.value.condition == "DRIVER_MISSING"


_WRITE_AND_READ = """
import sys, epochal
from pyspark.sql import SparkSession
conf = {"spark.ui.enabled": False, "spark.log.level": "OFF", "spark.driver.extraJavaOptions": sys.argv[1]}
spark = epochal.configure(SparkSession.builder.master("local[1]").config(map=conf)).getOrCreate()
sink = spark.range(3).write.format("epochal-jdbc").mode("append")
sink = sink.options(url=sys.argv[2], dbtable="t", createTable=True)
for step in (sink.save, lambda: print(epochal.read.jdbc(spark, sys.argv[2], table="t").count())):
    try:
        step()
    except epochal.EpochalError as error:
        print(error.condition, error.hint)
"""


@pytest.mark.slow
def test_sqlites_library_that_cannot_be_loaded_is_named_with_a_jvm_option_that_works(tmp_path: Path) -> None:
    def lines(option: str) -> list[str]:
        command = [sys.executable, "-c", _WRITE_AND_READ, option, f"jdbc:sqlite:{tmp_path}/x.db"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100)
        return [line for line in done.stdout.splitlines() if line.startswith(("DRIVER", "DATABASE", "3"))]

    failed = lines("-Dorg.sqlite.tmpdir=/no/such/directory")
    assert [line.partition(" ")[0] for line in failed] == ["DRIVER_UNUSABLE"] * 2
    for line in failed:
        option = re.search(r"-D[^ ,]+", line)
        assert option is not None
        assert lines(option[0])[-1] == "3"
        Path(tmp_path / "x.db").unlink()


def test_table_and_query_are_mutually_exclusive(spark: SparkSession, sqlite: Sqlite) -> None:
    partitions = jdbc.Partitions(column="id", lower=0, upper=1, count=2)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "OPTION_REQUIRED"),
        ({"table": "t", "query": "SELECT 1"}, "OPTION_CONFLICT"),
        ({"query": "SELECT 1", "partitions": partitions}, "OPTION_CONFLICT"),
        ({"table": "t", "options": {"dbtable": "u"}}, "OPTION_CONFLICT"),
        ({"table": "t", "partitions": 4}, "OPTION_INVALID"),
    ]
    for given, condition in cases:
        with pytest.raises(epochal.OptionError, match=condition):
            epochal.read.jdbc(spark, sqlite.url, **given)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows the timers of sockets")
def test_a_read_of_postgres_notices_a_lost_server_by_tcp_keep_alive(spark: SparkSession, postgres: Postgres) -> None:
    address, port = re.findall(r"//([^:/]+):(\d+)/", postgres.url)[0]
    with proxy(int(port)) as server, ThreadPoolExecutor() as pool:
        url = postgres.url.replace(f"{address}:{port}", f"127.0.0.1:{server.port}")
        slow = "SELECT id, CAST(pg_sleep(3) AS text) AS slept FROM generate_series(1, 1) AS id"
        rows = pool.submit(epochal.read.jdbc(spark, url, query=slow, user=postgres.user).collect)
        timers: set[str] = set()
        while not rows.done():
            timers |= timers_of(server.port)
            sleep(0.05)
        assert len(rows.result()) == 1
    assert "02" in timers, "no keep-alive timer"


def timers_of(port: int) -> set[str]:
    """The kinds of timers of the connections to a port of this machine; 02: keep-alive."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return {line[5].partition(":")[0] for line in lines if line[2].endswith(f":{port:04X}") and line[3] == "01"}


def test_columns_of_sqlite_are_read_with_the_callers_types(spark: SparkSession, sqlite: Sqlite) -> None:
    sqlite.execute("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (7)")
    found = epochal.read.jdbc(spark, sqlite.url, table="t", options={"customSchema": "id DECIMAL(20,0)"})
    assert [tuple(row) for row in found.collect()] == [(Decimal(7),)]


def test_sink_options_equal_the_writers_and_print_without_secrets() -> None:
    found = epochal.write.jdbc_options(
        "jdbc:postgresql://me:pw@db/x?password=pw",
        table="t",
        sink_id="s",
        mode=jdbc.Upsert(key_columns=["id"]),
        password=HIDDEN,
        connection=jdbc.Connection(properties={"sslpassword": HIDDEN}),
        ledger=jdbc.Ledger(on_new_query="replace"),
        options={"batchSize": 10},
    )
    assert found == {
        "url": "jdbc:postgresql://me:pw@db/x?password=pw",
        "dbtable": "t",
        "sinkId": "s",
        "mode": "upsert",
        "keyColumns": "id",
        "password": HIDDEN,
        "connection.sslpassword": HIDDEN,
        "onNewQuery": "replace",
        "batchSize": "10",
    }
    for printed in (repr(found), str(found), f"{pickle.loads(pickle.dumps(found))}"):
        assert HIDDEN not in printed
        assert "pw" not in printed
        assert "'sinkId': 's'" in printed
    sent = epochal.write.rest_options(
        "https://api.example.com/orders", auth=epochal.rest.Bearer(HIDDEN), headers={"X": HIDDEN}
    )
    assert sent == {"url": "https://api.example.com/orders", "bearerToken": HIDDEN, "headers.X": HIDDEN}
    assert HIDDEN not in repr(sent)
    assert "TOKEN" in repr(epochal.write.rest_options("u", auth=epochal.rest.Bearer(Secret.env("TOKEN"))))


def test_sink_options_are_validated_as_the_writers() -> None:
    for wrong in ({"mode": "upsert"}, {"password": ""}, {"options": {"dbtable": "u"}}, {"ledger": "replace"}):
        arguments: dict[str, Any] = {"table": "t", **wrong}
        with pytest.raises(epochal.OptionError):
            epochal.write.jdbc_options("jdbc:sqlite:x.db", **arguments)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:p@w@api.example.com/users/@me", "https://***@api.example.com/users/@me"),
        ("https://me:p/w@api.example.com/a", "https://***@api.example.com/a"),
        ("jdbc:oracle:thin:me/p@w@db:1521:shop", "jdbc:oracle:thin:***@db:1521:shop"),
        ("jdbc:oracle:thin:@db:1521:shop", "jdbc:oracle:thin:@db:1521:shop"),
        ("htps//db:5432/users/@me", "htps//db:5432/users/@me"),
    ],
)
def test_a_mistyped_url_is_shown_without_its_login(url: str, shown: str) -> None:
    assert without_login(url) == shown
    assert shown in repr(epochal.write.rest_options(url))


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("postgresql://me:s3cret@db:5432/shop?x=1", "jdbc:postgresql://db:5432/shop"),
        ("postgres://db/shop", "jdbc:postgresql://db/shop"),
        ("mysql+pymysql://db/shop", "jdbc:mysql://db/shop"),
        ("jbdc:postgresql://db/shop", "jdbc:postgresql://db/shop"),
        ("db:5432/shop", "jdbc:sqlite:comments.db"),
    ],
)
def test_a_url_that_is_not_of_jdbc_is_refused_with_the_one_that_it_means(url: str, meant: str) -> None:
    with pytest.raises(epochal.OptionError) as caught:
        epochal.read.jdbc(None, url, table="t")  # type: ignore[arg-type]
    assert caught.value.hint == f'Set it like this: url="{meant}".'
    assert "s3cret" not in str(caught.value)


def test_a_login_in_a_url_is_hidden() -> None:
    assert without_login("jdbc:postgresql://me:pw@db/x?user=me&password=pw&a=b") == (
        "jdbc:postgresql://***@db/x?user=me&password=***&a=b"
    )


def test_untyped_columns_of_sqlite_are_read_with_a_schema(spark: SparkSession, sqlite: Sqlite) -> None:
    sqlite.execute("CREATE TABLE t AS SELECT 1 AS n, 'a' AS word")
    found = epochal.read.jdbc(spark, sqlite.url, table="t", options={"customSchema": "n BIGINT, word STRING"})
    assert [tuple(row) for row in found.collect()] == [(1, "a")]
