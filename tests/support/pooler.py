"""pgbouncer in transaction mode in front of the tests' PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from support.postgres import free_port, ordinary_user, user_arguments
from support.waiting import until

_SETTINGS = """
[databases]
{database} = host={host} port={port} dbname={database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
pool_mode = transaction
default_pool_size = {connections}
auth_type = trust
auth_file = {users}
ignore_startup_parameters = extra_float_digits
"""


def program() -> str | None:
    """Path of pgbouncer, if installed (Debian's package has the same name)."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pooler(server: str, connections: int) -> Iterator[str]:
    """Starts a pooler with a few server connections; yields the JDBC URL."""
    found = program()
    assert found
    home = Path(tempfile.mkdtemp(prefix="epochal-pooler-"))
    where = conninfo_to_dict(server)
    port = free_port()
    users, settings, log = home / "users.txt", home / "pgbouncer.ini", home / "log"
    users.write_text('"postgres" ""\n', "utf-8")
    settings.write_text(
        _SETTINGS.format(
            host=where["host"],
            port=where["port"],
            database=where["dbname"],
            own_port=port,
            connections=connections,
            users=users,
        ),
        "utf-8",
    )
    user = ordinary_user()
    if user:
        for path in (home, users, settings):
            shutil.chown(path, user)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [found, settings], cwd=home, stdout=output, stderr=subprocess.STDOUT, **user_arguments(user)
        )
    try:

        def answers() -> bool:
            assert process.poll() is None, log.read_text("utf-8", "replace")
            try:
                psycopg.connect(host="127.0.0.1", port=port, user="postgres", dbname=where["dbname"]).close()
            except psycopg.OperationalError:
                return False
            return True

        until(answers, "pgbouncer answers")
        yield f"jdbc:postgresql://127.0.0.1:{port}/{where['dbname']}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(home, ignore_errors=True)
