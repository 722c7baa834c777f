"""A source as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epochal.errors import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def load(
    spark: SparkSession, source: str, options: dict[str, str], schema: str | StructType | None, streaming: bool
) -> DataFrame:
    """A stream over ``source``, or what it has now."""
    with named():
        if streaming:
            stream = spark.readStream.format(source).options(**options)
            return (stream if schema is None else stream.schema(schema)).load()
        batch = spark.read.format(source).options(**options)
        return (batch if schema is None else batch.schema(schema)).load()
