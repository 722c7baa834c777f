"""A table or a query as a batch, by Spark's own ``jdbc`` format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epochal import _hooks
from epochal._form import Form
from epochal._options import OptionValue
from epochal._values.secret import Secret
from epochal._values.value import MASK, without_login
from epochal.errors import DatabaseError, EpochalError, OptionError, SessionWithoutJarError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Spark finds no driver in a jar that came with ``--jars`` unless it is told the class.
_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "mariadb": "org.mariadb.jdbc.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
}
#: Those in Epochal's own jar.
_OURS = ("org.postgresql.Driver", "org.sqlite.JDBC")
#: Rows that the driver fetches at once: without a limit, PostgreSQL's reads a whole table into memory.
_FETCHED_ROWS = "1000"
#: What SQLite keeps in 64 bits, whatever it is declared as, by how Spark reads it.
_WIDER = {"tinyint": "BIGINT", "smallint": "BIGINT", "int": "BIGINT", "float": "DOUBLE"}


def load_table(
    spark: SparkSession, form: Form, given: Mapping[str, Any], more: Mapping[str, OptionValue] | None
) -> DataFrame:
    """A plain ``DataFrameReader`` call, for which the database is asked for the columns.

    Args:
        given: the arguments of the helper that are options.
        more: options of Spark's format.

    Raises:
        OptionError: what to read is not said once, or a secret cannot be read.
        DatabaseError: what the driver says.
    """
    _hooks.install()
    password: Secret | None = given["password"]
    secret = None if password is None else password.here()
    options = dict(form.options({**given, "password": secret}, more))
    _check_what(form, options)
    lowered = {name.lower() for name in options}
    kind = given["url"].removeprefix("jdbc:").partition(":")[0]
    if "driver" not in lowered and kind in _DRIVERS:
        options["driver"] = _DRIVERS[kind]
    if "fetchsize" not in lowered:
        options["fetchsize"] = _FETCHED_ROWS
    options["url"] = _for_spark(options["url"])
    try:
        frame = _loaded(spark, options)
        if kind == "sqlite" and "customschema" not in lowered and (columns := _widened(frame)):
            return _loaded(spark, {**options, "customSchema": columns})
        return frame
    except Exception as error:
        found = _error(error, options, secret)
        if found is None:
            raise
        raise found from None


def _loaded(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    frame = spark.read.format("jdbc").options(**options).load()
    _ = frame.schema
    return frame


def _check_what(form: Form, options: Mapping[str, str]) -> None:
    said = {name.lower() for name in options} & {"dbtable", "query"}
    if not said:
        raise OptionError(
            "OPTION_REQUIRED",
            f"{form.caller} needs 'table' or 'query' (what to read).",
            'Set it like this: table="comments".',
        )
    if len(said) > 1:
        raise OptionError(
            "OPTION_CONFLICT",
            f"{form.caller} was given arguments that exclude each other: table, query.",
            "Keep one of them.",
        )
    if "query" in said and "partitionColumn" in options:
        raise OptionError(
            "OPTION_CONFLICT",
            f"{form.caller} was given arguments that exclude each other: query, partitions.",
            'Give the query as a table: table="(SELECT …) AS part".',
        )


def _for_spark(url: str) -> str:
    """Spark quotes names as MariaDB wants them only where the URL says that it is MySQL."""
    if not url.startswith("jdbc:mariadb:"):
        return url
    separator = "&" if "?" in url else "?"
    return f"jdbc:mysql:{url.removeprefix('jdbc:mariadb:')}{separator}permitMysqlScheme"


def _widened(frame: DataFrame) -> str:
    """The columns whose values have more bits in SQLite than Spark would read, as Spark writes names and types."""
    columns = [(one.name, _WIDER.get(one.dataType.simpleString())) for one in frame.schema.fields]
    return ", ".join("`{}` {}".format(name.replace("`", "``"), wider) for name, wider in columns if wider)


_JAVA = re.compile(r"\b((?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error))\)?:? ?([^\n]*)")
_MISSING = ("ClassNotFoundException", "No suitable driver")


def _error(error: Exception, options: Mapping[str, str], secret: Secret | None) -> EpochalError | None:
    """What the driver says, without the password; None where the error is Spark's own."""
    if isinstance(error, EpochalError):
        return None
    traces = (getattr(error, name, None) for name in ("_stackTrace", "_stacktrace"))
    message = "\n".join(str(part) for part in (error, *traces) if part)
    driver = options.get("driver", "")
    if any(sign in message for sign in _MISSING):
        if driver in _OURS:
            remote = "connect" in type(error).__module__.split(".")
            return _of(SessionWithoutJarError.of_server() if remote else SessionWithoutJarError.told(), error)
        return _of(
            DatabaseError(
                "DRIVER_MISSING",
                f"The driver {driver or 'of ' + without_login(options['url'])} is not on Spark's class path.",
                "Add its jar to the session (spark.jars, or --jars), or name its class: options={'driver': '…'}.",
            ),
            error,
        )
    said = _of_driver(message)
    if said is None:
        return None
    text = said if secret is None else said.replace(secret.value, MASK)
    return _of(
        DatabaseError(
            "DATABASE_ERROR",
            f"{without_login(options['url'])} cannot be read: {without_login(text).rstrip('.')}.",
            "Correct what the database names, and run it again.",
        ),
        error,
    )


def _of_driver(message: str) -> str | None:
    """Of an error and its causes the first that a driver has raised; what Spark says instead, where it hides that."""
    for name, text in _JAVA.findall(message):
        if "sql" in name.lower() and not name.startswith(("org.apache.", "py4j.", "pyspark.")):
            return str(text)
    hidden = re.search(r"\[FAILED_JDBC[^\]]*\][^\n]*on the operation: ([^\n]*?)(?: SQLSTATE: \w+)?(?:\n|$)", message)
    return hidden and hidden[1]


def _of(found: EpochalError, error: Exception) -> EpochalError:
    found.original = error
    return found
