"""A TCP proxy in front of PostgreSQL that loses the response to COMMIT, PREPARE TRANSACTION or COMMIT PREPARED."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_COMMIT = re.compile(rb"(COMMIT( PREPARED [^\0]*)?|PREPARE TRANSACTION [^\0]*)\0")


class Proxy:
    """Forwards connections to a port of this machine.

    Attributes:
        port: the proxy's port.
        before: number of next COMMITs that are not forwarded: the connection is cut instead.
        after: number of next COMMITs that are forwarded, with the connection cut after the server's response.
        cuts: number of cut connections.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self.before = 0
        self.after = 0
        self.cuts = 0

    def accept(self) -> None:
        """Serves connections until ``close``."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        lost = threading.Event()
        threading.Thread(target=self._answers, args=(server, client, lost), daemon=True).start()
        with suppress(OSError):
            while data := client.recv(65536):
                if _COMMIT.search(data):
                    if self._take("before"):
                        break
                    if self._take("after"):
                        lost.set()
                server.sendall(data)
        _close(client, server)

    def _answers(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if lost.is_set():
                    break
                client.sendall(data)
        _close(client, server)

    def _take(self, name: str) -> bool:
        with self._lock:
            left: int = getattr(self, name)
            if left > 0:
                setattr(self, name, left - 1)
                self.cuts += 1
            return left > 0


def _close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """A proxy in front of a port."""
    made = Proxy(target)
    threading.Thread(target=made.accept, daemon=True).start()
    try:
        yield made
    finally:
        made.close()
