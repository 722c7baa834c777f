"""HTTP settings, retries and limits: values of ``epochal``."""

from __future__ import annotations

from dataclasses import field

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.kind import DURATION, NUMBER, PLACE, SECRET, SIZE, STATUSES, TEXT, whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option, part


class Limits(Value):
    """How large a micro-batch may be.

    >>> Limits(rows=10_000)
    Limits(rows=10000)

    Args:
        rows: Maximum rows in a micro-batch. Unset: all available ones.
        min_rows: Rows to wait for before a micro-batch starts, at most for ``max_delay``. Unset: any row starts one.
        max_delay: Longest delay by ``min_rows``. Default: ``"15m"``.
        bytes: Maximum record bytes in a micro-batch. Unset: all available ones. For ``epochal.read.ingest`` and
            ``epochal.read.cdc`` only.
    """

    rows: int | None = option("maxRowsPerBatch", whole(declared="long"))
    min_rows: int | None = option("minRowsPerBatch", whole(declared="long"))
    max_delay: Duration | None = option("maxBatchDelay", DURATION)
    bytes: Size | None = option("maxBytesPerBatch", SIZE)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("max_delay", "min_rows")
        if self.rows is not None and self.min_rows is not None and self.min_rows > self.rows:
            raise self._conflict(f"rows={self.rows}, min_rows={self.min_rows}", "Make min_rows the smaller one.")


class Retry(Value):
    """Retry policy for transient errors.

    >>> Retry(attempts=5, deadline="10m")
    Retry(attempts=5, deadline='10m')

    Args:
        attempts: Maximum attempts, the first included. Default: ``8``.
        initial_delay: Upper bound of the first delay, which doubles each time; delays are random below it. Default:
            ``"200ms"``.
        max_delay: Maximum delay. Default: ``"20s"``.
        deadline: Maximum duration of all attempts. Default: ``"2m"``.
    """

    attempts: int | None = option("retry.maxAttempts", whole())
    initial_delay: Duration | None = option("retry.initialDelay", DURATION)
    max_delay: Duration | None = option("retry.maxDelay", DURATION)
    deadline: Duration | None = option("retry.deadline", DURATION)


class Budget(Value):
    """Rate and concurrency limits of requests, for driver and tasks together.

    >>> Budget(requests_per_second=5)
    Budget(requests_per_second=5)

    Args:
        requests_per_second: Maximum requests per second of the whole query, evenly spaced. Unset: unlimited.
        max_concurrency: Maximum concurrent requests of the whole query. Unset: one per task.
        name: Name of a budget: in a JVM, the queries that set it share their limits and pauses for each server. Unset:
            every query has its own.
        max_throttle_wait: Maximum pause that the server can request by Retry-After or rate limit headers. Default:
            ``"1m"``.
    """

    requests_per_second: float | None = option("requestsPerSecond", NUMBER)
    max_concurrency: int | None = option("maxConcurrency", whole())
    name: str | None = option("budgetName", TEXT)
    max_throttle_wait: Duration | None = option("maxThrottleWait", DURATION)


class Tls(Value):
    """Trusted certificate authorities, and the client's certificate. Files are on the driver.

    >>> Tls(ca_file="/etc/ssl/company.pem")
    Tls(ca_file='/etc/ssl/company.pem')

    Args:
        ca_file: PEM file on the driver with the certificate authorities to trust. Unset: the JVM's.
        cert_file: PEM file on the driver: the client's certificate and its chain.
        key_file: PEM file on the driver: the client's private key (PKCS#8). Unset: in ``cert_file``.
        key_password: Password of the private key. Secret.
    """

    ca_file: Location | None = option("tls.caFile", PLACE)
    cert_file: Location | None = option("tls.certFile", PLACE)
    key_file: Location | None = option("tls.keyFile", PLACE)
    key_password: Secret | str | None = option("tls.keyPassword", SECRET)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("key_file", "cert_file")
        self._needs("key_password", "cert_file")


class Proxy(Value):
    """The HTTP proxy for all requests.

    >>> Proxy(url="http://proxy:3128", user="me", password=Secret.env("PROXY_PASSWORD"))
    Proxy(url='http://proxy:3128', user='***', password=Secret.env('PROXY_PASSWORD'))

    Args:
        url: HTTP proxy, as http://host:port. Unset: none; the environment is ignored.
        user: User name for the proxy. Secret.
        password: Password for the proxy. Secret.
    """

    url: str = field(metadata=of("proxy", TEXT))
    user: str | None = option("proxyUser", TEXT, secret=True)
    password: Secret | str | None = option("proxyPassword", SECRET)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("password", "user")


class Http(Value):
    """Timeouts, retries, limits, TLS and proxy of requests.

    >>> Http(timeout="20s", retry=Retry(attempts=5), budget=Budget(requests_per_second=5))
    Http(timeout='20s', retry=Retry(attempts=5), budget=Budget(requests_per_second=5))

    Args:
        timeout: Timeout for connecting, and for each read. Default: ``"30s"``.
        request_deadline: Maximum duration of a request, which is then retried. Unset: 10m, or one second per MiB of
            ``max_response_bytes`` if longer.
        min_bytes_per_second: Minimum rate of a response over 10 seconds; slower requests are aborted and retried.
            Unset: none.
        max_response_bytes: Maximum response size after decompression; up to 2g. Default: ``"64m"``.
        retry_statuses: Statuses that are retried. Others from 300 on, except ``ignore_statuses``, fail the query.
            Default: ``"408,429,5xx"``.
        ignore_statuses: Statuses that count as an empty response, as 404 after the last page. Default: ``"none"``.
        retry: Retry policy for transient errors.
        budget: Rate and concurrency limits of requests, for driver and tasks together.
        tls: Trusted certificate authorities, and the client's certificate. Files are on the driver.
        proxy: The HTTP proxy for all requests.
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
