"""Listeners, credentials of their clients, journal and record formats: values of ``epochal.ingest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Location, Size
from epochal._values.kind import whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option, part

Mode = Literal["listen", "connect"]
ParseMode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
InvalidUtf8 = Literal["replace", "keep"]
Sender = Literal["github", "stripe", "slack", "header"]
Algorithm = Literal["HmacSHA256", "HmacSHA512", "HmacSHA1"]
Encoding = Literal["hex", "base64"]
Malformed = Literal["refuse", "keep"]
BodyFormat = Literal["lines", "ndjson", "json", "form"]


class Tcp(Value, protocol="tcp"):
    """A listener for lines over TCP.

    Args:
        host: The driver's address to listen on, or the server to read from. Any address but loopback needs a token.
            Default: ``"127.0.0.1"``.
        idle_timeout: Silence after which a connection is closed; 0s: never. Default: ``"1h"``.
        max_connections: Maximum connections; further ones are closed. Default: ``1000``.
    """

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9999"))
    mode: Mode | None = option("mode")
    host: str | None = option("host", own_doc=True)
    token: Secret | str | None = option("token")
    ack: bool | None = option("ack")
    ack_run: bool | None = option("ackRun")
    max_line_bytes: Size | None = option("maxLineBytes")
    idle_timeout: Duration | None = option("idleTimeout", own_doc=True)
    max_connections: int | None = option("maxConnections", own_doc=True)


class Bearer(Value):
    """Requests must carry a bearer token."""

    token: Secret | str = field(kw_only=False, metadata=of("bearerToken"))
    previous: Secret | str | None = option("previousBearerToken")


class Basic(Value):
    """Requests must carry a user name and a password."""

    user: str = field(metadata=of("user", secret=True))
    password: Secret | str = field(metadata=of("password"))
    previous: Secret | str | None = option("previousPassword")


class Signature(Value):
    """Requests must carry the signature of a webhook sender."""

    sender: Sender = field(kw_only=False, metadata=of("signature"))
    secret: Secret | str = field(metadata=of("signatureSecret"))
    previous: Secret | str | None = option("previousSignatureSecret")
    tolerance: Duration | None = option("signatureTolerance")
    header: str | None = option("signatureHeader")
    prefix: str | None = option("signaturePrefix")
    algorithm: Algorithm | None = option("signatureAlgorithm")
    encoding: Encoding | None = option("signatureEncoding")


class Tls(Value):
    """The listener's certificate. Files are on the driver."""

    _alternatives = (("A listener has one certificate: keep one of them.", "cert_file", "key_store_file"),)
    _dependent = (("key_file", "cert_file"), ("key_password", "cert_file"), ("key_store_password", "key_store_file"))
    cert_file: Location | None = option("tls.certFile")
    key_file: Location | None = option("tls.keyFile")
    key_password: Secret | str | None = option("tls.keyPassword")
    key_store_file: Location | None = option("tls.keyStoreFile")
    key_store_password: Secret | str | None = option("tls.keyStorePassword")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cert_file is None and self.key_store_file is None:
            raise self._invalid("cert_file", "is not given, nor is key_store_file", '"/run/secrets/server.pem"')


class HttpServer(Value, protocol="http"):
    """A listener for records in POST requests: lines, NDJSON, JSON, forms.

    Args:
        port: Port to listen on (0: any free one, which ``epochal.ingest.address`` returns).
        host: The driver's address to listen on. Any address but loopback needs ``auth`` or ``tls``. Default:
            ``"127.0.0.1"``.
        auth: Who may write: ``ingest.Bearer``, ``ingest.Basic`` or ``ingest.Signature``. Unset: all on the driver's
            machine.
        tls: The listener's certificate. Unset: no TLS.
        idle_timeout: Silence after which a connection is closed; 0s: never. Default: ``"1m"``.
        max_connections: Maximum connections; further ones wait. Default: ``1000``.
    """

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9080", own_doc=True))
    host: str | None = option("host", own_doc=True)
    auth: Bearer | Basic | Signature | None = part(Bearer, Basic, Signature, own_doc=True)
    tls: Tls | None = part(Tls, own_doc=True)
    headers: Sequence[str] | None = option("headers", example='["User-Agent"]')
    malformed: Malformed | None = option("malformed")
    body_format: BodyFormat | None = option("bodyFormat")
    trust_forwarded: bool | None = option("trustForwarded")
    open_status: bool | None = option("openStatus")
    max_request_bytes: Size | None = option("maxRequestBytes")
    max_record_bytes: Size | None = option("maxRecordBytes")
    max_records_per_request: int | None = option("maxRecordsPerRequest")
    max_buffered_bytes: Size | None = option("maxBufferedBytes")
    max_header_bytes: Size | None = option("maxHeaderBytes")
    head_timeout: Duration | None = option("headTimeout")
    min_bytes_per_second: Size | None = option("minBytesPerSecond")
    idle_timeout: Duration | None = option("idleTimeout", own_doc=True)
    max_connections: int | None = option("maxConnections", own_doc=True)


class Journal(Value):
    """The journal: acknowledged records that wait in the checkpoint for the query."""

    max_bytes: Size | None = option("maxJournalBytes")
    dedup_window: Duration | None = option("dedupWindow")


class Text(Value, format="text"):
    """A record is a text, in the column ``value``. This is the default."""

    invalid_utf8: InvalidUtf8 | None = option("invalidUtf8")


class Parsed(Value):
    """A record that is parsed into the schema's columns."""

    mode: ParseMode | None = option("parseMode")
    corrupt_column: str | None = option("columnNameOfCorruptRecord")
    rescued_column: str | None = option("rescuedDataColumn")


class Json(Parsed, format="json"):
    """A record is a JSON object."""

    require_columns: bool | None = option("requireColumns")


class Csv(Parsed, format="csv"):
    """A record is a line of CSV, without a header."""

    sep: str | None = option("sep")


#: Values of ``protocol`` of ``epochal.read.ingest``.
AnyProtocol = Tcp | HttpServer
#: Values of ``records`` of ``epochal.read.ingest``.
AnyReceived = Text | Json | Csv
