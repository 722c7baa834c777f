"""Listeners, journal and record formats: values of ``epochal.ingest``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from epochal._options import Duration, Size
from epochal._values.ingest_http import HttpServer
from epochal._values.kind import BOOLEAN, DURATION, SECRET, SIZE, TEXT, one_of, whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option

Mode = Literal["listen", "connect"]
ParseMode = Literal["PERMISSIVE", "FAILFAST", "DROPMALFORMED"]
InvalidUtf8 = Literal["replace", "keep"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Tcp(Value):
    """A listener for lines over TCP.

    >>> Tcp(9999, ack=True)
    ingest.Tcp(port=9999, ack=True)

    Args:
        port: Port to listen on (0: any free one, reported in the query's progress), or of the server.
        mode: Accept any number of clients, or read from one server as Spark's socket source does. Default:
            ``"listen"``.
        host: The driver's address to listen on, or the server to read from. Any address but loopback needs a token.
            Default: ``"127.0.0.1"``.
        token: Token required in each connection's first line: TOKEN, a space, the token. Secret.
        ack: Whether clients receive OK and the number of their connection's lines that are stored and synced. Default:
            ``False``.
        max_line_bytes: Maximum line size; a longer line closes its connection with an error. Default: ``"1m"``.
        idle_timeout: Silence after which a connection is closed; 0s: never. Default: ``"1h"``.
        max_connections: Maximum connections; further ones are closed. Default: ``1000``.
    """

    _room: ClassVar[str] = "ingest."
    _fixed: ClassVar[Mapping[str, str]] = {"protocol": "tcp"}

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9999"))
    mode: Mode | None = option("mode", one_of(Mode))
    host: str | None = option(
        "host",
        TEXT,
        doc="The driver's address to listen on, or the server to read from. Any address but loopback needs a token. "
        'Default: ``"127.0.0.1"``.',
    )
    token: Secret | str | None = option("token", SECRET)
    ack: bool | None = option("ack", BOOLEAN)
    max_line_bytes: Size | None = option("maxLineBytes", SIZE)
    idle_timeout: Duration | None = option(
        "idleTimeout",
        DURATION,
        doc='Silence after which a connection is closed; 0s: never. Default: ``"1h"``.',
    )
    max_connections: int | None = option(
        "maxConnections", whole(), doc="Maximum connections; further ones are closed. Default: ``1000``."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Journal(Value):
    """The journal: acknowledged records that wait in the checkpoint for the query.

    >>> Journal(max_bytes="4g")
    ingest.Journal(max_bytes='4g')

    Args:
        max_bytes: Maximum undelivered bytes. Beyond it TCP clients wait, HTTP clients get status 429. Default:
            ``"1g"``.
        dedup_window: How long idempotency keys are remembered: repeated ones are acknowledged but not stored again.
            Default: ``"10m"``.
    """

    _room: ClassVar[str] = "ingest."

    max_bytes: Size | None = option("maxJournalBytes", SIZE)
    dedup_window: Duration | None = option("dedupWindow", DURATION)


@dataclass(frozen=True, kw_only=True, repr=False)
class Text(Value):
    """A record is a text, in the column ``value``. This is the default.

    >>> Text(invalid_utf8="keep")
    ingest.Text(invalid_utf8='keep')

    Args:
        invalid_utf8: Whether invalid UTF-8 in the column value becomes U+FFFD or is kept. Default: ``"replace"``.
    """

    _room: ClassVar[str] = "ingest."
    _fixed: ClassVar[Mapping[str, str]] = {"format": "text"}

    invalid_utf8: InvalidUtf8 | None = option("invalidUtf8", one_of(InvalidUtf8))


@dataclass(frozen=True, kw_only=True, repr=False)
class Parsed(Value):
    """A record that is parsed into the schema's columns."""

    _room: ClassVar[str] = "ingest."

    mode: ParseMode | None = option("parseMode", one_of(ParseMode))
    corrupt_column: str | None = option("columnNameOfCorruptRecord", TEXT)
    rescued_column: str | None = option("rescuedDataColumn", TEXT)


@dataclass(frozen=True, kw_only=True, repr=False)
class Json(Parsed):
    """A record is a JSON object.

    >>> Json(rescued_column="more")
    ingest.Json(rescued_column='more')

    Args:
        mode: A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own
            (PERMISSIVE), or is dropped (DROPMALFORMED). Default: ``"PERMISSIVE"``.
        corrupt_column: STRING column for unparsable records (``mode="PERMISSIVE"``); added if the schema lacks it.
            Default: ``"_corrupt_record"``.
        rescued_column: STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they
            are ignored.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"format": "json"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Csv(Parsed):
    """A record is a line of CSV, without a header.

    >>> Csv(sep=";")
    ingest.Csv(sep=';')

    Args:
        mode: A record that does not fit the schema fails the query (FAILFAST), goes into a column of its own
            (PERMISSIVE), or is dropped (DROPMALFORMED). Default: ``"PERMISSIVE"``.
        corrupt_column: STRING column for unparsable records (``mode="PERMISSIVE"``); added if the schema lacks it.
            Default: ``"_corrupt_record"``.
        rescued_column: STRING column for fields that the schema lacks, as a JSON object; added if missing. Unset: they
            are ignored.
        sep: Field separator of CSV. Default: ``","``.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"format": "csv"}

    sep: str | None = option("sep", TEXT)


#: Values of ``protocol`` of ``epochal.read.ingest``.
AnyProtocol = Tcp | HttpServer
#: Values of ``records`` of ``epochal.read.ingest``.
AnyReceived = Text | Json | Csv
