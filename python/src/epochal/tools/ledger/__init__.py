"""``epochal.ledger``: the sink's ledger in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epochal import _calls
from epochal._declarations import LEDGER
from epochal._values.kind import SECRET
from epochal._values.secret import Secret
from epochal._values.value import Option, settings_of
from epochal.errors import OptionError
from epochal.tools.ledger import jvm, postgres, sqlite
from epochal.tools.ledger.model import Change, DatabaseLedger, LedgerEpoch, LedgerRow, ReplicaComparison

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Change", "DatabaseLedger", "LedgerEpoch", "LedgerRow", "ReplicaComparison", "change", "ledger"]

_CALLS = (_calls.Call(LEDGER, ()),)


@LEDGER.helper
def ledger(
    url: str,
    *,
    schema: str | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    spark: SparkSession | None = None,
) -> DatabaseLedger:
    """Reads the ledger of a database without changing it.

    >>> for row in epochal.ledger("jdbc:sqlite:comments.db"):  # doctest: +SKIP
    ...     print(row.sink_id, row.last_epoch)

    Args:
        url: the sink's JDBC URL. SQLite is read without Spark and without a JVM; so is PostgreSQL, if psycopg is
            installed (``pip install 'psycopg[binary]'``) and the URL has no parameters of PgJDBC alone.
        schema: schema of the sink's table; unset, it is resolved in the same way as by the sink.
        user: database user.
        password: password of the user.
        spark: a classic session with the jar, required for all other databases.

    Returns:
        A frozen value with one row for each sink, ordered by sink id. Prints as a table.

    Raises:
        SinkIdentityError: there is no ledger (``LEDGER_NOT_FOUND``).
        DatabaseError: the database cannot be reached, or reports an error.
        OptionError: the database requires a session.
        ConnectUnsupportedError: ``spark`` is a Spark Connect session.
    """
    with _calls.calling(_CALLS):
        if url.startswith(sqlite.PREFIX):
            return sqlite.read(url)
        settings = options(url, schema, user, password)
        if spark is None and (server := postgres.server(url)):
            return server.read(settings["dbtable"], user, password)
        return jvm.read(_session(url, spark), settings)


def needs_session(url: str) -> bool:
    """Whether only a session can read the ledger of this database."""
    return not url.startswith(sqlite.PREFIX) and postgres.server(url) is None


def change(
    url: str,
    wanted: Change,
    *,
    schema: str | None = None,
    user: str | None = None,
    password: Secret | str | None = None,
    spark: SparkSession | None = None,
) -> None:
    """Repairs a row in one transaction. The other arguments are those of ``ledger``.

    Only the jar writes ledgers, so that SQLite also requires a session here.
    """
    with _calls.calling(_CALLS):
        jvm.change(_session(url, spark), options(url, schema, user, password), wanted)


def options(url: str, schema: str | None, user: str | None, password: Secret | str | None) -> dict[str, str]:
    """Options of ``epochal-jdbc`` that name the ledger as the table."""
    table = "epochal_ledger" if schema is None else '"{}".epochal_ledger'.format(schema.replace('"', '""'))
    settings = {"url": url, "dbtable": table} | ({} if user is None else {"user": user})
    if password is not None:
        secret = Option("password", SECRET, secret=True)
        settings |= {setting.option: setting.text for setting in settings_of(secret, password, "password")}
    return settings


def _session(url: str, spark: SparkSession | None) -> SparkSession:
    if spark is None:
        raise OptionError(
            "OPTION_REQUIRED",
            f"epochal.ledger needs 'spark' for {url.split(':', 2)[1] if url.count(':') > 1 else 'this'} databases: "
            "only SQLite and, with psycopg, PostgreSQL are read without a JVM.",
            "Pass a classic session: epochal.ledger(url, user=…, password=…, spark=spark)."
            + (" Or: pip install 'psycopg[binary]'." if url.startswith(postgres.PREFIX) else ""),
        )
    return spark
