"""How a source becomes a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epochal import _hooks, _references
from epochal._form import Form
from epochal._options import OptionValue
from epochal.errors import named

#: How Spark refuses to analyse a DataFrame in the function of a pipeline's flow.
_IN_A_FLOW = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def load(
    spark: SparkSession,
    form: Form,
    given: Mapping[str, Any],
    more: Mapping[str, OptionValue] | None,
    schema: str | StructType | None,
    streaming: bool,
) -> DataFrame:
    """A plain ``DataStreamReader`` call, or with ``streaming=False`` a ``DataFrameReader`` one.

    Options are checked before it returns, on a Connect session too, which asks its server with the first action only.

    Args:
        given: the arguments of the helper that are options.
        more: options by the jar's own names.

    Raises:
        EpochalError: what the source refuses, by its condition.
    """
    _hooks.install()
    options = form.options(given, more)
    with _references.calling([_references.Call(form, form.kinds(options.get))]), named():
        reader = (spark.readStream if streaming else spark.read).format(form.format).options(**options)
        frame = (reader if schema is None else reader.schema(schema)).load()
        try:
            _ = frame.schema
        except Exception as error:
            # A pipeline asks for no schema before all its flows are known; then it checks the options itself.
            if _IN_A_FLOW not in str(error):
                raise
        return frame
