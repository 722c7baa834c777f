"""What clients send, and how: values of ``epochal.ingest``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from epochal._options import Duration, Size
from epochal._values.ingest_http import Http
from epochal._values.kind import BOOLEAN, DURATION, SECRET, SIZE, TEXT, one_of, whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option

Mode = Literal["listen", "connect"]
ParseMode = Literal["PERMISSIVE", "FAILFAST", "DROPMALFORMED"]
InvalidUtf8 = Literal["replace", "keep"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Tcp(Value):
    """Lines over TCP.

    >>> Tcp(9999, ack=True)
    ingest.Tcp(port=9999, ack=True)

    Args:
        port: The port to listen on (0: any that is free; the query's progress names it), or of the server.
        mode: Who connects: listen takes connections of any number of clients, connect reads from one server, as Spark's
            socket source does. Default: ``"listen"``.
        host: The address of the driver to listen on, or the server to connect to. An address that other machines can
            reach needs a token or, with protocol=http, a credential or TLS. Default: ``"127.0.0.1"``.
        token: Token that the first line of each connection must name, as TOKEN and the token. Secret.
        ack: Whether clients get acknowledgements: a line OK and a number says how many lines of their connection are
            stored and synced. Default: ``False``.
        max_line_bytes: Largest line. A client that sends a larger one gets an error, and its connection is closed.
            Default: ``"1m"``.
        idle_timeout: How long a connection may send nothing before it is closed; 0s: for ever. Unset with
            protocol=http: 1m. Default: ``"1h"``.
        max_connections: Maximum connections; further ones are closed, or with protocol=http wait. Default: ``1000``.
    """

    _room: ClassVar[str] = "ingest."
    _fixed: ClassVar[Mapping[str, str]] = {"protocol": "tcp"}

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9999"))
    mode: Mode | None = option("mode", one_of(Mode))
    host: str | None = option("host", TEXT)
    token: Secret | str | None = option("token", SECRET)
    ack: bool | None = option("ack", BOOLEAN)
    max_line_bytes: Size | None = option("maxLineBytes", SIZE)
    idle_timeout: Duration | None = option("idleTimeout", DURATION)
    max_connections: int | None = option("maxConnections", whole())


@dataclass(frozen=True, kw_only=True, repr=False)
class Journal(Value):
    """What waits in the checkpoint for the query.

    >>> Journal(max_bytes="4g")
    ingest.Journal(max_bytes='4g')

    Args:
        max_bytes: What may be stored and not yet delivered. When there is as much, nothing more is taken: clients over
            TCP wait, those of HTTP get status 429. Default: ``"1g"``.
        dedup_window: How long an idempotency key is known: a record that comes again under it is acknowledged and not
            stored again. Default: ``"10m"``.
    """

    _room: ClassVar[str] = "ingest."

    max_bytes: Size | None = option("maxJournalBytes", SIZE)
    dedup_window: Duration | None = option("dedupWindow", DURATION)


@dataclass(frozen=True, kw_only=True, repr=False)
class Text(Value):
    """Each record is a text, in the column ``value``. This is the default.

    >>> Text(invalid_utf8="keep")
    ingest.Text(invalid_utf8='keep')

    Args:
        invalid_utf8: What becomes of bytes that are not UTF-8 in the column value: replaced by U+FFFD, or kept as they
            came. Default: ``"replace"``.
    """

    _room: ClassVar[str] = "ingest."
    _fixed: ClassVar[Mapping[str, str]] = {"format": "text"}

    invalid_utf8: InvalidUtf8 | None = option("invalidUtf8", one_of(InvalidUtf8))


@dataclass(frozen=True, kw_only=True, repr=False)
class Parsed(Value):
    """Each record has the schema's columns."""

    _room: ClassVar[str] = "ingest."

    mode: ParseMode | None = option("parseMode", one_of(ParseMode))
    corrupt_column: str | None = option("columnNameOfCorruptRecord", TEXT)
    rescued_column: str | None = option("rescuedDataColumn", TEXT)


@dataclass(frozen=True, kw_only=True, repr=False)
class Json(Parsed):
    """Each record is a JSON object.

    >>> Json(rescued_column="more")
    ingest.Json(rescued_column='more')

    Args:
        mode: What happens to a record that does not fit the schema: FAILFAST, it fails the query; PERMISSIVE, it goes
            into a column of its own; DROPMALFORMED, it is dropped. Default: ``"PERMISSIVE"``.
        corrupt_column: The STRING column that a record which does not fit goes into, as it came
            (``mode="PERMISSIVE"``). Added where the schema lacks it. Default: ``"_corrupt_record"``.
        rescued_column: The STRING column that fields without a column go into, as a JSON object. Added where the schema
            lacks it. Unset: they are ignored.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"format": "json"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Csv(Parsed):
    """Each record is a line of CSV, without a header.

    >>> Csv(sep=";")
    ingest.Csv(sep=';')

    Args:
        mode: What happens to a record that does not fit the schema: FAILFAST, it fails the query; PERMISSIVE, it goes
            into a column of its own; DROPMALFORMED, it is dropped. Default: ``"PERMISSIVE"``.
        corrupt_column: The STRING column that a record which does not fit goes into, as it came
            (``mode="PERMISSIVE"``). Added where the schema lacks it. Default: ``"_corrupt_record"``.
        rescued_column: The STRING column that fields without a column go into, as a JSON object. Added where the schema
            lacks it. Unset: they are ignored.
        sep: Character between the fields of CSV. Default: ``","``.
    """

    _fixed: ClassVar[Mapping[str, str]] = {"format": "csv"}

    sep: str | None = option("sep", TEXT)


#: Everything that ``protocol`` of ``epochal.read.ingest`` can be.
AnyProtocol = Tcp | Http
#: Everything that ``records`` of it can be.
AnyReceived = Text | Json | Csv
