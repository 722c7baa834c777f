"""Stores webhooks with GitHub's signature as rows; the driver is killed while they arrive, and restarted.

python examples/webhooks.py

The sender repeats a delivery, with the same id, until it is acknowledged. Some deliveries are sent twice while the
driver is down, but each is in the table once.
"""

from __future__ import annotations

import hmac
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pyspark.sql import SparkSession

import epochal
from epochal import Secret, ingest

DELIVERIES = 200
SECRET = "between the sender and us"
FULL = 429  # the journal is full
PATIENCE = 120.0  # seconds


def receive(port: int, place: Path) -> None:
    """Runs the query in a separate process: listens on the port and writes deliveries into a table."""
    builder = SparkSession.builder.master("local[2]").config(map={"spark.ui.enabled": False})
    spark = epochal.configure(builder).getOrCreate()
    sender = ingest.Signature("github", secret=Secret.env("WEBHOOK_SECRET"))
    events = epochal.read.ingest(
        spark,
        protocol=ingest.HttpServer(port, auth=sender, headers=["X-GitHub-Event"]),
        records=ingest.Json(),
        schema="action STRING, number INT",
    )
    query = epochal.write.jdbc(
        events.selectExpr("headers['X-GitHub-Event'] AS event", "action", "number"),
        f"jdbc:sqlite:{place}/events.db",
        table="events",
        sink_id="events",
        checkpoint=place / "checkpoint",
    )
    query.awaitTermination()


def deliver(port: int, number: int, secret: str = SECRET) -> int:
    """Sends a delivery until it is acknowledged or rejected; returns the status."""
    body = json.dumps({"action": "opened", "number": number}).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": f"delivery-{number}",
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest(),
    }
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with urlopen(Request(f"http://127.0.0.1:{port}/", body, headers), timeout=30) as response:
                return int(response.status)
        except HTTPError as refusal:
            if refusal.code < 500 and refusal.code != FULL:
                return refusal.code
        except (OSError, HTTPException):
            pass  # the driver is down, or was killed before it responded
        time.sleep(0.1)
    raise TimeoutError(f"delivery {number} got no response")


def start(port: int, place: Path) -> subprocess.Popen[bytes]:
    with (place / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, __file__, str(port), str(place)],
            stdout=log,
            stderr=log,
            env=os.environ | {"WEBHOOK_SECRET": SECRET},
            start_new_session=True,
        )


def kill(driver: subprocess.Popen[bytes]) -> None:
    os.killpg(driver.pid, signal.SIGKILL)  # Python and the JVM
    driver.wait()


def play(place: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    table = sqlite3.connect(place / "events.db", timeout=60)
    table.execute("CREATE TABLE events (event TEXT, action TEXT, number INTEGER)")

    def wait_for(rows: int) -> None:
        while table.execute("SELECT count(*) FROM events").fetchone()[0] < rows:
            if driver.poll() is not None:
                raise RuntimeError(f"the driver ended:\n{(place / 'log').read_text()}")
            time.sleep(0.01)

    driver = start(port, place)
    try:
        print(f"A delivery with a wrong signature: status {deliver(port, 0, secret='a guess')}")
        with ThreadPoolExecutor(1) as sender:
            statuses = sender.submit(lambda: [deliver(port, number) for number in range(DELIVERIES)])
            wait_for(rows=1)
            kill(driver)
            print("The driver was killed while deliveries arrived. It is restarted on the same checkpoint.")
            driver = start(port, place)
            acknowledged = statuses.result().count(200)
        wait_for(rows=acknowledged)
    finally:
        kill(driver)
    numbers = [number for (number,) in table.execute("SELECT number FROM events ORDER BY rowid")]
    table.close()
    order = "in order" if numbers == sorted(numbers) else "out of order"
    print(f"{acknowledged} deliveries acknowledged, {len(numbers)} rows, {len(set(numbers))} different ones, {order}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        receive(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory(prefix="epochal-", ignore_cleanup_errors=True) as directory:
            play(Path(directory))
