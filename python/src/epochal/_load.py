"""Loads a source as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epochal import _hooks, _references
from epochal._form import Form
from epochal._options import OptionValue
from epochal.errors import named

#: Spark's condition when the function of a pipeline's flow analyses a DataFrame.
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

    Options are checked before it returns, also on a Connect session, which otherwise contacts its server only with the
    first action.

    Args:
        given: the helper's arguments that are options.
        more: options by the names that the jar gives them.

    Raises:
        EpochalError: the source rejects the options.
    """
    _hooks.install()
    options = form.options(given, more)
    with _references.calling([_references.Call(form, form.kinds(options.get))]), named():
        reader = (spark.readStream if streaming else spark.read).format(form.format).options(**options)
        frame = (reader if schema is None else reader.schema(schema)).load()
        try:
            _ = frame.schema
        except Exception as error:
            # A pipeline analyses a flow once all flows are known, and then checks the options itself.
            if _IN_A_FLOW not in str(error):
                raise
        return frame
