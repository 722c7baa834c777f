"""``epochal.cdc.check``: whether a server allows the changes of a table to be captured; requests to queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from epochal import _calls, _session
from epochal._arguments import suggesting
from epochal._declarations import CDC, Form
from epochal._values.cdc import Slot
from epochal._values.secret import Secret
from epochal._values.table import Connection
from epochal._values.value import without_login
from epochal.errors import ConnectUnsupportedError, OptionError, named
from epochal.tools.output import aligned, as_json

__all__ = ["Point", "Preflight", "Request", "check", "reload", "verify"]

_CHECK = replace(CDC, caller="epochal.cdc.check")
_PREFIX = "jdbc:postgresql:"


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of a preflight.

    Attributes:
        name: its subject, such as ``"wal_level"`` or ``"table public.orders, replica identity"``.
        found: what the server has.
        state: ``"warning"`` if capture works, but may not for long; ``"missing"`` if it does not start.
        sql: statements that mend it, or, as a comment, what to do; empty if nothing is to be done.
    """

    name: str
    found: str
    state: Literal["ok", "warning", "missing"]
    sql: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class Preflight:
    """The result of ``cdc.check``. Prints as a table, with the SQL below.

    Attributes:
        url: the server, without login.
        table: the tables to capture.
        points: in the order in which they are to be mended.
    """

    url: str
    table: str
    points: tuple[Point, ...]

    @property
    def is_ready(self) -> bool:
        """Whether a query can start: no point is missing."""
        return all(point.state != "missing" for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        return {"ready": self.is_ready, **as_json(self)}

    def __str__(self) -> str:
        lines = aligned([(point.state, point.name, point.found) for point in self.points])
        return "\n".join([*lines, *(f"{point.name}: {point.sql}" for point in self.points if point.sql)])

    __repr__ = __str__


@suggesting
def check(
    url: str,
    *,
    table: str | Sequence[str],
    user: str | None = None,
    password: Secret | str | None = None,
    slot: Slot | None = None,
    preimages: bool | None = None,
    connection: Connection | None = None,
) -> Preflight:
    """Checks whether a server allows ``epochal.read.cdc`` with these arguments to start with a new checkpoint.

    It needs no session, but the jar: it starts a JVM if this process has none. It changes nothing on the server.

    >>> found = cdc.check("jdbc:postgresql://db/shop", table="public.orders", user="capture")  # doctest: +SKIP
    >>> found.is_ready  # doctest: +SKIP
    True

    Args:
        url: JDBC URL of the server itself, not of a pooler.
        table: name of the table, or of several, as in ``epochal.read.cdc``.
        user: the role of the query.
        password: password of the user; secret.
        slot: the slot and the publication; those without a name are not checked.
        preimages: whether updates are also to deliver the row before them.
        connection: properties for the driver.

    Returns:
        The points, each with the SQL that fixes it.

    Raises:
        OptionError: an argument is invalid.
        TableError: there is no such table.
        DatabaseError: the server cannot be reached, or refuses the login.
        ConnectUnsupportedError: only Spark Connect's client is installed, which has no JVM.
    """
    report = _answer(
        _CHECK,
        "check",
        url,
        table=table,
        user=user,
        password=password,
        slot=slot,
        preimages=preimages,
        connection=connection,
    )
    return Preflight(url=report["url"], table=report["table"], points=tuple(Point(**one) for one in report["points"]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Request:
    """The result of ``cdc.reload`` and ``cdc.verify``.

    Attributes:
        url: the server, without login.
        tables: names of the tables.
        slots: the replication slots of the database; their queries carry out the request for the tables that they
            capture, a comparison only if they were started with ``verify``.
    """

    url: str
    tables: tuple[str, ...]
    slots: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        return dict(as_json(self))

    def __str__(self) -> str:
        return f"requested: {', '.join(self.tables)}; slots of this database: {', '.join(self.slots)}"

    __repr__ = __str__


@suggesting
def reload(
    url: str,
    *,
    table: str | Sequence[str],
    user: str | None = None,
    password: Secret | str | None = None,
    connection: Connection | None = None,
) -> Request:
    """Requests a reload of tables from all queries that capture them.

    Writes a message into the server's log and does not wait. A query that is stopped reads it after its next start. It
    needs no session, but the jar: it starts a JVM if this process has none.

    >>> cdc.reload("jdbc:postgresql://db/shop", table="public.orders", user="capture")  # doctest: +SKIP
    requested: public.orders; slots of this database: shop

    Args:
        url: JDBC URL of the server.
        table: name of the table, or of several, as in ``epochal.read.cdc``.
        user: any role of the database.
        password: password of the user; secret.
        connection: properties for the driver.

    Returns:
        The tables, and the slots of the database.

    Raises:
        OptionError: an argument is invalid.
        TableError: there is no such table.
        DatabaseError: the server cannot be reached, refuses the login, is older than PostgreSQL 14, is a standby, or
            has no replication slot in this database.
        ConnectUnsupportedError: only Spark Connect's client is installed, which has no JVM.
    """
    return _request("reload", url, table=table, user=user, password=password, connection=connection)


@suggesting
def verify(
    url: str,
    *,
    table: str | Sequence[str],
    user: str | None = None,
    password: Secret | str | None = None,
    connection: Connection | None = None,
) -> Request:
    """Requests a comparison of tables with their replicas, from all queries that were started with ``verify``.

    The arguments, the result and the errors are those of ``cdc.reload``. The queries report what they find.

    >>> cdc.verify("jdbc:postgresql://db/shop", table="public.*", user="capture")  # doctest: +SKIP
    requested: public.items, public.orders; slots of this database: shop
    """
    return _request("verify", url, table=table, user=user, password=password, connection=connection)


def _request(kind: str, url: str, **arguments: Any) -> Request:
    report = _answer(replace(CDC, caller=f"epochal.cdc.{kind}"), kind, url, **arguments)
    return Request(url=report["url"], tables=tuple(report["tables"]), slots=tuple(report["slots"]))


def _answer(form: Form, method: str, url: str, **arguments: Any) -> Any:
    """The jar's answer."""
    with _calls.calling([_calls.Call(form, (Slot,))]), named():
        if not url.startswith(_PREFIX):
            raise OptionError(
                "OPTION_INVALID",
                f"The argument 'url' of {form.caller} is '{without_login(url)}', not a URL of PostgreSQL.",
                f'Set it like this: url="{_PREFIX}//db.example.com/shop".',
            )
        options = form.options({"url": url, **arguments}, {"retry.maxAttempts": 1})
        return json.loads(getattr(_jvm().io.epochal.cdc.CaptureDesk, method)(dict(options)))


def _jvm() -> Any:
    """The JVM of this process, with the jar; started, without a session, if there is none.

    Raises:
        ConnectUnsupportedError: only a client of Spark Connect is installed.
        ConfigurationError: as of ``configure``.
    """
    from pyspark.util import is_remote_only

    if is_remote_only():
        raise ConnectUnsupportedError(
            "CONNECT_UNSUPPORTED",
            "The jar runs in a JVM, which a Spark Connect client does not have.",
            "Run it where Spark is installed: pip install 'pyspark>=4.0,<4.4'.",
        )
    from pyspark import SparkConf, SparkContext
    from pyspark.errors.exceptions.captured import install_exception_handler
    from pyspark.sql import SparkSession

    builder = _session.configure(SparkSession.builder)
    if SparkContext._jvm is None:
        settings: dict[str, Any] = getattr(builder, "_options", {})
        SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll([*settings.items()]))
    install_exception_handler()
    _session.check_jvm(SparkContext._jvm)
    return SparkContext._jvm
