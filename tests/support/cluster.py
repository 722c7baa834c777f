"""A standalone cluster with two workers, made of pip's pyspark, on addresses of this machine only."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.waiting import until

CORES = 4
#: Two names: Spark starts no speculative copy on the host of the first attempt.
HOSTS = ("127.0.0.1", "127.0.0.2")
#: Options of the cluster's JVMs: those of the drivers, with their archive of classes.
BRIEF = os.environ.get("SPARK_SUBMIT_OPTS") or "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: Session settings for small executors that fit the workers.
SMALL = {"spark.driver.host": HOSTS[0], "spark.executor.memory": "500m"}

_GUARD = '"$@" & daemon=$!; cat >/dev/null; kill -KILL $daemon; wait $daemon'


class Cluster:
    """A master, its workers, and their executors.

    Attributes:
        master: its URL.
        directory: where its processes work.
    """

    def __init__(self, master: str, directory: Path) -> None:
        self.master = master
        self.directory = directory

    def executors(self, application: str) -> list[int]:
        """Process ids of an application's executors. Another cluster may have an application of the same name."""
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    arguments = (process / "cmdline").read_bytes().split(b"\0")
                    ours = (process / "cwd").readlink().is_relative_to(self.directory)
                except OSError:
                    continue
                is_executor = b"java" in arguments[0] and b"--executor-id" in arguments
                if ours and is_executor and application.encode() in arguments:
                    found.append(int(process.name))
        return sorted(found)

    def kill(self, executor: int) -> None:
        os.kill(executor, signal.SIGKILL)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Starts a cluster; stops it and its executors at the end."""
    from pyspark.find_spark_home import _find_spark_home

    home = Path(_find_spark_home())
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="epochal-cluster-") as directory:
        place = Path(directory)

        def daemon(name: str, host: str, *arguments: str) -> Path:
            log = place / f"{name}.log"
            environment = os.environ | {
                "SPARK_HOME": str(home),
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": BRIEF,
                "SPARK_LOCAL_IP": host,
                "SPARK_WORKER_DIR": str(place / name),
            }
            command: list[str | Path] = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name.split('-')[0]}"]
            command += ["--host", host, "--port", "0", "--webui-port", "0", *map(str, arguments)]
            with log.open("wb") as output:
                process = subprocess.Popen(
                    ["sh", "-c", _GUARD, "sh", *command],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    cwd=place,
                    start_new_session=True,
                )
            stack.callback(process.communicate, timeout=60)
            return log

        def says(log: Path, pattern: str) -> re.Match[str] | None:
            return re.search(pattern, log.read_text("utf-8", "replace"))

        log = daemon("master.Master", HOSTS[0])
        found = until(lambda: says(log, r"Starting Spark master at (spark://\S+)"), "the master")
        for number, host in enumerate(HOSTS, 1):
            daemon(f"worker.Worker-{number}", host, "--cores", str(CORES), "--memory", "700m", found[1])
        for host in HOSTS:
            until(lambda host=host: says(log, rf"Registering worker {host}"), f"the worker {host}", 60)  # type: ignore[misc]
        yield Cluster(found[1], place)
