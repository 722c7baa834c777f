"""A fake PostgreSQL server that requests a cleartext password and records it."""

from __future__ import annotations

import socket
import struct
import threading
from types import TracebackType

_STARTUP, _SSL, _GSS = 196608, 80877103, 80877104


class AskingServer:
    """On a free port of 127.0.0.1.

    Attributes:
        passwords: received passwords.
        connections: number of login attempts.
    """

    def __init__(self) -> None:
        self.passwords: list[str] = []
        self.connections = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]

    def __enter__(self) -> AskingServer:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with client, client.makefile("rwb") as stream:
            while True:
                head = stream.read(8)
                if len(head) < 8:
                    return
                length, code = struct.unpack("!ii", head)
                stream.read(length - 8)
                if code == _STARTUP:
                    break
                stream.write(b"N")
                stream.flush()
            self.connections += 1
            stream.write(b"R" + struct.pack("!ii", 8, 3))  # AuthenticationCleartextPassword
            stream.flush()
            kind = stream.read(1)
            if kind == b"p":
                (length,) = struct.unpack("!i", stream.read(4))
                self.passwords.append(stream.read(length - 4).rstrip(b"\0").decode())
            message = b"SFATAL\0C28P01\0Mno\0\0"
            stream.write(b"E" + struct.pack("!i", len(message) + 4) + message)
            stream.flush()
