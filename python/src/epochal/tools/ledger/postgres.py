"""The ledger in PostgreSQL, read with a Python driver, which is much faster than to start Spark for it."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from epochal._values.secret import Secret
from epochal.errors import DatabaseError
from epochal.tools.ledger import rows
from epochal.tools.ledger.model import DatabaseLedger, ledger_not_found

PREFIX = "jdbc:postgresql:"

_URL = re.compile(r"jdbc:postgresql://(?P<hosts>[\w.:,\[\]-]+)/(?P<database>[^/?]*)(?:\?(?P<parameters>.*))?")
_HOST = re.compile(r"\[?(?P<name>[^\[\],]+?)\]?(?::(?P<port>\d+))?(?:,|$)")
_DRIVERS = ("psycopg", "psycopg2")
#: Parameters of a JDBC URL by their names in libpq. With any other one, only PgJDBC connects as the sink does.
_PARAMETERS = {
    "user": "user",
    "password": "password",
    "currentSchema": "search_path",
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
}
_SCHEMA = (
    "SELECT quote_ident(n.nspname) || '.' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.oid = to_regclass(?)"
)


@dataclass(frozen=True, repr=False)
class Server:
    """A database, and the driver that connects to it.

    Attributes:
        settings: of the connection, by their names in libpq.
    """

    driver: Any
    place: str
    settings: dict[str, str]

    def read(self, table: str, user: str | None, password: Secret | str | None) -> DatabaseLedger:
        """Reads the ledger.

        Args:
            table: the ledger: ``epochal_ledger``, or with its quoted schema.

        Raises:
            DatabaseError: the server cannot be reached, or reports an error.
            SinkIdentityError: the database has no ledger.
        """
        settings = self.settings | ({} if user is None else {"user": user})
        if password is not None:
            settings["password"] = (password if isinstance(password, Secret) else Secret(password)).here().value
        search_path = settings.pop("search_path", None)
        try:
            connection = self.driver.connect(**{"connect_timeout": "10"} | settings)
        except self.driver.Error as error:
            raise DatabaseError(
                "DATABASE_UNREACHABLE",
                f"The database {self.place} could not be reached: {_reason(error)}.",
                "Check the url, the user and the password, and that the server is running.",
            ) from None
        try:
            cursor = connection.cursor()

            def execute(sql: str, *parameters: str) -> Any:
                cursor.execute(sql.replace("?", "%s"), parameters)
                return cursor

            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if search_path:
                execute("SELECT set_config('search_path', ?, true)", search_path)
            schema = execute(_SCHEMA, table).fetchone()
            if schema is None:
                raise ledger_not_found(self.place)
            return rows.read(self.place, execute, schema[0])
        except self.driver.Error as error:
            raise DatabaseError(
                "DATABASE_ERROR",
                f"{self.place} failed: {_reason(error)}.",
                "Nothing was changed. Correct the cause and try again.",
            ) from None
        finally:
            connection.close()


def server(url: str) -> Server | None:
    """The database that a URL names.

    None if Python cannot connect to it as the sink does: no driver is installed, or PgJDBC alone knows a parameter.
    """
    match = _URL.fullmatch(url)
    given = dict(parse_qsl(match["parameters"] or "", keep_blank_values=True)) if match else {}
    driver = _driver()
    if match is None or driver is None or not given.keys() <= _PARAMETERS.keys():
        return None
    hosts = [*_HOST.finditer(match["hosts"])]
    settings = {_PARAMETERS[name]: value for name, value in given.items()}
    settings["host"] = ",".join(host["name"] for host in hosts)
    settings["port"] = ",".join(host["port"] or "5432" for host in hosts)
    if match["database"]:
        settings["dbname"] = unquote_plus(match["database"])
    return Server(driver, url.partition("?")[0], settings)


def _driver() -> Any:
    for name in _DRIVERS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _reason(error: Exception) -> str:
    """The first line of a driver's message, which contains no password."""
    return str(error).strip().partition("\n")[0].rstrip(".")
