"""The source to check: a format's name, a Python data source, or a function that creates a Python reader."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from epochal.errors import ConfigurationError, OptionError
from epochal.tools.testing.reader import is_simple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType

_numbers = itertools.count()


@dataclass(frozen=True)
class Subject:
    """The source to check.

    Attributes:
        name: name of its format.
        make_reader: creates a Python reader; None if the source is not written in Python.
        frame: returns a new streaming DataFrame over the source.
    """

    name: str
    make_reader: Callable[[], Any] | None
    frame: Callable[[], DataFrame]


def subject(
    spark: SparkSession,
    source: str | type[DataSource] | Callable[[], Any],
    options: Mapping[str, Any],
    schema: str | StructType | None,
) -> Subject:
    """The source for an argument of ``check_source``.

    Raises:
        OptionError: a function that creates a reader was passed without a schema.
        ConfigurationError: Spark requires pyarrow for Python readers, and it is not installed (``EXTRA_MISSING``).
    """
    from pyspark.sql.datasource import DataSource

    texts = {name: str(value) for name, value in options.items()}
    if isinstance(source, str):
        return Subject(source, None, lambda: _frame(spark, source, texts, schema))
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigurationError(
            "EXTRA_MISSING",
            "Spark needs pyarrow to read from a data source in Python, which is not installed.",
            "Run: pip install pyarrow.",
        )
    kind = source if inspect.isclass(source) and issubclass(source, DataSource) else _around(source, schema)
    spark.dataSource.register(kind)
    user_schema = schema if inspect.isclass(source) else None
    return Subject(
        kind.name(), lambda: _reader(kind, texts, schema), lambda: _frame(spark, kind.name(), texts, user_schema)
    )


def _frame(spark: SparkSession, name: str, options: dict[str, str], schema: str | StructType | None) -> DataFrame:
    reader = spark.readStream.format(name).options(**options)
    return (reader if schema is None else reader.schema(schema)).load()


def _reader(kind: type[DataSource], options: dict[str, str], schema: str | StructType | None) -> Any:
    from pyspark.errors import PySparkNotImplementedError
    from pyspark.sql.types import StructType

    source = kind(options)
    column_spec = schema if schema is not None else source.schema()
    columns = (
        column_spec if isinstance(column_spec, StructType) else cast("StructType", StructType.fromDDL(column_spec))
    )
    try:
        return source.streamReader(columns)
    except (PySparkNotImplementedError, NotImplementedError):
        return source.simpleStreamReader(columns)


def _around(make: Callable[[], Any], columns: str | StructType | None) -> type[DataSource]:
    from pyspark.sql.datasource import DataSource

    if columns is None:
        raise OptionError(
            "OPTION_REQUIRED", "A reader does not declare its columns.", 'Pass `schema`, such as "line STRING".'
        )
    ddl = columns
    format_name = f"epochal_checked_{next(_numbers)}"

    class Checked(DataSource):
        """The reader as a data source."""

        @classmethod
        def name(cls) -> str:
            return format_name

        def schema(self) -> StructType | str:
            return ddl

    if is_simple(make()):
        Checked.simpleStreamReader = lambda self, schema: make()  # type: ignore[method-assign]
    else:
        Checked.streamReader = lambda self, schema: make()  # type: ignore[method-assign]
    return Checked
