"""An S3 server in a process of its own, which delays each request and counts them by kind.

``python -m support.s3 PORT DELAY_MS`` serves the bucket ``epochal``. ``GET /-/requests`` returns the counts and
resets them, ``GET /-/runs`` the runs that wrote segments.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.programs import Program
from support.waiting import until
from support.writers import free_port

JARS = Path(__file__).resolve().parents[2] / "build/s3"
BUCKET = "epochal"
SEGMENT = re.compile(r"-([0-9a-f]{32})[.]ack$")


def settings(port: int) -> dict[str, str]:
    """Spark's settings for a checkpoint on the server, as a user of S3 makes them."""
    return {
        "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{port}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.input.stream.type": "classic",
        "spark.hadoop.fs.s3a.access.key": "a",
        "spark.hadoop.fs.s3a.secret.key": "b",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "spark.jars": ",".join(str(jar) for jar in sorted(JARS.glob("*.jar"))),
    }


class Counted:
    """A WSGI application that counts and delays the requests of another one."""

    def __init__(self, inner: Callable[..., Iterable[bytes]], delay: float) -> None:
        self._inner = inner
        self._delay = delay
        self._lock = threading.Lock()
        self._serial = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._runs: set[str] = set()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path, method, query = environ["PATH_INFO"], environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
        if method == "PUT" and (run := SEGMENT.search(path)):
            self._runs.add(run[1])
        if path.startswith("/-/"):
            with self._lock:
                body = json.dumps(sorted(self._runs) if path == "/-/runs" else self._counts).encode()
                if path == "/-/requests":
                    self._counts = Counter()
            start("200 OK", [("Content-Length", str(len(body)))])
            return [body]
        kind = "LIST" if method == "GET" and "list-type" in query else method
        with self._lock:
            self._counts[f"{kind} {'ours' if 'ingest' in path + query else 'other'}"] += 1
        time.sleep(self._delay)
        # The model of the stub is not safe for threads: of two conditional requests only one may succeed.
        with self._serial:
            return list(self._inner(environ, start))


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_request(self, *_: Any, **__: Any) -> None:
            pass

    port, delay = int(sys.argv[1]), float(sys.argv[2]) / 1000
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", port, Counted(application, delay), threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bucket = urllib.request.Request(
        f"http://127.0.0.1:{port}/{BUCKET}", method="PUT", headers={"Host": "s3.amazonaws.com"}
    )
    urllib.request.urlopen(bucket)
    print("ready", flush=True)
    sys.stdin.read()


class S3(Program):
    """The server, at its own port."""

    def __init__(self, delay_ms: int = 0) -> None:
        self.port = free_port()
        super().__init__("support.s3", arguments=(str(self.port), str(delay_ms)))
        until(lambda: b"ready\n" in self.all_output(), "the S3 stub")

    @property
    def settings(self) -> dict[str, str]:
        return settings(self.port)

    def runs(self) -> set[str]:
        """The runs that have written a segment of an acknowledged journal."""
        return set(self._get("runs"))

    def requests(self) -> dict[str, int]:
        """Requests since the last call, by kind."""
        found: dict[str, int] = self._get("requests")
        return found

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/{path}") as response:
            return json.load(response)


@contextmanager
def s3(delay_ms: int = 0) -> Iterator[S3]:
    server = S3(delay_ms)
    try:
        yield server
    finally:
        server.kill()


if __name__ == "__main__":
    main()
