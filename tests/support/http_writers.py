"""Clients that send records over HTTP and retry each request until it is acknowledged."""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import urllib3

from support.waiting import until


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@dataclass
class Client:
    """Sends single requests, without retries."""

    port: int
    pool: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(retries=False, timeout=30))

    def send(
        self, body: bytes | str, kind: str = "text/plain", path: str = "/", method: str = "POST", **headers: str
    ) -> tuple[int, Any, Any]:
        """Status, the JSON of the body, and headers."""
        named = {name.replace("_", "-"): value for name, value in headers.items()} | {"Content-Type": kind}
        response = self.pool.request(method, f"http://127.0.0.1:{self.port}{path}", body=body, headers=named)
        return response.status, json.loads(response.data), response.headers


class Writer:
    """Sends numbered records, several per request, each request with its own key, until it is stopped.

    A request is retried with its key until it is acknowledged, so a writer's records are acknowledged in order.
    """

    def __init__(self, name: int, port: int, size: int = 5) -> None:
        self._name = name
        self._client = Client(port)
        self._size = size
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.acknowledged = 0
        self.repeated = 0
        self.duplicates = 0
        self._thread.start()

    def stop(self) -> None:
        """Stops and waits for the last acknowledgement."""
        self._stopping.set()
        self._thread.join(120)
        assert not self._thread.is_alive(), "a writer's last request was not acknowledged"

    def _run(self) -> None:
        request = 0
        while not self._stopping.is_set():
            first = request * self._size
            lines = "".join(f'{{"writer":{self._name},"seq":{first + i}}}\n' for i in range(self._size))
            while not self._sent(lines, f"{self._name}-{request}"):
                self.repeated += 1
                time.sleep(0.02)
            self.acknowledged += self._size
            request += 1

    def _sent(self, lines: str, key: str) -> bool:
        try:
            status, found, _ = self._client.send(lines, "application/x-ndjson", Idempotency_Key=key)
        except (urllib3.exceptions.HTTPError, OSError):
            return False
        assert status in (200, 429, 503), (status, found)
        self.duplicates += bool(status == 200 and found.get("duplicate"))
        return status == 200


def await_listener(port: int) -> None:
    until(lambda: listens(port), f"a listener on port {port}")
