"""An API in this process that accepts rows, with or without support for idempotency keys."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Row = dict[str, Any]
Reply = tuple[int, Any]


@dataclass(frozen=True)
class Sent:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: str

    @property
    def key(self) -> str | None:
        return self.headers.get("idempotency-key")

    @property
    def rows(self) -> list[Row]:
        """Rows of the request: one, an array, or lines."""
        read = [json.loads(line) for line in self.body.splitlines() if line.strip()]
        return read[0] if len(read) == 1 and isinstance(read[0], list) else read


@dataclass
class Orders:
    """Applies rows.

    Attributes:
        honours: whether a repeated key gets the first response and is not applied again. With another body it gets 422.
        reply: status and JSON for a new request; below 300 its rows are applied.
        refuse: statuses of the next responses; those requests are not applied.
        applied: number of times each id was applied.
        requests: all requests, in order of arrival.
    """

    honours: bool = True
    reply: Callable[[Sent], Reply] = lambda sent: (201, {})
    refuse: list[int] = field(default_factory=list)
    applied: Counter[int] = field(default_factory=Counter)
    requests: list[Sent] = field(default_factory=list)
    url: str = ""
    _seen: dict[str, tuple[str, Reply]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, sent: Sent) -> Reply:
        with self._lock:
            self.requests.append(sent)
            if self.refuse:
                return self.refuse.pop(0), {"error": "as configured"}
            if sent.key is None or not self.honours:
                return self._apply(sent)
            body, reply = self._seen.get(sent.key) or (sent.body, None)
            if body != sent.body:
                return 422, {"error": "the key was used for another body"}
            if reply is None:
                reply = self._apply(sent)
                self._seen[sent.key] = (sent.body, reply)
            return reply

    def _apply(self, sent: Sent) -> Reply:
        reply = self.reply(sent)
        if reply[0] < 300:
            self.applied.update(row["id"] for row in sent.rows)
        return reply


@contextmanager
def serve(orders: Orders) -> Iterator[Orders]:
    """Serves ``orders`` on a free port of 127.0.0.1, and sets its ``url``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # A response in one write.

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, said = orders.answer(Sent(self.command, self.path, headers, body))
            text = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_PUT(self) -> None:
            self.do_POST()

        def do_PATCH(self) -> None:
            self.do_POST()

        def do_DELETE(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, ValueError):  # The client was killed.
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    orders.url = f"http://127.0.0.1:{server.server_port}/orders"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield orders
    finally:
        server.shutdown()
        server.server_close()
