"""The tables of pgbench, changed by pgbench itself, and replicas of its accounts and history."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from typing import Any

from support.databases import Postgres
from support.postgres import Server, ordinary_user, user_arguments

ACCOUNTS = 100_000
KEYS = {"pgbench_accounts": "aid", "pgbench_history": "id"}


class Pgbench:
    """Two clients of pgbench, started again whenever the server has ended their sessions.

    Args:
        rate: transactions per second.
    """

    def __init__(self, server: Server, database: Postgres, rate: int = 60) -> None:
        self._server, self._database = server, database
        self._environment = os.environ | {"PGOPTIONS": f"-c search_path={database.schema}"}
        subprocess.run(self._command("-i", "-s", "1"), check=True, capture_output=True, **self._arguments())
        database.execute(
            # Its own history has no key.
            "ALTER TABLE pgbench_history ADD id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            *(f"CREATE TABLE {table}_replica (LIKE {table} INCLUDING INDEXES)" for table in KEYS),
        )
        self._stopped = threading.Event()
        self.is_paused = False
        self._run = self._command("-n", "-c", "2", "-R", str(rate), "-T", "3600")
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _command(self, *arguments: str) -> list[str]:
        where = ["-h", "127.0.0.1", "-p", str(self._server.port), "-U", "postgres"]
        return [str(self._server.programs / "pgbench"), *where, *arguments, "postgres"]

    def _arguments(self) -> dict[str, Any]:
        return {"env": self._environment, "cwd": "/tmp", **user_arguments(ordinary_user())}

    def _loop(self) -> None:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        while not self._stopped.is_set():
            running = subprocess.Popen(self._run, **quiet, **self._arguments())
            while running.poll() is None and not self._stopped.is_set() and not self.is_paused:
                time.sleep(0.05)
            running.terminate()
            running.wait()
            while self.is_paused and not self._stopped.is_set():
                time.sleep(0.05)
            time.sleep(0.2)

    @property
    def transactions(self) -> int:
        count: int = self._database.query("SELECT count(*) FROM pgbench_history")[0][0]
        return count

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(60)

    def write(self, number: int) -> None:
        """Writes a row into both tables that pgbench does not change."""
        self._database.execute(
            f"INSERT INTO pgbench_accounts (aid, bid, abalance, filler) VALUES ({number}, 1, 0, '')",
            f"INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, {number}, 0, now())",
        )
