"""Types that Spark 4.3 adds: refused by name before anything is written, with a conversion that works as given."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal.tools.display import cells
from support.api import Api
from support.databases import Sqlite

pytestmark = pytest.mark.skipif(
    tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < (4, 3), reason="the types are of Spark 4.3"
)

POINT = "ST_GeomFromWKB(X'0101000000000000000000F03F0000000000000040')"
VALUES = {
    "geometry": POINT,
    "struct": f"struct({POINT} AS at)",
    "nanoseconds": "CAST('2026-01-01 00:00:00.123456789' AS TIMESTAMP_NTZ(9))",
}


@pytest.fixture
def typed(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with these types."""
    names = ["spark.sql.geospatial.enabled", "spark.sql.timestampNanosTypes.enabled"]
    for name in names:
        spark.conf.set(name, "true")
    yield spark
    for name in names:
        spark.conf.unset(name)


def write(rows: DataFrame, where: str, sqlite: Sqlite, api: Api) -> None:
    if where == "JSON":
        rows.write.format("epochal-rest").options(url=api.url, batchSize="1").mode("append").save()
    else:
        rows.write.format("epochal-jdbc").options(url=sqlite.url, dbtable="t", createTable="true").mode("append").save()


@pytest.mark.parametrize("kind", ["geometry", "struct", "nanoseconds"])
@pytest.mark.parametrize("where", ["SQLite", "JSON"])
def test_a_column_of_a_new_type_is_refused_and_its_conversion_is_written(
    kind: str, where: str, typed: SparkSession, sqlite: Sqlite, api: Api
) -> None:
    rows = typed.sql(f"SELECT {VALUES[kind]} AS c")
    with pytest.raises(epochal.TableError) as refused, epochal.errors.named():
        write(rows, where, sqlite, api)
    assert refused.value.condition == "TYPE_UNSUPPORTED"
    assert f"which {where} cannot store exactly" in refused.value.problem
    assert not api.requests
    if kind != "struct" and where == "SQLite":
        (conversion,) = re.findall(r"Convert it in the query: (\w+\(.*?\))", refused.value.hint)
        write(typed.sql(f"SELECT {conversion} AS c FROM (SELECT {VALUES[kind]} AS c)"), where, sqlite, api)
        assert sqlite.query("SELECT count(*) FROM t WHERE c IS NOT NULL") == [(1,)]


@pytest.mark.parametrize("kind", ["GEOMETRY(4326)", "TIMESTAMP_NTZ(9)"])
def test_a_source_refuses_a_schema_with_a_new_type(kind: str, typed: SparkSession, api: Api) -> None:
    with pytest.raises(epochal.SchemaError) as refused, epochal.errors.named():
        typed.read.format("epochal-rest").options(url=api.url, schema=f"c {kind}").load()
    assert refused.value.condition == "SCHEMA_INVALID"


def test_a_display_shows_a_geometry_as_its_bytes(typed: SparkSession) -> None:
    rows = typed.sql(f"SELECT {POINT} AS c0")
    ((text,),) = rows.selectExpr(*cells.expressions(rows.schema)).collect()
    assert text.startswith("0x01010000")
