"""The statements of ``docs/cluster.md`` about standalone clusters, on one with two workers."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

import epochal
from support import commands, example_api, snippets
from support.api import serve
from support.cluster import SMALL, Cluster
from support.data import comments
from support.databases import Postgres, new_postgres
from support.documents import Page, page
from support.pages import ChainedApi
from support.places import ROOT, VERSION
from support.postgres import server
from support.scripts import run_script

pytestmark = pytest.mark.slow

PAGE: Page = page("docs/cluster.md")
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {**SMALL, "spark.task.maxFailures": 1}
#: Java opens no socket through this proxy; Spark's own connections do not use it.
OFFLINE = "-DsocksProxyHost=127.0.0.1 -DsocksProxyPort=1 -DsocksNonProxyHosts="


@pytest.fixture(scope="module")
def guarded() -> Iterator[Postgres]:
    """A database that requires a password from the user ``loader`` and allows few prepared transactions."""
    with server("host all loader 127.0.0.1/32 scram-sha-256", max_prepared_transactions="4") as made:
        database = new_postgres(made.dsn, "guarded")
        database.execute("CREATE ROLE loader LOGIN PASSWORD 's3cret'", "GRANT ALL ON SCHEMA guarded TO loader")
        yield database


def command(marker: str) -> list[str]:
    """The page's command that contains this word."""
    found = [words for block in PAGE.blocks("bash") for words in commands.lines(block.text) if marker in words]
    assert len(found) == 1, f"{marker} is in {len(found)} commands of {PAGE}"
    return found[0]


