"""Mistakes are refused with a named condition before anything is written."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ArithmeticException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal import Retry, jdbc, rest
from epochal._errors import short_traceback
from epochal.errors import named
from support.api import Api
from support.data import SCHEMA, comments, create_comments, stored
from support.databases import Database, Postgres, Sqlite
from support.streams import finish


@pytest.fixture
def source(spark: SparkSession, api: Api) -> DataFrame:
    api.records = comments(1, 20)
    return epochal.read.rest(spark, api.url, schema=SCHEMA)


def write(frame: DataFrame, database: Database, checkpoint: Path, **options: Any) -> None:
    options = {"table": "comments", "sink_id": "comments", "trigger": "availableNow"} | options
    with named():
        finish(epochal.write.jdbc(frame, database.url, user=database.user, checkpoint=checkpoint, **options))


@pytest.mark.slow
def test_an_action_on_a_helpers_read_names_arguments_and_on_another_one_options(
    spark: SparkSession, api: Api, checkpoint: Path
) -> None:
    api.records = [{"id": "not a number"}]
    stream = epochal.read.rest(spark, api.url, schema="id INT").writeStream.format("noop").trigger(availableNow=True)
    stream = stream.option("checkpointLocation", str(checkpoint))
    rows = epochal.read.rest(spark, api.url, schema="id INT", streaming=False)
    rows.createOrReplaceTempView("helpers_rows")
    other = spark.read.format("epochal-rest").option("url", api.url).schema("id INT").load()
    actions: dict[str, Callable[[], object]] = {
        "collect": rows.collect,
        "of another one": rows.selectExpr("id + 1").collect,
        "write": lambda: rows.write.format("noop").mode("append").save(),
        "view": lambda: spark.sql("SELECT * FROM helpers_rows").collect(),
        "stream": lambda: stream.start().awaitTermination(),
        "plain": other.collect,
    }
    hints = {}
    for name, action in actions.items():
        with pytest.raises(epochal.RecordError) as caught, named():
            action()
        hints[name] = 'records=rest.Json(mode="DROPMALFORMED")' in caught.value.hint
    assert hints == {name: name != "plain" for name in actions}


def assert_untouched(database: Database, checkpoint: Path) -> None:
    """Asserts that no row and no ledger row was written and no batch committed."""
    tables = database.tables()
    if "comments" in tables:
        assert database.query("SELECT count(*) FROM comments") == [(0,)]
    if "epochal_ledger" in tables:
        assert database.query("SELECT count(*) FROM epochal_ledger WHERE last_epoch >= 0") == [(0,)]
    assert not list((checkpoint / "commits").glob("[0-9]*"))


@pytest.mark.parametrize(
    ("source", "option", "nearest"),
    [("epochal-rest", "pagesize2", "pageSize"), ("epochal-random", "rowPerSecond", "rowsPerSecond")],
)
def test_a_misspelled_option_of_a_source_is_refused_with_the_right_one(
    spark: SparkSession, source: str, option: str, nearest: str
) -> None:
    reader = spark.readStream.format(source).option(option, "1").option("url", "http://127.0.0.1:1")
    if source == "epochal-random":
        reader = spark.readStream.format(source).option(option, "1")
    with pytest.raises(epochal.OptionError, match=rf"OPTION_UNKNOWN.*{option}.*{nearest}"), named():
        reader.load()


def test_a_python_name_is_refused_as_an_option_with_the_right_one(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_UNKNOWN.*rows_per_batch.*Did you mean 'rowsPerBatch'"):
        epochal.read.random(spark, options={"rows_per_batch": 10})


def test_a_misspelled_format_is_refused_with_the_right_one(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match=r"no format 'epochal-rndom'.*Did you mean 'epochal-random'"), named():
        spark.readStream.format("epochal-rndom").load()
    with (
        pytest.raises(
            epochal.OptionError, match=r"no format 'epochal-x'.*The formats are epochal-cdc, epochal-checkpoint"
        ),
        named(),
    ):
        spark.read.format("epochal-x").load()


def test_pythons_formats_are_the_jars() -> None:
    with zipfile.ZipFile(epochal.jar_path()) as jar:
        register = jar.read("META-INF/services/org.apache.spark.sql.sources.DataSourceRegister").decode()
    formats = [
        name for name in register.split() if not name.endswith("SupportedSpark")
    ]  # SupportedSpark only checks the version.
    assert len(epochal.errors._FORMATS) == len(formats)


def test_a_misspelled_option_of_the_sink_is_refused_with_the_right_one(
    source: DataFrame, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    writer = (
        source.writeStream.format("epochal-jdbc")
        .options(url=database.url, dbtable="comments", keyColums="id")
        .option("checkpointLocation", str(checkpoint))
    )
    if database.user:
        writer = writer.option("user", database.user)
    with pytest.raises(epochal.OptionError, match=r"OPTION_UNKNOWN.*keyColums.*keyColumns"), named():
        finish(writer.start())
    assert_untouched(database, checkpoint)


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"options": {"pagination": "sideways"}}, "OPTION_INVALID.*'pages'.*sideways.*none, offset, page"),
        ({"options": {"pageSize": 0, "pagination": "offset"}}, r"OPTION_INVALID.*'rest.Offset\(size=…\)'.*'0'"),
        ({"options": {"timeout": "soon"}}, r"OPTION_INVALID.*Http\(timeout=…\).*soon.*http=Http\(timeout=\"30s\"\)"),
        ({"pages": rest.Offset(), "options": {"pageSize": "x"}}, r"Set it like this: pages=rest.Offset\(size=1\)"),
        ({"pages": rest.Page(), "options": {"pageSize": "x"}}, r"Set it like this: pages=rest.Page\(size=1\)"),
        ({"options": {"pageSize": 10}}, r"OPTION_CONFLICT.*rest.Offset\(size=…\)"),
        (
            {"auth": [rest.Bearer("t"), rest.Basic(user="u")]},
            r"OPTION_CONFLICT.*rest.Bearer\(token=…\), rest.Basic\(user=…\)",
        ),
        ({"pages": rest.Offset(size=10), "options": {"pagesize": 10}}, "OPTION_CONFLICT.*twice"),
    ],
)
def test_a_wrong_value_is_refused_with_the_expected_kind(
    spark: SparkSession, options: dict[str, Any], condition: str
) -> None:
    with pytest.raises(epochal.OptionError, match=condition):
        epochal.read.rest(spark, "http://127.0.0.1:1", schema=SCHEMA, **options)


def test_a_source_without_a_schema_is_refused(spark: SparkSession) -> None:
    reader = spark.readStream.format("epochal-rest").option("url", "http://127.0.0.1:1")
    with pytest.raises(epochal.SchemaError, match="SCHEMA_REQUIRED"), named():
        reader.load()


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ("id INT name STRING", r"cannot be used: .*'name'.* Hint: Write it as DDL"),
        ("id DECIMAL\\(50,2\\)", r"cannot be used: .* 38.* Hint: Write it as DDL"),
        ("id INT, name STRNG", r'cannot be used: .*STRNG.* Hint: Did you mean schema="id INT, name STRING"\?'),
    ],
)
def test_a_schema_that_cannot_be_parsed_is_one_line_with_what_was_meant(
    spark: SparkSession, schema: str, shown: str
) -> None:
    with pytest.raises(epochal.SchemaError, match=f"SCHEMA_INVALID.*{schema}.*epochal.read.rest {shown}") as caught:
        epochal.read.rest(spark, "http://127.0.0.1:1", schema=schema.replace("\\", ""))
    assert isinstance(caught.value, ParseException | ArithmeticException)
    assert "\n" not in str(caught.value)
    assert len(short_traceback(caught.value)) <= 5


def test_a_schema_for_fixed_columns_is_refused(spark: SparkSession) -> None:
    with pytest.raises(epochal.SchemaError, match=r"SCHEMA_UNSUPPORTED"), named():
        spark.readStream.format("epochal-random").schema("a INT").load()


def test_an_invalid_url_is_refused(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_INVALID.*url"):
        epochal.read.rest(spark, "comments.example", schema=SCHEMA)


def test_a_missing_table_is_refused_with_a_suggestion(source: DataFrame, database: Database, checkpoint: Path) -> None:
    create_comments(database)
    with pytest.raises(epochal.TableError, match=r"TABLE_MISSING.*coments.*comments"):
        write(source, database, checkpoint, table="coments")
    assert_untouched(database, checkpoint)


def test_a_missing_column_is_refused_and_the_table_s_columns_named(
    source: DataFrame, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    with pytest.raises(epochal.TableError, match=r"COLUMN_MISSING.*mail.*email"):
        write(source.withColumnRenamed("email", "mail"), database, checkpoint)
    assert_untouched(database, checkpoint)


def test_a_missing_required_column_is_named(source: DataFrame, database: Database, checkpoint: Path) -> None:
    create_comments(database)
    database.execute("DROP TABLE comments", "CREATE TABLE comments (id INTEGER, name TEXT NOT NULL)")
    with pytest.raises(epochal.TableError, match=r"COLUMN_REQUIRED.*name"):
        write(source.select("id"), database, checkpoint)
    assert_untouched(database, checkpoint)


def test_a_column_of_another_type_is_refused_with_the_cast(
    source: DataFrame, postgres: Postgres, checkpoint: Path
) -> None:
    create_comments(postgres)
    with pytest.raises(epochal.TableError, match=r"COLUMN_TYPE_MISMATCH.*name.*(?i:binary).*text"):
        write(source.selectExpr("id", "CAST(name AS BINARY) AS name"), postgres, checkpoint)
    assert_untouched(postgres, checkpoint)


def test_an_unknown_kind_of_database_is_refused(source: DataFrame, checkpoint: Path) -> None:
    with pytest.raises(epochal.EpochalError, match="jdbc:nosuch") as caught, named():
        finish(epochal.write.jdbc(source, "jdbc:nosuch:x", table="t", checkpoint=checkpoint, trigger="availableNow"))
    assert caught.value.condition in ("OPTION_INVALID", "DRIVER_MISSING")


def test_an_unreachable_database_is_named_without_its_password(source: DataFrame, checkpoint: Path) -> None:
    options: dict[str, Any] = {"table": "t", "user": "someone", "password": "s3cret", "retry": Retry(attempts=1)}
    with pytest.raises(epochal.DatabaseError, match=r"DATABASE_UNREACHABLE.*127\.0\.0\.1:1") as caught, named():
        finish(epochal.write.jdbc(source, "jdbc:postgresql://127.0.0.1:1/none", checkpoint=checkpoint, **options))
    assert "s3cret" not in str(caught.value) + str(caught.value.original)


def test_a_missing_directory_is_refused_for_sqlite(source: DataFrame, tmp_path: Path, checkpoint: Path) -> None:
    missing = Sqlite(tmp_path / "nowhere" / "test.db")
    with pytest.raises(epochal.DatabaseError, match="nowhere"):
        write(source, missing, checkpoint, create_table=True, retry=Retry(attempts=1))
    assert not missing.path.parent.exists()


def test_upsert_without_key_columns_is_refused(source: DataFrame, database: Database, checkpoint: Path) -> None:
    create_comments(database)
    with pytest.raises(epochal.TableError, match=r"KEY_COLUMNS_REQUIRED.*mode=jdbc.Upsert\(key_columns=\[\"id\"\]\)"):
        write(source, database, checkpoint, options={"mode": "upsert"})
    assert_untouched(database, checkpoint)


def test_upsert_on_columns_that_are_not_unique_is_refused(
    source: DataFrame, database: Database, checkpoint: Path
) -> None:
    create_comments(database)
    with pytest.raises(epochal.TableError, match="KEY_NOT_UNIQUE"):
        write(source, database, checkpoint, mode=jdbc.Upsert(key_columns=["id"]))
    assert_untouched(database, checkpoint)


def _continuous(source: DataFrame, database: Database, checkpoint: Path) -> StreamingQuery:
    writer = source.writeStream.format("epochal-jdbc").options(
        url=database.url, dbtable="numbers", checkpointLocation=str(checkpoint)
    )
    if database.user:
        writer = writer.option("user", database.user)
    return writer.trigger(continuous="1 second").start()


def test_a_continuous_trigger_is_refused_if_only_the_driver_writes(
    spark: SparkSession, sqlite: Database, checkpoint: Path
) -> None:
    sqlite.execute("CREATE TABLE numbers (id BIGINT)")
    with pytest.raises(epochal.ModeError, match=r"TRIGGER_UNSUPPORTED.*continuous"), named():
        finish(_continuous(epochal.read.random(spark).select("id"), sqlite, checkpoint))
    assert sqlite.query("SELECT count(*) FROM numbers") == [(0,)]


def test_rows_that_a_continuous_trigger_cannot_count_are_refused(
    spark: SparkSession, postgres: Database, checkpoint: Path
) -> None:
    postgres.execute("CREATE TABLE numbers (id BIGINT)")
    rows = epochal.read.random(spark).selectExpr("CAST(rand() * 10 AS BIGINT) AS id")
    with pytest.raises(epochal.ModeError, match=r"MODE_UNSUPPORTED.*rand"), named():
        finish(_continuous(rows, postgres, checkpoint))
    assert postgres.query("SELECT count(*) FROM numbers") == [(0,)]


def test_a_row_that_cannot_be_stored_fails_its_epoch_whole(
    spark: SparkSession, api: Api, postgres: Postgres, checkpoint: Path
) -> None:
    create_comments(postgres)
    api.records = [*comments(1, 5), {"id": 6, "body": "zero \0 byte"}]
    with pytest.raises(epochal.SinkError, match=r"BAD_ROW.*body"):
        write(epochal.read.rest(spark, api.url, schema=SCHEMA), postgres, checkpoint)
    assert stored(postgres) == []


def test_a_stream_needs_a_checkpoint(source: DataFrame, sqlite: Sqlite) -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_REQUIRED.*checkpoint"):
        epochal.write.jdbc(source, sqlite.url, table="comments")


def test_a_batch_refuses_stream_arguments(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_CONFLICT.*checkpoint, trigger"):
        epochal.write.jdbc(spark.range(3), sqlite.url, table="t", checkpoint=checkpoint, trigger="availableNow")


def test_an_invalid_trigger_is_refused_before_the_query_starts(
    source: DataFrame, sqlite: Sqlite, checkpoint: Path
) -> None:
    for trigger in ("available_now", "avaliableNow"):
        with pytest.raises(epochal.OptionError, match=r"Did you mean trigger=\"availableNow\""):
            epochal.write.jdbc(source, sqlite.url, table="t", checkpoint=checkpoint, trigger=trigger)
