"""Records that clients send over HTTP, and who may: values of ``epochal.ingest``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from epochal._options import Duration, Location, Size
from epochal._values.kind import BOOLEAN, DURATION, NAMES, PLACE, SECRET, SIZE, TEXT, one_of, whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option, part

Sender = Literal["github", "stripe", "slack", "header"]
Algorithm = Literal["HmacSHA256", "HmacSHA512", "HmacSHA1"]
Encoding = Literal["hex", "base64"]
Malformed = Literal["refuse", "keep"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Bearer(Value):
    """Requests need a bearer token.

    >>> Bearer(Secret.env("TOKEN"))
    ingest.Bearer(token=Secret.env('TOKEN'))

    Args:
        token: Bearer token that requests must have. Secret.
        previous: Bearer token that is still accepted while clients change to ``token``. Secret.
    """

    _room: ClassVar[str] = "ingest."

    token: Secret | str = field(kw_only=False, metadata=of("bearerToken", SECRET))
    previous: Secret | str | None = option("previousBearerToken", SECRET)


@dataclass(frozen=True, kw_only=True, repr=False)
class Basic(Value):
    """Requests need a name and a password.

    >>> Basic(user="me", password=Secret.file("/run/secrets/password"))
    ingest.Basic(user='***', password=Secret.file('/run/secrets/password'))

    Args:
        user: Name that requests must have, with the password. Secret.
        password: Password of ``user``, by basic authorization. Secret.
        previous: Password that is still accepted while clients change to ``password``. Secret.
    """

    _room: ClassVar[str] = "ingest."

    user: str = field(metadata=of("user", TEXT, secret=True))
    password: Secret | str = field(metadata=of("password", SECRET))
    previous: Secret | str | None = option("previousPassword", SECRET)


@dataclass(frozen=True, kw_only=True, repr=False)
class Signature(Value):
    """Requests need the signature of a sender of webhooks.

    >>> Signature("github", secret=Secret.env("WEBHOOK"))
    ingest.Signature(sender='github', secret=Secret.env('WEBHOOK'))

    Args:
        sender: Who signs the requests, with ``secret``: ``"github"``, ``"stripe"``, ``"slack"``, or with ``"header"``
            any sender that puts an HMAC of the body into a header.
        secret: Secret that webhooks are signed with. Secret.
        previous: Secret that is still accepted while the sender changes to ``secret``. Secret.
        tolerance: How far the time that stripe and slack sign may be from the driver's clock; older requests are
            refused. Default: ``"5m"``.
        header: With ``"header"``: the header that has the signature.
        prefix: With ``"header"``: the text before the signature. Unset: none.
        algorithm: With ``"header"``: how the body is signed. Default: ``"HmacSHA256"``.
        encoding: With ``"header"``: how the signature is written. Default: ``"hex"``.
    """

    _room: ClassVar[str] = "ingest."

    sender: Sender = field(kw_only=False, metadata=of("signature", one_of(Sender)))
    secret: Secret | str = field(metadata=of("signatureSecret", SECRET))
    previous: Secret | str | None = option("previousSignatureSecret", SECRET)
    tolerance: Duration | None = option("signatureTolerance", DURATION)
    header: str | None = option("signatureHeader", TEXT)
    prefix: str | None = option("signaturePrefix", TEXT)
    algorithm: Algorithm | None = option("signatureAlgorithm", one_of(Algorithm))
    encoding: Encoding | None = option("signatureEncoding", one_of(Encoding))


@dataclass(frozen=True, kw_only=True, repr=False)
class Tls(Value):
    """The listener's certificate. Files are on the driver.

    >>> Tls(cert_file="/run/secrets/server.pem", key_file="/run/secrets/server-key.pem")
    ingest.Tls(cert_file='/run/secrets/server.pem', key_file='/run/secrets/server-key.pem')

    Args:
        cert_file: File on the driver with the listener's certificate and those that lead to its authority, in PEM.
        key_file: File on the driver with the listener's private key, PKCS#8 in PEM. Unset: it stands in ``cert_file``.
        key_password: Password of an encrypted private key. Secret.
        key_store_file: File on the driver with the listener's private key and certificates, in PKCS#12, in place of
            ``cert_file``.
        key_store_password: Password of ``key_store_file`` and its key. Secret.
    """

    _room: ClassVar[str] = "ingest."

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


@dataclass(frozen=True, kw_only=True, repr=False)
class Http(Value):
    """Records by POST: lines, NDJSON, JSON, forms.

    >>> Http(8080, auth=Bearer(Secret.env("TOKEN")), headers=["X-GitHub-Event"])
    ingest.Http(port=8080, auth=ingest.Bearer(token=Secret.env('TOKEN')), headers=('X-GitHub-Event',))

    Args:
        port: The port to listen on (0: any that is free; ``epochal.ingest.address`` tells it).
        host: The address of the driver to listen on. One that is not loopback needs ``auth`` or ``tls``.
            Default: ``"127.0.0.1"``.
        auth: Who may write: ``ingest.Bearer``, ``ingest.Basic`` or ``ingest.Signature``. Unset: all on the driver's
            machine.
        tls: The listener's certificate. Unset: no TLS.
        headers: Request headers for the column headers. Those with credentials or signatures are refused. Unset: none.
        malformed: What becomes of a body that is not what its Content-Type says: ``"refuse"`` answers 400 and keeps
            nothing of the request; ``"keep"`` stores the whole body as one record, of NDJSON only the lines at fault as
            they are. Default: ``"refuse"``.
        trust_forwarded: Whether the last address in X-Forwarded-For is the client's, as a proxy in front sets it.
            Without a proxy any client could set it. Default: ``False``.
        open_status: Whether ``GET /health`` and ``GET /metrics`` need no credentials. On loopback they never do.
            Default: ``False``.
        max_request_bytes: Largest body of a request, before decompression and after it; up to 1g. Default: ``"8m"``.
        max_record_bytes: Largest record. Default: ``"1m"``.
        max_records_per_request: Maximum records of a request. Default: ``100000``.
        max_buffered_bytes: Memory for the bodies of all requests that are being received or stored; beyond it requests
            get status 503. Default: ``"64m"``.
        max_header_bytes: Largest head of a request: its line and its headers; up to 1m. Default: ``"16k"``.
        head_timeout: How long a client may take for a request's head: from the connection, or from the first byte of a
            later request. Then the connection is closed. Default: ``"15s"``.
        min_bytes_per_second: Bytes of a body that must come each second, on average from its first 10 seconds on; the
            connection of a slower client is closed. Default: ``"1k"``.
        idle_timeout: How long a connection may send nothing before it is closed; ``"0s"``: for ever. Unset: 1m.
        max_connections: Maximum connections; further ones wait. Default: ``1000``.
    """

    _room: ClassVar[str] = "ingest."
    _fixed: ClassVar[Mapping[str, str]] = {"protocol": "http"}

    port: int = field(kw_only=False, metadata=of("port", whole(0), example="9080"))
    host: str | None = option("host", TEXT)
    auth: Bearer | Basic | Signature | None = part(Bearer, Basic, Signature)
    tls: Tls | None = part(Tls)
    headers: Sequence[str] | None = option("headers", NAMES, example='["User-Agent"]')
    malformed: Malformed | None = option("malformed", one_of(Malformed))
    trust_forwarded: bool | None = option("trustForwarded", BOOLEAN)
    open_status: bool | None = option("openStatus", BOOLEAN)
    max_request_bytes: Size | None = option("maxRequestBytes", SIZE)
    max_record_bytes: Size | None = option("maxRecordBytes", SIZE)
    max_records_per_request: int | None = option("maxRecordsPerRequest", whole())
    max_buffered_bytes: Size | None = option("maxBufferedBytes", SIZE)
    max_header_bytes: Size | None = option("maxHeaderBytes", SIZE)
    head_timeout: Duration | None = option("headTimeout", DURATION)
    min_bytes_per_second: Size | None = option("minBytesPerSecond", SIZE)
    idle_timeout: Duration | None = option("idleTimeout", DURATION)
    max_connections: int | None = option("maxConnections", whole())
