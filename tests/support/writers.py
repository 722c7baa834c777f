"""TCP clients that retry until all their lines are acknowledged."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def say(address: tuple[str, int], text: str) -> list[str]:
    """All responses of the listener to a client that sends a text and ends its output."""
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(text.encode())
        client.shutdown(socket.SHUT_WR)
        return client.makefile().read().splitlines()


@dataclass
class Writer:
    """Sends ``name,0``, ``name,1``, … and counts acknowledgements.

    Attributes:
        acknowledged: all lines with lower numbers were acknowledged.
        sent: all lines with lower numbers were sent at least once.
        runs: ids in the acknowledgements, if the listener has ``ack_run``.
        resent: lines that were sent on several connections, because they were not acknowledged.
    """

    name: int
    port: int
    burst: int = 20
    acknowledged: int = 0
    sent: int = 0
    resent: set[int] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Stops sending new lines, and waits until all sent lines are acknowledged."""
        self._stop.set()
        assert self._thread is not None
        self._thread.join(120)
        assert not self._thread.is_alive(), f"writer {self.name} has {self.acknowledged} of {self.sent} acknowledged"

    def _run(self) -> None:
        while not (self._stop.is_set() and self.acknowledged == self.sent):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
                    self._talk(connection)
            except OSError:
                time.sleep(0.02)  # The driver has not started or has ended.

    def _talk(self, connection: socket.socket) -> None:
        first = at = self.acknowledged
        with connection.makefile("r", encoding="ascii") as said:
            while not (self._stop.is_set() and self.acknowledged == self.sent):
                end = self.sent if self._stop.is_set() else at + self.burst
                self.resent.update(range(at, min(self.sent, end)))
                self.sent = max(self.sent, end)
                connection.sendall("".join(f"{self.name},{n}\n" for n in range(at, end)).encode())
                at = end
                while self.acknowledged < at:
                    line = said.readline()
                    if not line.startswith("OK "):
                        raise OSError(f"the listener said {line!r}")
                    count, *run = line[3:].split()
                    self.runs.update(run)
                    self.acknowledged = first + int(count)
