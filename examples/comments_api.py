"""A comments API on this machine, for the other examples: GET /comments?_start=20&_limit=10.

python examples/comments_api.py [PORT]

It serves 500 comments at http://127.0.0.1:8000/comments until Ctrl-C.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

#: Columns of a comment, as Spark DDL.
SCHEMA = "postId INT, id INT, name STRING, email STRING, body STRING"

_AUTHORS = ("ada", "grace", "edsger", "barbara", "leslie")


class CommentsApi:
    """A context manager that serves comments on a port of 127.0.0.1.

    Args:
        count: initial number of comments.
        port: the port; 0 chooses a free one.
    """

    def __init__(self, count: int, port: int = 0) -> None:
        self.comments = [comment(number) for number in range(1, count + 1)]
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/comments"

    def add(self, count: int) -> None:
        """Appends ``count`` comments to the list."""
        first = len(self.comments) + 1
        self.comments += [comment(number) for number in range(first, first + count)]

    def __enter__(self) -> CommentsApi:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        comments = self.comments

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # sends a response's head without waiting for its body

            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                start = int(asked.get("_start", ["0"])[0])
                limit = int(asked.get("_limit", ["100"])[0])
                body = json.dumps(comments[start : start + limit]).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Prints nothing: the terminal belongs to the example."""

        return Handler


def comment(number: int) -> dict[str, Any]:
    """The comment with the id ``number``, counted from 1. It is the same in every run."""
    author = _AUTHORS[number * 7 % 11 % len(_AUTHORS)]
    return {
        "postId": (number - 1) // 5 + 1,
        "id": number,
        "name": f"Comment {number}",
        "email": f"{author}@example.org",
        "body": f'{author} writes: it\'s "{number}"\nand a second line.',
    }


if __name__ == "__main__":
    with CommentsApi(500, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000) as api:
        print(f"500 comments at {api.url} until Ctrl-C", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
