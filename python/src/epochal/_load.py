"""Loads a source as a DataFrame, or a table with Spark's ``jdbc`` format."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epochal import _calls, _hooks, _locks
from epochal._declarations import Form
from epochal._options import OptionValue
from epochal._values.secret import MASK, Secret
from epochal._values.value import without_login
from epochal.errors import DatabaseError, EpochalError, OptionError, SessionWithoutJarError, _of_condition, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: Spark's condition when the function of a pipeline's flow analyses a DataFrame.
_IN_A_FLOW = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"

#: PySpark's exceptions for the text of a schema.
_OF_SCHEMAS = ("ParseException", "ArithmeticException")
#: Types of a schema: the nearest one to an unknown type is suggested.
_TYPES = "BIGINT INT STRING DOUBLE DECIMAL BOOLEAN DATE TIMESTAMP FLOAT SMALLINT TINYINT BINARY ARRAY MAP STRUCT"

#: Spark finds a driver in a jar of ``--jars`` only by its class name.
_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "mariadb": "org.mariadb.jdbc.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
}
#: Drivers in Epochal's jar.
_BUNDLED = ("org.postgresql.Driver", "org.sqlite.JDBC")
#: Rows per fetch: without a limit, PostgreSQL's driver reads the whole table into memory.
_FETCHED_ROWS = "1000"
#: Options of PostgreSQL's driver: a login may take a minute, and a lost server is detected.
_BOUNDS = {"loginTimeout": "60", "tcpKeepAlive": "true"}
#: The 64-bit type for each narrower type that Spark infers: SQLite stores 64 bits under any declared type.
_WIDER = {"tinyint": "BIGINT", "smallint": "BIGINT", "int": "BIGINT", "float": "DOUBLE"}


def load(
    spark: SparkSession,
    form: Form,
    arguments: Mapping[str, Any],
    more: Mapping[str, OptionValue] | None,
    schema: str | StructType | None,
    streaming: bool,
) -> DataFrame:
    """A plain ``DataStreamReader`` call, or with ``streaming=False`` a ``DataFrameReader`` one.

    Options are checked before it returns, also on a Connect session, which otherwise contacts its server only with the
    first action.
    """
    _hooks.install()
    options = form.options(arguments, more)
    with _calls.calling([_calls.Call(form, form.kinds(options.get))]), named():
        reader = (spark.readStream if streaming else spark.read).format(form.format).options(**options)
        try:
            frame = (reader if schema is None else reader.schema(schema)).load()
            try:
                _ = frame.schema
            except Exception as error:
                # A pipeline analyses a flow once all flows are known, and then checks the options itself.
                if _IN_A_FLOW not in str(error):
                    raise
        except Exception as error:
            if isinstance(schema, str) and type(error).__name__ in _OF_SCHEMAS:
                raise _invalid_schema(form, schema, error) from None
            raise
    _calls.remember(frame)
    return frame


def _invalid_schema(form: Form, schema: str, error: Exception) -> EpochalError:
    """The error for a schema that Spark cannot parse, with the nearest type in place of an unknown one."""
    reason = re.sub(r"^\s*\[[\w.]+\] |\.? SQLSTATE: \w+", "", str(error).strip().partition("\n")[0]).rstrip(".")
    failure = _of_condition("SCHEMA_INVALID", schema=schema, format=form.caller, reason=reason)
    if misspelling := re.search(r'Unsupported data type "(\w+)"', reason):
        for near in difflib.get_close_matches(misspelling[1].upper(), _TYPES.split(), 1):
            correction = re.sub(rf"(?i)\b{misspelling[1]}\b", near, schema)
            failure.hint = f'Did you mean schema="{correction}"?'
    failure.original = error
    return _hooks.of_both_kinds(failure, error)


def load_table(
    spark: SparkSession, form: Form, arguments: Mapping[str, Any], more: Mapping[str, OptionValue] | None
) -> DataFrame:
    """A plain ``DataFrameReader`` call, which reads the columns from the database."""
    _hooks.install()
    password: Secret | None = arguments["password"]
    secret = None if password is None else password.here()
    options = dict(form.options({**arguments, "password": secret}, more))
    _check_input(form, options)
    names = {name.lower() for name in options}
    kind = arguments["url"].removeprefix("jdbc:").partition(":")[0]
    if "driver" not in names and kind in _DRIVERS:
        options["driver"] = _DRIVERS[kind]
    if "fetchsize" not in names:
        options["fetchsize"] = _FETCHED_ROWS
    if kind == "sqlite" and "busy_timeout" not in f"{names} {options['url']}":
        options["busy_timeout"] = str(1000 * _locks.TIMEOUT_SECONDS)
    if kind == "postgresql":
        given_names = f"{names} {options['url']}".lower()
        options.update({name: value for name, value in _BOUNDS.items() if name.lower() not in given_names})
    options["url"] = _for_spark(options["url"])
    try:
        frame = _load(spark, options)
        if kind == "sqlite" and "customschema" not in names and (columns := _custom_schema(frame)):
            frame = _load(spark, {**options, "customSchema": columns})
        _calls.remember(frame, lambda error: _error(error, options, secret))
        return frame
    except Exception as error:
        failure = _error(error, options, secret)
        if failure is None:
            raise
        failure.original = error
        raise failure from None


def _load(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    frame = spark.read.format("jdbc").options(**options).load()
    _ = frame.schema
    return frame


def _check_input(form: Form, options: Mapping[str, str]) -> None:
    inputs = {name.lower() for name in options} & {"dbtable", "query"}
    if not inputs:
        raise OptionError(
            "OPTION_REQUIRED",
            f"{form.caller} needs 'table' or 'query' (the rows to read).",
            'Set it like this: table="comments".',
        )
    if not options["url"].lower().startswith("jdbc:"):
        masked_url = without_login(options["url"]).partition("?")[0]
        match = re.fullmatch(r"(?:j[bcd]+:)?(postgres|mysql|mariadb)(?:ql)?(?:\+\w+)?:(//.*)", masked_url)
        driver, place = match.groups() if match else ("sqlite", "comments.db")
        example = f"jdbc:{driver.replace('postgres', 'postgresql')}:{place.replace(f'{MASK}@', '')}"
        problem = f"The argument 'url' of {form.caller} is '{masked_url}', which is not a JDBC URL."
        raise OptionError("OPTION_INVALID", problem, f'Set it like this: url="{example}".')
    exclusive = f"{form.caller} was given arguments that exclude each other"
    if len(inputs) > 1:
        raise OptionError("OPTION_CONFLICT", f"{exclusive}: table, query.", "Keep one of them.")
    if "query" in inputs and "partitionColumn" in options:
        hint = 'Give the query as a table: table="(SELECT …) AS part".'
        raise OptionError("OPTION_CONFLICT", f"{exclusive}: query, partitions.", hint)


def _for_spark(url: str) -> str:
    """Rewrites a MariaDB URL as a MySQL one: only for those does Spark quote names as MariaDB needs.

    Statements contain names from the server, with which it could ask MariaDB's driver for a file.
    """
    if not url.startswith("jdbc:mariadb:"):
        return url
    separator = "&" if "?" in url else "?"
    files = "" if "allowlocalinfile" in url.lower() else "&allowLocalInfile=false"
    return f"jdbc:mysql:{url.removeprefix('jdbc:mariadb:')}{separator}permitMysqlScheme{files}"


def _custom_schema(frame: DataFrame) -> str:
    """The columns to read with a wider type than Spark infers, as a ``customSchema``."""
    columns = [(one.name, _WIDER.get(one.dataType.simpleString())) for one in frame.schema.fields]
    return ", ".join("`{}` {}".format(name.replace("`", "``"), wider) for name, wider in columns if wider)


_JAVA = re.compile(r"\b((?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error))\)?:? ?([^\n]*)")
_MISSING = ("ClassNotFoundException", "No suitable driver")
_UNUSABLE = re.compile(
    r"(?:org\.sqlite\.NativeLibraryNotFoundException"
    r"|java\.lang\.(?:UnsatisfiedLinkError|NoClassDefFoundError|ExceptionInInitializerError))[^\n]*"
)


def _error(error: Exception, options: Mapping[str, str], secret: Secret | None) -> EpochalError | None:
    """The driver's error, without the password; None for an error of Spark itself."""
    if isinstance(error, EpochalError):
        return None
    traces = (getattr(error, name, None) for name in ("_stackTrace", "_stacktrace"))
    message = "\n".join(str(part) for part in (error, *traces) if part)
    driver = options.get("driver", "")
    if any(sign in message for sign in _MISSING):
        if driver in _BUNDLED:
            return SessionWithoutJarError.behind(error)
        return DatabaseError(
            "DRIVER_MISSING",
            f"The driver {driver or 'of ' + without_login(options['url'])} is not on Spark's class path.",
            "Add its jar to the session (spark.jars, or --jars), or name its class: options={'driver': '…'}.",
        )
    if unusable := _UNUSABLE.search(message):
        return DatabaseError(
            "DRIVER_UNUSABLE", f"The JDBC driver {driver} cannot run in Spark's JVM: {unusable[0]}.", _advice(driver)
        )
    reason = _of_driver(message)
    if reason is None:
        return None
    text = reason if secret is None else reason.replace(secret.value, MASK)
    if options["url"].startswith("jdbc:sqlite:") and _locks.is_locked(reason):
        file = options["url"].partition("?")[0].removeprefix("jdbc:sqlite:").removeprefix("file:")
        return _locks.locked(without_login(options["url"]), Path(file), text)
    return DatabaseError(
        "DATABASE_ERROR",
        f"{without_login(options['url'])} cannot be read: {without_login(text)}.",
        "Correct the cause that the database reports, and run it again.",
    )


def _advice(driver: str) -> str:
    if driver != "org.sqlite.JDBC":
        return "Add all jars that the driver needs, in matching releases, to the session (spark.jars, or --jars)."
    return (
        "It unpacks its native library into Java's temporary directory. Start Spark with "
        "spark.driver.extraJavaOptions=-Dorg.sqlite.tmpdir=/var/tmp (and spark.executor.extraJavaOptions), or another "
        "directory that this user may write and that is mounted without noexec."
    )


def _of_driver(message: str) -> str | None:
    """The message of the first driver exception in a chain of causes; Spark's own message where it hides the cause."""
    for name, text in _JAVA.findall(message):
        if "sql" in name.lower() and not name.startswith(("org.apache.", "py4j.", "pyspark.")):
            return str(text)
    by_spark = re.search(r"\[FAILED_JDBC[^\]]*\][^\n]*on the operation: ([^\n]*?)(?: SQLSTATE: \w+)?(?:\n|$)", message)
    return by_spark and by_spark[1]
