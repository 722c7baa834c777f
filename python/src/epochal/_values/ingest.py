"""Listeners, credentials of their clients, journal and record formats: values of ``epochal.ingest``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from epochal._options import Duration, Location, Size
from epochal._values.kind import BOOLEAN, DURATION, NAMES, PLACE, SECRET, SIZE, TEXT, one_of, whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option, part

Mode = Literal["listen", "connect"]
ParseMode = Literal["PERMISSIVE", "FAILFAST", "DROPMALFORMED"]
InvalidUtf8 = Literal["replace", "keep"]
Sender = Literal["github", "stripe", "slack", "header"]
Algorithm = Literal["HmacSHA256", "HmacSHA512", "HmacSHA1"]
Encoding = Literal["hex", "base64"]
Malformed = Literal["refuse", "keep"]
BodyFormat = Literal["lines", "ndjson", "json", "form"]


class Tcp(Value, protocol="tcp"):
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
        ack_run: Whether each OK ends with the id of the run that stored the lines; the query's progress has it, too.
            Default: ``False``.
        max_line_bytes: Maximum line size; a longer line closes its connection with an error. Default: ``"1m"``.
        idle_timeout: Silence after which a connection is closed; 0s: never. Default: ``"1h"``.
        max_connections: Maximum connections; further ones are closed. Default: ``1000``.
    """

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9999"))
    mode: Mode | None = option("mode", one_of(Mode))
    host: str | None = option("host", TEXT, own_doc=True)
    token: Secret | str | None = option("token", SECRET)
    ack: bool | None = option("ack", BOOLEAN)
    ack_run: bool | None = option("ackRun", BOOLEAN)
    max_line_bytes: Size | None = option("maxLineBytes", SIZE)
    idle_timeout: Duration | None = option("idleTimeout", DURATION, own_doc=True)
    max_connections: int | None = option("maxConnections", whole(), own_doc=True)


class Bearer(Value):
    """Requests must carry a bearer token.

    >>> Bearer(Secret.env("TOKEN"))
    ingest.Bearer(token=Secret.env('TOKEN'))

    Args:
        token: Bearer token required of requests. Secret.
        previous: Older bearer token that is still accepted. Secret.
    """

    token: Secret | str = field(kw_only=False, metadata=of("bearerToken", SECRET))
    previous: Secret | str | None = option("previousBearerToken", SECRET)


class Basic(Value):
    """Requests must carry a user name and a password.

    >>> Basic(user="me", password=Secret.file("/run/secrets/password"))
    ingest.Basic(user='***', password=Secret.file('/run/secrets/password'))

    Args:
        user: User name required of requests, with password. Secret.
        password: Password of user, in basic authentication. Secret.
        previous: Older password that is still accepted. Secret.
    """

    user: str = field(metadata=of("user", TEXT, secret=True))
    password: Secret | str = field(metadata=of("password", SECRET))
    previous: Secret | str | None = option("previousPassword", SECRET)


class Signature(Value):
    """Requests must carry the signature of a webhook sender.

    >>> Signature("github", secret=Secret.env("WEBHOOK"))
    ingest.Signature(sender='github', secret=Secret.env('WEBHOOK'))

    Args:
        sender: Signature scheme of the webhooks; header is any HMAC of the body in a header.
        secret: Secret that signs the webhooks. Secret.
        previous: Older signature secret that is still accepted. Secret.
        tolerance: Maximum distance of the time that stripe and slack sign from the driver's clock. Default: ``"5m"``.
        header: With ``sender="header"``: name of the header.
        prefix: With ``sender="header"``: text before the signature.
        algorithm: With ``sender="header"``: the HMAC algorithm. Default: ``"HmacSHA256"``.
        encoding: With ``sender="header"``: the signature's encoding. Default: ``"hex"``.
    """

    sender: Sender = field(kw_only=False, metadata=of("signature", one_of(Sender)))
    secret: Secret | str = field(metadata=of("signatureSecret", SECRET))
    previous: Secret | str | None = option("previousSignatureSecret", SECRET)
    tolerance: Duration | None = option("signatureTolerance", DURATION)
    header: str | None = option("signatureHeader", TEXT)
    prefix: str | None = option("signaturePrefix", TEXT)
    algorithm: Algorithm | None = option("signatureAlgorithm", one_of(Algorithm))
    encoding: Encoding | None = option("signatureEncoding", one_of(Encoding))


class Tls(Value):
    """The listener's certificate. Files are on the driver.

    >>> Tls(cert_file="/run/secrets/server.pem", key_file="/run/secrets/server-key.pem")
    ingest.Tls(cert_file='/run/secrets/server.pem', key_file='/run/secrets/server-key.pem')

    Args:
        cert_file: PEM file on the driver: the listener's certificate and its chain.
        key_file: PEM file on the driver: the listener's private key (PKCS#8). Unset: in ``cert_file``.
        key_password: Password of the private key. Secret.
        key_store_file: PKCS#12 file on the driver with the listener's key and certificates, instead of ``cert_file``.
        key_store_password: Password of ``key_store_file`` and its key. Secret.
    """

    cert_file: Location | None = option("tls.certFile", PLACE)
    key_file: Location | None = option("tls.keyFile", PLACE)
    key_password: Secret | str | None = option("tls.keyPassword", SECRET)
    key_store_file: Location | None = option("tls.keyStoreFile", PLACE)
    key_store_password: Secret | str | None = option("tls.keyStorePassword", SECRET)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cert_file is None and self.key_store_file is None:
            raise self._invalid("cert_file", "is not given, nor is key_store_file", '"/run/secrets/server.pem"')
        self._exclusive("A listener has one certificate: keep one of them.", "cert_file", "key_store_file")
        self._needs("key_file", "cert_file")
        self._needs("key_password", "cert_file")
        self._needs("key_store_password", "key_store_file")


