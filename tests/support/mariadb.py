"""A MariaDB server of the tests' own, from the programs of Debian's package."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.postgres import free_port, ordinary_user, user_arguments
from support.waiting import until

#: Ends the server when our end of its input is closed, be it that this process was killed.
_GUARD = '"$@" & server=$!; cat >/dev/null; kill -KILL $server; wait $server'


def program() -> str | None:
    """The server's, where it is installed."""
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")


class Server:
    """A server with an empty password for ``root``.

    Args:
        home: an empty directory.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._user = ordinary_user()
        if self._user:
            shutil.chown(home, self._user)
        self.port = free_port()
        self._run("mariadb-install-db", *self._place(), "--auth-root-authentication-method=normal", "--skip-test-db")
        server = [str(program()), "--no-defaults", *self._place(), "--bind-address=127.0.0.1", f"--port={self.port}"]
        self._process = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", *server, "--innodb-buffer-pool-size=64M"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
            start_new_session=True,
            **user_arguments(self._user),
        )
        until(self._answers, "MariaDB answers", 60)

    def url(self, database: str) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{database}"

    def client(self, *arguments: str, program: str = "mariadb", sql: str = "") -> str:
        """What a client says to a text of SQL."""
        place = ["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", f"--port={self.port}", "--user=root"]
        character_set = "--default-character-set=utf8mb4"
        return self._run(program, *place[1:], character_set, *arguments, first=place[0], said=sql)

    def stop(self) -> None:
        self._process.communicate(timeout=60)

    def _place(self) -> list[str]:
        return [f"--datadir={self._home}/data", f"--socket={self._home}/socket", f"--tmpdir={self._home}"]

    def _run(self, name: str, *arguments: str, first: str = "--no-defaults", said: str = "") -> str:
        given: dict[str, Any] = user_arguments(self._user)
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [name, first, *arguments], input=said, capture_output=True, text=True, timeout=120, cwd=self._home, **given
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stderr}")
        return done.stdout

    def _answers(self) -> bool:
        assert self._process.poll() is None, "MariaDB ended"
        try:
            return "1" in self.client("-e", "SELECT 1")
        except RuntimeError:
            return False


@contextmanager
def server() -> Iterator[Server]:
    """Starts a server; ends it and removes its data."""
    home = Path(tempfile.mkdtemp(prefix="epochal-mariadb-"))
    made: Server | None = None
    try:
        made = Server(home)
        yield made
    finally:
        if made is not None:
            made.stop()
        shutil.rmtree(home, ignore_errors=True)
