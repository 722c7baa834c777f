"""How a source becomes a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epochal import _names
from epochal.errors import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def load(
    spark: SparkSession, source: str, options: dict[str, str], schema: str | StructType | None, streaming: bool
) -> DataFrame:
    """A plain ``DataStreamReader`` call, or with ``streaming=False`` a ``DataFrameReader`` one.

    Options are checked before it returns, on a Connect session too, which asks its server with the first action only.

    Raises:
        EpochalError: what the source refuses, by its condition.
    """
    with _names.helper(), named():
        reader = (spark.readStream if streaming else spark.read).format(source).options(**options)
        frame = (reader if schema is None else reader.schema(schema)).load()
        _ = frame.schema
        return frame
