"""The ledger in PostgreSQL, read with a Python driver, which is much faster than to start Spark for it."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from epochal import _calls, _references
from epochal._values.secret import Secret
from epochal.errors import DatabaseError, _of_condition
from epochal.tools.ledger import rows
from epochal.tools.ledger.model import DatabaseLedger, ledger_not_found

PREFIX = "jdbc:postgresql:"

_ONE = r"(?:[\w.-]+|\[[\w:.]+\])(?::\d+)?"
_URL = re.compile(rf"jdbc:postgresql://(?P<hosts>{_ONE}(?:,{_ONE})*)/(?P<database>[^/?]*)(?:\?(?P<parameters>.*))?")
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
#: A lost server is detected within a minute; variables of libpq have no effect that PgJDBC lacks.
_SETTINGS = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "hostaddr": "",
    "options": "",
    "sslmode": "prefer",
    "sslrootcert": "",
    "sslcert": "",
    "sslkey": "",
    "target_session_attrs": "any",
}
#: Messages of server and libpq about a login, which have no SQLSTATE in Python.
_REFUSED = re.compile(r'passwor[dt]|authenti|pg_hba\.conf|\brole "', re.IGNORECASE)
#: Variables of libpq that no setting overrides on all its versions.
_VARIABLES = {"PGSERVICE", "PGLOADBALANCEHOSTS"}

_TABLES = ("epochal_ledger", "epochal_ledger_retired", "epochal_ledger_history")
_OID = "SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid"
_PINNED = "SET LOCAL search_path = pg_catalog, pg_temp"
_READABLE = "SELECT t FROM unnest(%s::text[]) t WHERE has_table_privilege(to_regclass(%s || t)::oid, 'SELECT')"
_SCHEMA = (
    "SELECT quote_ident(n.nspname) || '.' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.oid = %s"
)
#: Tables that another role may have planted, by the sink's rules for a ledger that is read: trusted with it are its own
#: owner, that of its schema, and this role.
_UNTRUSTED = """WITH RECURSIVE tables(oid) AS (
  SELECT unnest(%s::text[])::regclass::oid
  UNION SELECT i.inhrelid FROM pg_inherits i JOIN tables t ON i.inhparent = t.oid),
trusted(oid) AS (
  SELECT oid FROM pg_roles WHERE rolname = current_user
  UNION SELECT c.relowner FROM pg_class c WHERE c.oid = %s::regclass AND c.relkind IN ('r', 'p')
  UNION SELECT n.nspowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s::regclass)
SELECT c.oid::regclass::text, c.relkind IN ('r', 'p'), pg_get_userbyid(c.relowner), current_user
FROM tables JOIN pg_class c USING (oid)
WHERE c.relkind NOT IN ('r', 'p') OR NOT EXISTS (SELECT FROM trusted v WHERE pg_has_role(c.relowner, v.oid,
  CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER'
  ELSE 'USAGE, SET, MEMBER WITH ADMIN OPTION' END))"""


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
            DatabaseError: the server cannot be reached, or reports an error; or another role may have planted a table.
            SinkIdentityError: the database has no ledger.
        """
        search_path = self.settings.get("search_path")
        with self.connection(user, password) as connection:
            cursor = connection.cursor()

            def execute(sql: str, *parameters: Any) -> Any:
                cursor.execute(sql, parameters)
                return cursor

            if search_path:
                execute("SELECT pg_catalog.set_config('search_path', %s, true)", search_path)
            (oid,) = execute(_OID, table).fetchone()
            execute(_PINNED)
            schema = execute(_SCHEMA, oid).fetchone()
            if schema is None:
                raise ledger_not_found(self.place)
            readable = execute(_READABLE, [*rows.PROGRESS, rows.VERIFICATION], schema[0])
            optional = [name for (name,) in readable]
            # A snapshot from after the lock: the tables that are checked are those that are read.
            connection.rollback()
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            execute(_PINNED)
            execute("SET LOCAL row_security = off")
            names = [schema[0] + name for name in (*_TABLES, *optional)]
            escaped_names = [name.replace("%", "%%") for name in names]
            execute(f"LOCK TABLE {', '.join(escaped_names)} IN ACCESS SHARE MODE")
            if risk := execute(_UNTRUSTED, names, names[0], names[0]).fetchone():
                raise _distrust(*risk)
            return rows.read(self.place, execute, schema[0].replace("%", "%%"), optional=optional)

    @contextmanager
    def connection(self, user: str | None, password: Secret | str | None) -> Iterator[Any]:
        """A connection, whose errors are ours.

        Raises:
            DatabaseError: the server cannot be reached, or reports an error.
        """
        settings = ({} if user is None else {"user": user}) | self.settings
        if password is not None and "password" not in settings:
            settings["password"] = (password if isinstance(password, Secret) else Secret(password)).here().value
        settings.pop("search_path", None)
        try:
            connection = self.driver.connect(**_SETTINGS | settings)
        except self.driver.Error as error:
            condition = "LOGIN_REFUSED" if _REFUSED.search(str(error)) else "DATABASE_UNREACHABLE"
            raise _of_condition(condition, url=self.place, reason=_reason(error)) from None
        try:
            if hasattr(connection, "prepare_threshold"):  # Behind a transaction pooler the next session lacks them.
                connection.prepare_threshold = None
            yield connection
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

    None if Python cannot connect to it as the sink does: no driver is installed, PgJDBC alone knows a parameter, or
    libpq alone reads a variable.
    """
    match = _URL.fullmatch(url)
    parameters = dict(parse_qsl(match["parameters"] or "", keep_blank_values=True)) if match else {}
    driver = _driver()
    if match is None or driver is None or not parameters.keys() <= _PARAMETERS.keys():
        return None
    if os.environ.keys() & (_VARIABLES if match["database"] else {*_VARIABLES, "PGDATABASE"}):
        return None
    hosts = [*_HOST.finditer(match["hosts"])]
    settings = {_PARAMETERS[name]: value for name, value in parameters.items()}
    settings["host"] = ",".join(host["name"] for host in hosts)
    settings["port"] = ",".join(host["port"] or "5432" for host in hosts)
    if match["database"]:
        settings["dbname"] = unquote_plus(match["database"])
    return Server(driver, url.partition("?")[0], settings)


def _distrust(table: str, is_table: bool, owner: str, role: str) -> DatabaseError:
    reason = f"belongs to the role '{owner}'" if is_table else "is not an ordinary table"
    mine = '"{}"'.format(role.replace('"', '""'))
    trusting = f" If you trust '{owner}': ALTER TABLE {table} OWNER TO {mine}." if is_table else ""
    schema = _references.in_python("{option:dbtable}", _calls.of_message(""))
    return DatabaseError(
        "OBJECT_UNTRUSTED",
        f"The role '{role}' does not trust {table}, which should be a table of the ledger: it {reason}.",
        f"No code of it was run.{trusting} Else find out why it was made, or name the ledger's schema with {schema}.",
    )


def _driver() -> Any:
    for name in _DRIVERS:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def _reason(error: Exception) -> str:
    """The first line of a driver's message, which contains no password."""
    return str(error).strip().partition("\n")[0]
