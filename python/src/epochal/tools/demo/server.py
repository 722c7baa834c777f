"""A comments API on this machine: ``GET /comments?_start=20&_limit=10`` over HTTP/1.1 with keep-alive."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from epochal.tools.demo.comments import Comment

PATH = "/comments"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are sent separately; with Nagle's algorithm the body would wait for an acknowledgement of the head.
    disable_nagle_algorithm: ClassVar[bool] = True
    comments: ClassVar[Sequence[Comment]] = ()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if parts.path != PATH:
            self.send_error(404)
            return
        start = int(query.get("_start", ["0"])[0])
        limit = int(query.get("_limit", [str(len(self.comments))])[0])
        body = json.dumps(self.comments[start : start + limit]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Total-Count", str(len(self.comments)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: the terminal belongs to the demo."""


@contextmanager
def serve(comments: Sequence[Comment]) -> Iterator[str]:
    """Serves ``comments`` on a free port of 127.0.0.1; yields the URL."""
    handler = type("_CommentsHandler", (_Handler,), {"comments": comments})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{PATH}"
    finally:
        server.shutdown()
        server.server_close()
