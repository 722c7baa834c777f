"""How requests are made, tried again and limited: values of ``epochal``."""

from __future__ import annotations

from dataclasses import dataclass, field

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.kind import DURATION, NUMBER, PLACE, SECRET, SIZE, STATUSES, TEXT, whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option, part


@dataclass(frozen=True, kw_only=True, repr=False)
class Limits(Value):
    """How many rows a micro-batch has.

    >>> Limits(rows=10_000)
    Limits(rows=10000)

    Args:
        rows: Maximum rows in a micro-batch. Unset: all that are available.
        min_rows: Rows to wait for before a micro-batch starts, for at most ``max_delay``. Unset: any row starts one.
        max_delay: How long ``min_rows`` may delay rows. Default: ``"15m"``.
    """

    rows: int | None = option("maxRowsPerBatch", whole(declared="long"))
    min_rows: int | None = option("minRowsPerBatch", whole(declared="long"))
    max_delay: Duration | None = option("maxBatchDelay", DURATION)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("max_delay", "min_rows")
        if self.rows is not None and self.min_rows is not None and self.min_rows > self.rows:
            raise self._conflict(f"rows={self.rows}, min_rows={self.min_rows}", "Make min_rows the smaller one.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Retry(Value):
    """How often what failed for a while is tried again.

    >>> Retry(attempts=5, deadline="10m")
    Retry(attempts=5, deadline='10m')

    Args:
        attempts: Attempts in all, the first one included. Default: ``8``.
        initial_delay: Upper bound of the first delay; it doubles with every attempt. The delay itself is random,
            between 0 and the bound. Default: ``"200ms"``.
        max_delay: Upper bound of any delay. Default: ``"20s"``.
        deadline: Time for all attempts together. Default: ``"2m"``.
    """

    attempts: int | None = option("retry.maxAttempts", whole())
    initial_delay: Duration | None = option("retry.initialDelay", DURATION)
    max_delay: Duration | None = option("retry.maxDelay", DURATION)
    deadline: Duration | None = option("retry.deadline", DURATION)


@dataclass(frozen=True, kw_only=True, repr=False)
class Budget(Value):
    """How many requests are made, by driver and tasks together.

    >>> Budget(requests_per_second=5)
    Budget(requests_per_second=5)

    Args:
        requests_per_second: Maximum requests of the whole query per second, evenly spread. Unset: no limit.
        max_concurrency: Maximum concurrent requests of the whole query. Unset: one for each task.
        max_throttle_wait: Longest pause that the server may ask for, by Retry-After or by its rate limit's headers.
            Default: ``"1m"``.
    """

    requests_per_second: float | None = option("requestsPerSecond", NUMBER)
    max_concurrency: int | None = option("maxConcurrency", whole())
    max_throttle_wait: Duration | None = option("maxThrottleWait", DURATION)


@dataclass(frozen=True, kw_only=True, repr=False)
class Tls(Value):
    """Which servers are trusted, and the client's own certificate. Files are on the driver.

    >>> Tls(ca_file="/etc/ssl/company.pem")
    Tls(ca_file='/etc/ssl/company.pem')

    Args:
        ca_file: File on the driver with the certificate authorities to trust, in PEM. Unset: those of the JVM.
        cert_file: File on the driver with the client's certificate and those that lead to its authority, in PEM.
        key_file: File on the driver with the client's private key, PKCS#8 in PEM. Unset: it stands in ``cert_file``.
        key_password: Password of an encrypted private key. Secret.
    """

    ca_file: Location | None = option("tls.caFile", PLACE)
    cert_file: Location | None = option("tls.certFile", PLACE)
    key_file: Location | None = option("tls.keyFile", PLACE)
    key_password: Secret | str | None = option("tls.keyPassword", SECRET)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("key_file", "cert_file")
        self._needs("key_password", "cert_file")


@dataclass(frozen=True, kw_only=True, repr=False)
class Proxy(Value):
    """The HTTP proxy that all requests go through.

    >>> Proxy(url="http://proxy:3128", user="me", password=Secret.env("PROXY_PASSWORD"))
    Proxy(url='http://proxy:3128', user='***', password=Secret.env('PROXY_PASSWORD'))

    Args:
        url: HTTP proxy, as http://host:port. Unset: none, whatever the environment says.
        user: Name for the proxy's basic authorization. Secret.
        password: Password for the proxy's basic authorization. Secret.
    """

    url: str = field(metadata=of("proxy", TEXT))
    user: str | None = option("proxyUser", TEXT, secret=True)
    password: Secret | str | None = option("proxyPassword", SECRET)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("password", "user")


@dataclass(frozen=True, kw_only=True, repr=False)
class Http(Value):
    """How requests are made.

    >>> Http(timeout="20s", retry=Retry(attempts=5), budget=Budget(requests_per_second=5))
    Http(timeout='20s', retry=Retry(attempts=5), budget=Budget(requests_per_second=5))

    Args:
        timeout: How long to wait for a connection, and for the server's next bytes. Default: ``"30s"``.
        request_deadline: How long a request may take in all, whatever comes of it in the meantime; it is retried then.
            Unset: 10m, or a second for each MiB of ``max_response_bytes`` where that is longer.
        min_bytes_per_second: Bytes of a response's body that must come each second, on average over 10 seconds; a
            slower request is broken off and retried. Unset: no minimum.
        max_response_bytes: Largest response that is read, after decompression; up to 2g. Default: ``"64m"``.
        retry_statuses: Statuses after which a request is repeated. All others from 300 on, except ``ignore_statuses``,
            fail the query. Default: ``"408,429,5xx"``.
        ignore_statuses: Statuses that count as an empty response, such as 404 from an API that has no page after the
            last. Default: ``"none"``.
        retry: How often what failed for a while is tried again.
        budget: How many requests are made, by driver and tasks together.
        tls: Which servers are trusted, and the client's own certificate. Files are on the driver.
        proxy: The HTTP proxy that all requests go through.
    """

    timeout: Duration | None = option("timeout", DURATION)
    request_deadline: Duration | None = option("requestDeadline", DURATION)
    min_bytes_per_second: Size | None = option("minBytesPerSecond", SIZE)
    max_response_bytes: Size | None = option("maxResponseBytes", SIZE)
    retry_statuses: Statuses | None = option("retry.statuses", STATUSES)
    ignore_statuses: Statuses | None = option("ignoreStatuses", STATUSES)
    retry: Retry | None = part(Retry)
    budget: Budget | None = part(Budget)
    tls: Tls | None = part(Tls)
    proxy: Proxy | None = part(Proxy)
