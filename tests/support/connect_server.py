"""Spark's Connect and Thrift servers, each in its own process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.waiting import until


@contextmanager
def running(
    jar: Path | None,
    conf: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[str]:
    """Yields the address of a Connect server, ``sc://…``; with or without the jar on driver and executors.

    Args:
        conf: the owner's settings, in addition to the tests' own.
        environment: environment variables of the driver.
        log: a file for its log, which is otherwise discarded.
    """
    port = _free_port()
    settings = {"spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1"}
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with _started(main, port, jar, settings | dict(conf or {}), environment or {}, log):
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def thrift(
    jar: Path, place: Path, conf: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yields the JDBC URL of a Thrift server, whose catalog is in the directory ``place``."""
    port = _free_port()
    settings = {
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={place}/catalog;create=true",
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
    }
    main = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    with _started(main, port, jar, settings | dict(conf), environment or {}):
        yield f"jdbc:hive2://127.0.0.1:{port}/default"


def beeline(url: str, statements: list[str]) -> str:
    """Runs statements over a Thrift server; returns the client's output."""
    command = [str(_home() / "bin" / "beeline"), "-u", url, "-n", "someone", "--outputformat=csv2"]
    for statement in statements:
        command += ["-e", statement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=_environment(), check=False)
    return done.stdout + done.stderr


@contextmanager
def _started(
    main: str,
    port: int,
    jar: Path | None,
    conf: Mapping[str, str],
    environment: Mapping[str, str],
    log: Path | None = None,
) -> Iterator[None]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    } | dict(conf)
    submit = str(_home() / "bin" / "spark-submit")
    command = [sys.executable, submit] if os.name == "nt" else [submit]
    command += ["--master", "local[2]", *(f"--conf={name}={value}" for name, value in settings.items())]
    command += ["--jars", str(jar)] if jar else []
    command += ["--class", main, "spark-internal"]
    with open(log or os.devnull, "wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=_environment() | dict(environment),
        )
    try:
        until(lambda: process.poll() is not None or _listens(port), main)
        assert process.poll() is None, f"{main} ended"
        yield
    finally:
        if "spark.eventLog.dir" in settings:  # Pending events are written.
            os.killpg(process.pid, signal.SIGTERM)
            until(lambda: process.poll() is not None, f"the end of {main}")
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def _home() -> Path:
    """Home of this environment's Spark, or of ``EPOCHAL_TEST_SPARK`` if the environment has only a client."""
    import pyspark

    named = os.environ.get("EPOCHAL_TEST_SPARK")
    return Path(named) if named else Path(pyspark.__file__).parent


def _environment() -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k not in ("SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS")}
    return inherited | {"SPARK_HOME": str(_home())}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