def submit(words: list[str], work: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the page with the local Spark, jar and package."""
    package = work / f"epochal-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(package, "w") as archive:  # The wheel, without the jar.
        for path in (ROOT / "python" / "src" / "epochal").rglob("*.*[!c]"):
            archive.write(path, path.relative_to(ROOT / "python" / "src"))
    jar = f"epochal-spark_2.13-{VERSION}.jar"
    here = {f"dist/{jar}": str(epochal.jar_path()), f"dist/{package.name}": str(package)}
    small = [part for key, value in CONF.items() for part in ("--conf", f"{key}={value}")]
    program, *rest = [here.get(word, word) for word in words]
    return subprocess.run(
        [str(Path(pyspark.__file__).parent / "bin" / program), "--driver-java-options", QUICK, *small, *rest],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=work,
        env={**os.environ, "PYTHONPATH": "", "EPOCHAL_JAR": "", "PYSPARK_DRIVER_PYTHON": sys.executable} | environment,
        check=False,
    )


def test_the_command_of_the_page_runs_its_job_and_executors_need_no_python(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path
) -> None:
    words = [
        two_workers.master if word.startswith("spark://") else word
        for word in command("spark://master.example.com:7077")
    ]
    with example_api.serving() as api:
        (job,) = PAGE.blocks("python")
        (tmp_path / "job.py").write_text(snippets.here(job.text, api, postgres, tmp_path), "utf-8")
        done = submit(words, tmp_path, PYSPARK_PYTHON="/nowhere/python")
        assert done.returncode == 0, done.stdout + done.stderr
        assert api.requests
    assert postgres.query("SELECT count(*), count(DISTINCT id) FROM comments") == [(25, 25)]


def test_standalone_runs_no_python_in_cluster_mode(two_workers: Cluster, tmp_path: Path) -> None:
    (tmp_path / "job.py").touch()
    done = submit(
        ["spark-submit", "--master", two_workers.master, "--deploy-mode", "cluster", "job.py"],
        tmp_path,
        PYSPARK_PYTHON=sys.executable,
    )
    assert done.returncode != 0
    assert "Cluster deploy mode is currently not supported for python applications on standalone" in done.stderr


def test_a_jar_that_is_installed_on_the_machines_is_enough(two_workers: Cluster, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        """
import epochal
from pyspark.sql import SparkSession

spark = epochal.configure(SparkSession.builder).getOrCreate()
assert epochal.read.random(spark, max_rows=10, streaming=False).count() == 10
assert epochal.check_version(spark) == epochal.__version__
assert not spark.sparkContext.getConf().get("spark.jars")
""",
        "utf-8",
    )
    places = [f"spark.{who}.extraClassPath={epochal.jar_path()}" for who in ("driver", "executor")]
    confs = [part for place in places for part in ("--conf", place)]
    words = [
        "spark-submit",
        "--master",
        two_workers.master,
        *confs,
        "--py-files",
        f"dist/epochal-{VERSION}-py3-none-any.whl",
    ]
    done = submit([*words, "job.py"], tmp_path, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr


def test_driver_and_executors_open_the_documented_connections(
    two_workers: Cluster, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # The driver's working directory; executors have others.
    with serve(ChainedApi(records=comments(1, 40))) as api:
        facts = run_script(
            f"""
            from epochal import Http, Retry, jdbc, rest
            conf = {CONF | {"spark.executor.extraJavaOptions": f"{QUICK} {OFFLINE}"}}
            spark = epochal.configure(builder().master("{two_workers.master}").config(map=conf)).getOrCreate()
            strings = epochal.read.random(spark, rows_per_batch=20, max_rows=40, num_partitions=2)
            once = Retry(attempts=1)

            def pages(pages, **more):
                http = Http(retry=once)
                return epochal.read.rest(spark, os.environ["API"], pages=pages, schema="id INT", http=http, **more)

            def write(name, frame, url=os.environ["URL"], **more):
                database = {{}} if "sqlite" in url else {{"user": "postgres", "retry": once}}
                try:
                    epochal.write.jdbc(
                        frame, url, table=name, create_table=True, trigger="availableNow",
                        checkpoint=f"checkpoints/{{name}}", **database, **more
                    ).awaitTermination()
                    says(**{{name: "done"}})
                except epochal.EpochalError as error:
                    says(**{{name: error.condition}})

            write("inline", strings, transport=jdbc.Transport(kind="inline"))
            write("staged", strings, transport=jdbc.Transport(kind="staged"))
            write("prepared", strings, transport=jdbc.Transport(kind="prepared"))
            write("file", strings, url="jdbc:sqlite:strings.db")
            following = rest.Cursor(next="/meta/next", param="after")
            write("followed", pages(following, records=rest.Json("/data")))
            write("counted", pages(rest.Offset(size=10), records=rest.Json("/data")))
            """,
            API=api.url,
            URL=postgres.url,
        )
    assert facts == {
        "inline": "done",
        "staged": "DATABASE_UNREACHABLE",
        "prepared": "DATABASE_UNREACHABLE",
        "file": "done",
        "followed": "done",
        "counted": "HTTP_UNREACHABLE",
    }
    assert postgres.query("SELECT count(DISTINCT id) FROM inline") == [(40,)]
    assert postgres.query("SELECT count(DISTINCT id) FROM followed") == [(40,)]


def test_the_driver_reads_the_secret_executors_come_and_go_and_prepared_counts_tasks(
    two_workers: Cluster, guarded: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("password").write_text("s3cret\n", "utf-8")
    Path("password").chmod(stat.S_IRUSR)
    come_and_go = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": 0,
        "spark.dynamicAllocation.executorIdleTimeout": "1s",
        "spark.speculation": "true",
    }
    facts = run_script(
        f"""
        import time
        from epochal import Secret, jdbc
        conf = {CONF | come_and_go | {"spark.executor.extraJavaOptions": QUICK}}
        spark = epochal.configure(builder().master("{two_workers.master}").config(map=conf)).getOrCreate()

        def executors():
            return spark.sparkContext._jsc.sc().getExecutorIds().size()

        def write(rows, partitions, **more):
            frame = epochal.read.random(spark, rows_per_batch=50, max_rows=rows, num_partitions=partitions)
            return epochal.write.jdbc(
                frame, os.environ["URL"], table="strings", create_table=True, trigger="availableNow",
                checkpoint="checkpoint", sink_id="strings", user="loader", password=Secret.file("password"), **more
            ).awaitTermination()

        write(100, 4, transport=jdbc.Transport(kind="staged"))
        during = executors()
        deadline = time.monotonic() + 60
        while executors() and time.monotonic() < deadline:
            time.sleep(0.05)
        says(during=during > 0, idle=executors())
        write(200, 4, transport=jdbc.Transport(kind="staged"))
        try:
            write(250, 5, transport=jdbc.Transport(kind="prepared"))
        except epochal.EpochalError as error:
            says(condition=error.condition, hint=error.hint)
        write(300, 4, transport=jdbc.Transport(kind="prepared"))
        """,
        URL=guarded.url,
    )
    assert facts.pop("hint").startswith("Set it to 10 or more")
    assert facts == {"during": True, "idle": 0, "condition": "MODE_UNSUPPORTED"}
    assert guarded.query("SELECT count(*), count(DISTINCT id) FROM strings") == [(300, 300)]
