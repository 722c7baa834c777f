"""The HTTP client of the probe: sequential requests with pauses, bounded in number, time and size."""

from __future__ import annotations

import codecs
import http.client
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from epochal._options import milliseconds
from epochal._values.http import Http, Proxy, Tls
from epochal._version import VERSION
from epochal.errors import HttpError, OptionError
from epochal.tools.probe.address import Address
from epochal.tools.probe.credentials import Credentials, basic
from epochal.tools.probe.credentials import read as read_secret

#: Maximum bytes of a response, after decompression.
LARGEST = 16 << 20
#: Maximum seconds for a request.
_DEADLINE = 60.0
#: Maximum seconds of a pause that a server may request.
LONGEST_PAUSE = 60.0
_TIMEOUT = 20.0
_ATTEMPTS = 3
#: Seconds to pause where a header that demands a pause cannot be read.
_UNREAD = 20.0
#: Prefixes of the headers of a rate limit.
_LIMITS = ("ratelimit", "x-ratelimit", "x-rate-limit")
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class StoppedError(Exception):
    """No further request may be made; the message is the reason."""


@dataclass(frozen=True)
class Response:
    """A response.

    Attributes:
        headers: values by name in lower case; values of a repeated header are joined.
        address: the address of the request.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    address: Address


class Client:
    """Makes requests.

    Args:
        credentials: the credentials of each request.
        http: settings; ``timeout``, ``tls`` and ``proxy`` are used.
        max_requests: maximum number of requests; further ones raise ``StoppedError``.
        delay: minimum seconds between two requests.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        credentials: Credentials,
        http: Http | None,
        max_requests: int,
        delay: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.credentials = credentials
        self.requests = 0
        self._timeout = _seconds(http.timeout) if http and http.timeout is not None else _TIMEOUT
        self._tls = http.tls if http else None
        self._proxy = http.proxy if http else None
        self._max_requests, self._delay, self._sleep = max_requests, delay, sleep
        self._exhausted_for = 0.0
        self._context: ssl.SSLContext | None = None

    def get(self, address: Address, headers: Mapping[str, str] | None = None) -> Response:
        """Makes a request and returns the response with any status; throttled requests are retried after a pause.

        Raises:
            StoppedError: the limit of requests is reached, or the server requests a long pause.
            HttpError: there is no response, or it is too large.
        """
        response = self._get_once(address, headers or {})
        for attempt in range(1, _ATTEMPTS):
            if response.status not in (429, 503):
                break
            self._pause(_retry_after(response) or max(self._exhausted_for, 2.0 ** (attempt - 1)))
            self._exhausted_for = 0.0
            response = self._get_once(address, headers or {})
        return response

    def _get_once(self, address: Address, headers: Mapping[str, str]) -> Response:
        if self.requests >= self._max_requests:
            raise StoppedError(f"the limit of {self._max_requests} requests was reached")
        if self._exhausted_for:
            self._pause(self._exhausted_for)
        elif self.requests:
            self._sleep(self._delay)
        self.requests += 1
        response = self._ask(address.with_params(self.credentials.params), headers)
        self._exhausted_for = _until_reset(response.headers)
        return response

    def _pause(self, seconds: float) -> None:
        if seconds > LONGEST_PAUSE:
            raise StoppedError(f"the server asks for a pause of {seconds:.0f} s")
        self._sleep(seconds)

    def _ask(self, address: Address, headers: Mapping[str, str]) -> Response:
        place = address.shown(self.credentials.params)
        connection, target, more = self._connection(address)
        watch = _Watch(connection)
        try:
            watch.connect()
            connection.request("GET", target, headers=self._headers(headers) | more)
            response = connection.getresponse()
            body = _read(response)
            fields = dict[str, str]()
            for name, value in response.getheaders():
                fields[name.lower()] = f"{fields[name.lower()]}, {value}" if name.lower() in fields else value
            if watch.expired:  # the body may be incomplete
                raise TimeoutError
            return Response(response.status, fields, body, address)
        except _TooLargeError:
            hint = "Request smaller pages: set the API's parameter for the page size in the address or in params."
            raise HttpError(
                "HTTP_RESPONSE_TOO_LARGE", f"A response from {place} is larger than {LARGEST} bytes.", hint
            ) from None
        except zlib.error as error:
            raise HttpError(
                "HTTP_BODY_INVALID", f"{place} responded with a body that cannot be read: {error}.", LOOK
            ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._no_response(place, error, watch.expired) from None
        finally:
            watch.close()

    def _no_response(self, place: str, error: Exception, expired: bool) -> HttpError:
        if expired or isinstance(error, TimeoutError):
            within = _DEADLINE if expired else self._timeout
            hint = 'Raise http=Http(timeout="…") (--timeout on the command line), or request smaller pages.'
            return HttpError("HTTP_TIMEOUT", f"{place} did not respond within {within:g} s.", hint)
        hint = "Check the address and the network; set a proxy with http=Http(proxy=Proxy(url=…)) or --proxy."
        if isinstance(error, socket.gaierror):
            reason = f"the host name {urlsplit(place).hostname} cannot be resolved"
        elif isinstance(error, ssl.SSLError):
            reason = f"TLS failed, {getattr(error, 'verify_message', '') or error.reason or error}"
            hint = "Set your own certificate authority with http=Http(tls=Tls(ca_file=…)) or --ca-file."
        elif isinstance(error, ValueError):  # Its message quotes a header, which may be a credential.
            reason = "a header of the request has a character that is not allowed"
        else:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return HttpError("HTTP_UNREACHABLE", f"{place} could not be reached: {one_line(reason)}.", hint)

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        ours = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": f"epochal/{VERSION}"}
        own_names = {name.lower() for name in self.credentials.headers}
        defaults = {name: value for name, value in (ours | dict(headers)).items() if name.lower() not in own_names}
        return {**defaults, **self.credentials.headers, "Connection": "close"}

    def _connection(self, address: Address) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
        """A connection, the request target, and the headers for a proxy."""
        parts = urlsplit(address.origin)
        host, secure = parts.hostname or "", parts.scheme == "https"
        proxy = urlsplit(self._proxy.url) if self._proxy else None
        login = _login(self._proxy) if self._proxy else {}
        at = (proxy.hostname or "", proxy.port or 80) if proxy else (host, parts.port)
        if secure:
            connection = http.client.HTTPSConnection(*at, timeout=self._timeout, context=self._trust())
            if proxy:
                connection.set_tunnel(host, parts.port or 443, headers=login)
            return connection, address.target, {}
        target = address.url if proxy else address.target
        return http.client.HTTPConnection(*at, timeout=self._timeout), target, login

    def _trust(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = _context(self._tls)
        return self._context


class _Watch:
    """Aborts a request that takes too long, even if the server keeps sending."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.expired = False
        self._connection = connection
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(_DEADLINE, self._expire)
        self._timer.daemon = True

    def connect(self) -> None:
        self._timer.start()
        self._connection.connect()
        self._socket = self._connection.sock

    def close(self) -> None:
        self._timer.cancel()
        self._connection.close()
        if self._socket is not None:
            self._socket.close()

    def _expire(self) -> None:
        self.expired = True
        if self._socket is not None:
            with suppress(OSError):  # the connection may be closed already
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _TooLargeError(Exception):
    pass


#: The charset that a byte order mark stands for. UTF-32 is first: its mark begins as that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8",
}
LOOK = "Open the address with curl or in a browser and check what it returns."


def _read(response: http.client.HTTPResponse) -> bytes:
    body = response.read(LARGEST + 1)
    if len(body) <= LARGEST and response.length:
        raise http.client.IncompleteRead(body, response.length)
    codings = re.split(r"\s*,\s*", ",".join(response.headers.get_all("Content-Encoding", [])).strip().lower())
    encoding = ", ".join(one for one in codings if one not in ("", "identity"))
    if encoding in ("gzip", "x-gzip") and body:
        body = _unpack(body)
    elif encoding and body:
        raise zlib.error(f"its encoding is {one_line(encoding)}, which was not requested")
    if len(body) > LARGEST:
        raise _TooLargeError
    return body if response.status >= 300 else _utf8(body, response.headers.get_content_charset())


def _utf8(body: bytes, charset: str | None) -> bytes:
    """A text in UTF-8, from the charset that its content type declares."""
    if body.startswith(b"\x1f\x8b"):
        raise zlib.error("it is compressed by gzip, and its Content-Encoding does not say so")
    charset = next((name for mark, name in _MARKS.items() if body.startswith(mark)), charset)
    if charset in (None, "utf-8", "us-ascii"):
        return body
    try:
        return body.decode(charset).encode()
    except LookupError:
        raise zlib.error(f"its charset {one_line(charset)} is unknown") from None
    except UnicodeError:
        raise zlib.error(f"it is not in {one_line(charset)}, the charset of its Content-Type") from None


def _unpack(body: bytes) -> bytes:
    content = b""
    while body and len(content) <= LARGEST:
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        content += member.decompress(body, LARGEST + 1 - len(content))
        if not member.eof and len(content) <= LARGEST:
            raise zlib.error("it was cut")
        body = member.unused_data
    return content


def one_line(text: object) -> str:
    """A text from a server for use in a message: one line, short, without control characters."""
    line = " ".join(str(text)[:2000].split())[:200]
    return "".join(c if c.isprintable() else "?" for c in line)


def _retry_after(response: Response) -> float:
    """Seconds to wait before a repetition, read as by the jar; 0 if the server names no time."""
    headers = response.headers
    waits = [_wait(headers.get("retry-after"))]
    waits += [_wait(headers.get(name), 1000) for name in ("retry-after-ms", "x-ms-retry-after-ms")]
    if response.status == 429 and not any(waits):
        waits += [_reset(headers, name) for name in _LIMITS if f"{name}-remaining" not in headers]
    seconds = [wait for wait in waits if wait is not None]
    return max([0.0, *seconds, *([_UNREAD] if not any(seconds) and any(wait is None for wait in waits) else [])])


def _until_reset(headers: Mapping[str, str]) -> float:
    """Seconds until the next request is allowed, if the response reports that the rate limit is used up; else 0."""
    waits = [0.0]
    for name in _LIMITS:
        left = _number(headers.get(f"{name}-remaining"))
        if left is not None and left <= 0:
            reset = _reset(headers, name)
            waits.append(_UNREAD if reset is None else reset)
    policy = headers.get("ratelimit", "")
    left_of, reset_of = (re.search(rf"\b(?:{names})\s*=\s*(\d+)", policy) for names in ("r|remaining", "t|reset"))
    if left_of and reset_of and int(left_of[1]) == 0:
        waits.append(float(reset_of[1]))
    return max(waits)


def _reset(headers: Mapping[str, str], limit: str) -> float | None:
    """Seconds until a rate limit resets; None if the time cannot be read."""
    after = _wait(headers.get(f"{limit}-reset-after"))
    return after if after or f"{limit}-reset" not in headers else _wait(headers[f"{limit}-reset"])


def _wait(text: str | None, per_second: float = 1) -> float | None:
    """Seconds until a time: a number, large ones since 1970, or a date; None if it is neither."""
    if text is None or not text.strip():
        return 0.0
    number = _number(text)
    if number is not None:
        number /= per_second
        return number if number < 1e9 else (number if number < 1e11 else number / 1000) - time.time()
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text.strip()))
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    instant = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return max(0.0, instant.timestamp() - time.time())


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\s*-?\d{1,30}(\.\d*)?\s*", text) else None


def _seconds(duration: timedelta | str) -> float:
    if isinstance(duration, timedelta):
        return max(milliseconds(duration), 1) / 1000
    amount, unit = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", duration.lower()).groups()  # type: ignore[union-attr]
    factor = next((factor for name, factor in _UNITS.items() if unit.startswith(name)), 0.001)
    return max(float(amount) * factor, 0.001)


def _login(proxy: Proxy) -> dict[str, str]:
    return {} if proxy.user is None else {"Proxy-Authorization": basic(proxy.user, proxy.password)}


def _context(tls: Tls | None) -> ssl.SSLContext:
    arguments: dict[str, Any] = {} if tls is None or tls.ca_file is None else {"cafile": tls.ca_file}
    try:
        context = ssl.create_default_context(**arguments)
        if tls is not None and tls.cert_file is not None:
            password = read_secret(tls.key_password) if tls.key_password else None
            context.load_cert_chain(tls.cert_file, tls.key_file, password)
    except (OSError, ssl.SSLError) as error:
        raise OptionError(
            "TLS_INVALID",
            f"The files of http=Http(tls=Tls(…)) cannot be used: {one_line(error)}.",
            "They are read where the probe runs. Certificates and keys are in PEM.",
        ) from None
    return context
