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
    """

    attempts: int | None = option("retry.maxAttempts", whole())
    initial_delay: Duration | None = option("retry.initialDelay", DURATION)
    max_delay: Duration | None = option("retry.maxDelay", DURATION)
    deadline: Duration | None = option("retry.deadline", DURATION)


class Budget(Value):
    """Rate and concurrency limits of requests, for driver and tasks together.

    >>> Budget(requests_per_second=5)
    Budget(requests_per_second=5)
    """

    requests_per_second: float | None = option("requestsPerSecond", NUMBER)
    max_concurrency: int | None = option("maxConcurrency", whole())
    name: str | None = option("budgetName", TEXT)
    max_throttle_wait: Duration | None = option("maxThrottleWait", DURATION)


class Tls(Value):
    """Trusted certificate authorities, and the client's certificate. Files are on the driver.

    >>> Tls(ca_file="/etc/ssl/company.pem")
    Tls(ca_file='/etc/ssl/company.pem')
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