class HttpServer(Value, protocol="http"):
    """A listener for records in POST requests: lines, NDJSON, JSON, forms.

    >>> HttpServer(8080, auth=Bearer(Secret.env("TOKEN")), headers=["X-GitHub-Event"])
    ingest.HttpServer(port=8080, auth=ingest.Bearer(token=Secret.env('TOKEN')), headers=('X-GitHub-Event',))

    Args:
        port: Port to listen on (0: any free one, which ``epochal.ingest.address`` returns).
        host: The driver's address to listen on. Any address but loopback needs ``auth`` or ``tls``. Default:
            ``"127.0.0.1"``.
        auth: Who may write: ``ingest.Bearer``, ``ingest.Basic`` or ``ingest.Signature``. Unset: all on the driver's
            machine.
        tls: The listener's certificate. Unset: no TLS.
        headers: Request headers to keep in the column headers; ones with credentials or signatures are refused.
        malformed: For a body that does not match its Content-Type: respond with 400 and store nothing, or keep it as
            one record (of NDJSON, the faulty lines). Default: ``"refuse"``.
        body_format: How bodies are split into records, whatever their Content-Type. Unset: by Content-Type; if records
            are parsed as JSON, a text that is one JSON document is json.
        trust_forwarded: Whether the last X-Forwarded-For address is the client's. Only behind a proxy: any client can
            set the header. Default: ``False``.
        open_status: Whether GET /health and GET /metrics need no credentials, as on loopback. Default: ``False``.
        max_request_bytes: Maximum request body, compressed and decompressed; up to 1g. Default: ``"8m"``.
        max_record_bytes: Maximum record size. Default: ``"1m"``.
        max_records_per_request: Maximum records per request. Default: ``100000``.
        max_buffered_bytes: Memory for the bodies of concurrent requests; beyond it requests get status 503. Default:
            ``"64m"``.
        max_header_bytes: Maximum size of request line and headers; up to 1m. Default: ``"16k"``.
        head_timeout: Time to send a request's line and headers, before the connection is closed. Default: ``"15s"``.
        min_bytes_per_second: Minimum average rate of a body in every 10 seconds; slower clients are disconnected.
            Default: ``"1k"``.
        idle_timeout: Silence after which a connection is closed; 0s: never. Default: ``"1m"``.
        max_connections: Maximum connections; further ones wait. Default: ``1000``.
    """

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9080", own_doc=True))
    host: str | None = option("host", TEXT, own_doc=True)
    auth: Bearer | Basic | Signature | None = part(Bearer, Basic, Signature, own_doc=True)
    tls: Tls | None = part(Tls, own_doc=True)
    headers: Sequence[str] | None = option("headers", NAMES, example='["User-Agent"]')
    malformed: Malformed | None = option("malformed", one_of(Malformed))
    body_format: BodyFormat | None = option("bodyFormat", one_of(BodyFormat))
    trust_forwarded: bool | None = option("trustForwarded", BOOLEAN)
    open_status: bool | None = option("openStatus", BOOLEAN)
    max_request_bytes: Size | None = option("maxRequestBytes", SIZE)
    max_record_bytes: Size | None = option("maxRecordBytes", SIZE)
    max_records_per_request: int | None = option("maxRecordsPerRequest", whole())
    max_buffered_bytes: Size | None = option("maxBufferedBytes", SIZE)
    max_header_bytes: Size | None = option("maxHeaderBytes", SIZE)
    head_timeout: Duration | None = option("headTimeout", DURATION)
    min_bytes_per_second: Size | None = option("minBytesPerSecond", SIZE)
    idle_timeout: Duration | None = option("idleTimeout", DURATION, own_doc=True)
    max_connections: int | None = option("maxConnections", whole(), own_doc=True)


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

    max_bytes: Size | None = option("maxJournalBytes", SIZE)
    dedup_window: Duration | None = option("dedupWindow", DURATION)


class Text(Value, format="text"):
    """A record is a text, in the column ``value``. This is the default.

    >>> Text(invalid_utf8="keep")
    ingest.Text(invalid_utf8='keep')

    Args:
        invalid_utf8: Whether invalid UTF-8 in the column value becomes U+FFFD or is kept. Default: ``"replace"``.
    """

    invalid_utf8: InvalidUtf8 | None = option("invalidUtf8", one_of(InvalidUtf8))


class Parsed(Value):
    """A record that is parsed into the schema's columns."""

    mode: ParseMode | None = option("parseMode", one_of(ParseMode))
    corrupt_column: str | None = option("columnNameOfCorruptRecord", TEXT)
    rescued_column: str | None = option("rescuedDataColumn", TEXT)


class Json(Parsed, format="json"):
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
        require_columns: Whether a column, or a field of its structs, that is in none of the records that a task reads
            fails the query; if not, it is NULL, and logged. Lines of CSV have all fields. Not for continuous and
            real-time queries. Default: ``False``.
    """

    require_columns: bool | None = option("requireColumns", BOOLEAN)


class Csv(Parsed, format="csv"):
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

    sep: str | None = option("sep", TEXT)


#: Values of ``protocol`` of ``epochal.read.ingest``.
AnyProtocol = Tcp | HttpServer
#: Values of ``records`` of ``epochal.read.ingest``.
AnyReceived = Text | Json | Csv
