"""A Spark Connect server in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.waiting import until


@contextmanager
def running(jar: Path | None) -> Iterator[str]:
    """Gives its address, ``sc://…``; with the jar on driver and executors, or without."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    command = (
        [sys.executable, str(home / "bin" / "spark-submit")]
        if os.name == "nt"
        else [str(home / "bin" / "spark-submit")]
    )
    command += ["--master", "local[2]", *(f"--conf={name}={value}" for name, value in settings.items())]
    command += ["--jars", str(jar)] if jar else []
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={k: v for k, v in os.environ.items() if k not in ("SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS")}
        | {"SPARK_HOME": str(home)},
    )
    try:
        until(lambda: process.poll() is not None or _listens(port), "the Connect server")
        assert process.poll() is None, "the Connect server ended"
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
