"""HTTP settings, retries and limits: values of ``epochal``."""

from __future__ import annotations

from dataclasses import field

from epochal._options import Duration, Location, Size, Statuses
from epochal._values.kind import whole
from epochal._values.secret import Secret
from epochal._values.value import Value, of, option, part


class Limits(Value):
    """How large a micro-batch may be."""

    rows: int | None = option("maxRowsPerBatch", whole(declared="long"))
    min_rows: int | None = option("minRowsPerBatch", whole(declared="long"))
    max_delay: Duration | None = option("maxBatchDelay")
    bytes: Size | None = option("maxBytesPerBatch")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._needs("max_delay", "min_rows")
        if self.rows is not None and self.min_rows is not None and self.min_rows > self.rows:
            raise self._conflict(f"rows={self.rows}, min_rows={self.min_rows}", "Make min_rows the smaller one.")


class Retry(Value):
    """Retry policy for transient errors."""

    attempts: int | None = option("retry.maxAttempts")
    initial_delay: Duration | None = option("retry.initialDelay")
    max_delay: Duration | None = option("retry.maxDelay")
    deadline: Duration | None = option("retry.deadline")


class Budget(Value):
    """Rate and concurrency limits of requests, for driver and tasks together."""

    requests_per_second: float | None = option("requestsPerSecond")
    max_concurrency: int | None = option("maxConcurrency")
    name: str | None = option("budgetName")
    max_throttle_wait: Duration | None = option("maxThrottleWait")


class Tls(Value):
    """Trusted certificate authorities, and the client's certificate. Files are on the driver."""

    _dependent = (("key_file", "cert_file"), ("key_password", "cert_file"))
    ca_file: Location | None = option("tls.caFile")
    cert_file: Location | None = option("tls.certFile")
    key_file: Location | None = option("tls.keyFile")
    key_password: Secret | str | None = option("tls.keyPassword")


class Proxy(Value):
    """The HTTP proxy for all requests."""

    _dependent = (("password", "user"),)
    url: str = field(metadata=of("proxy"))
    user: str | None = option("proxyUser", secret=True)
    password: Secret | str | None = option("proxyPassword")


class Http(Value):
    """Timeouts, retries, limits, TLS and proxy of requests.

    >>> Http(timeout="20s", retry=Retry(attempts=5), budget=Budget(requests_per_second=5))
    Http(timeout='20s', retry=Retry(attempts=5), budget=Budget(requests_per_second=5))
    """

    timeout: Duration | None = option("timeout")
    request_deadline: Duration | None = option("requestDeadline")
    min_bytes_per_second: Size | None = option("minBytesPerSecond")
    max_response_bytes: Size | None = option("maxResponseBytes")
    retry_statuses: Statuses | None = option("retry.statuses")
    ignore_statuses: Statuses | None = option("ignoreStatuses")
    retry: Retry | None = part(Retry)
    budget: Budget | None = part(Budget)
    tls: Tls | None = part(Tls)
    proxy: Proxy | None = part(Proxy)
