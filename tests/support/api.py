"""A JSON API in this process that grows, shrinks, fails and delays responses on command."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

Record = dict[str, Any]
Answer = tuple[int, bytes, Mapping[str, str]]


@dataclass(frozen=True)
class Request:
    """A client's request."""

    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""


@dataclass
class Api:
    """Serves ``records`` by ``_start``/``_limit``, or by ``page``/``per_page`` (pages count from 1).

    Attributes:
        wrap: converts a page of records to the response's JSON.
        failures: statuses of the next responses, in place of pages.
        hold: requests wait until it is set.
        requests: all requests so far, in order of arrival.
    """

    records: list[Record] = field(default_factory=list)
    wrap: Callable[[list[Record]], Any] = lambda page: page
    failures: deque[int] = field(default_factory=deque)
    hold: threading.Event = field(default_factory=threading.Event)
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def page(self, params: dict[str, str]) -> list[Record]:
        """The requested records."""
        if "page" in params:
            size = int(params["per_page"])
            start = (int(params["page"]) - 1) * size
        else:
            start = int(params.get("_start", 0))
            size = int(params.get("_limit", len(self.records)))
        return self.records[start : start + size]

    def answer(self, request: Request) -> Answer:
        """Status, body, and additional headers of the response."""
        self.requests.append(request)
        self.hold.wait(60)
        if self.failures:
            return self.failures.popleft(), b'{"error": "as configured"}', {}
        return 200, json.dumps(self.wrap(self.page(request.params))).encode(), {}


Served = TypeVar("Served", bound=Api)


@contextmanager
def serve(api: Served) -> Iterator[Served]:
    """Serves ``api`` on a free port of 127.0.0.1, and sets its ``url``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = self.rfile.read(int(headers.get("content-length", 0)))
            status, body, more = api.answer(Request(parts.path, dict(parse_qsl(parts.query)), headers, asked))
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            if "Content-Type" not in more:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:  # The client was killed.
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_port}/comments"
    api.hold.set()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield api
    finally:
        api.hold.set()
        server.shutdown()
        server.server_close()
