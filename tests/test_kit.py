"""Connectors of other teams, built on the published kit and tested by the published conformance kit: ``tests/kit``.

Maven and sbt run all checks with ``EPOCHAL_CRASH=full``; else sbt skips those that kill processes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest

import epochal
from support import consumers, streams
from support.consumers import REPOSITORY, run
from support.places import ROOT, VERSION
from support.seeds import FULL
from support.waiting import until

PROJECTS = ROOT / "tests" / "kit"
# One worker builds all of them.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("test_kit.py")]
FILES = {"a.log": [f"a {n}" for n in range(700)], "b.log": [f"b {n}" for n in range(500)]}


#: Prefix of the claims that are checked by kills.
KILLED = "killed"


def promises(of: str) -> dict[str, str]:
    """Names and claims of the promises of a query and, for sources, of a stream."""
    code = ROOT / "scala" / "testkit" / "src" / "main" / "scala" / "io" / "epochal" / "testkit" / f"{of}Promises.scala"
    declared = code.read_text(encoding="utf-8")
    if of == "Sink":
        declared = declared.partition("// Queries.")[2]
    return dict(re.findall(r'Promise\(\s*"([a-z-]+)",\s*"([^"]+)"\)', declared))


SINK_CLAIMS = {claim for claim in promises("Sink").values() if FULL or not claim.startswith(KILLED)}


@dataclass(frozen=True)
class Connectors:
    """Two built projects: their jars, including libraries that Epochal's jar lacks, and their test reports."""

    java: Path
    scala: Path

    @property
    def jars(self) -> list[Path]:
        return [self.java / "target" / "logs-1.jar", *(self.scala / "target" / "jars").glob("*.jar")]


@pytest.fixture(scope="module")
def connectors(tmp_path_factory: pytest.TempPathFactory) -> Connectors:
    for name in ("kit", "testkit"):
        if not (REPOSITORY / "io" / "epochal" / f"epochal-{name}_2.13" / VERSION).is_dir():
            missing = f"epochal-{name} is missing"
            pytest.fail(f"{missing}: run 'make publish-local REPOSITORY={REPOSITORY.relative_to(ROOT)}' first")
    if not shutil.which("mvn"):
        pytest.skip("mvn is not installed")
    directory = tmp_path_factory.mktemp("kit")
    java, scala = (shutil.copytree(PROJECTS / name, directory / name) for name in ("java-logs", "scala-h2"))
    quick = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    run(["mvn", "-q", "-B", f"-Dmaven.repo.local={REPOSITORY}", "package"], java, quick)
    selected = "".join(f' -z "h2: {claim}"' for claim in sorted(SINK_CLAIMS))
    run([*consumers.sbt(), "jars", "test" if FULL else f"testOnly * --{selected}"], scala, quick, 1800 if FULL else 600)
    return Connectors(java, scala)


def outcomes(report: Path) -> dict[str, str]:
    """Outcome of each test in a report of Surefire or sbt: ``passed``, ``skipped``, ``failure`` or ``error``."""
    cases = ElementTree.parse(report).getroot().findall("testcase")
    kinds = ("failure", "error", "skipped")
    found = [(case.get("name", ""), [part.tag for part in case if part.tag in kinds]) for case in cases]
    assert len(dict(found)) == len(found)
    return {name: (marks or ["passed"])[0] for name, marks in found}


def test_a_java_source_passes_the_conformance_suite_under_maven_surefire(connectors: Connectors) -> None:
    report = connectors.java / "target" / "surefire-reports" / "TEST-example.logs.LogFilesTest.xml"
    expected = {f"promises() {name}: {claim}": "passed" for name, claim in promises("Source").items()}
    # Modes that the source does not have.
    not_made = [name for name in expected if name.split()[1] in ("to-continuous:", "steady-tasks:", "from-real-time:")]
    assert outcomes(report) == expected | dict.fromkeys(not_made, "skipped")
    assert (len(expected), len(not_made)) == (29, 3)


def test_a_java_source_with_its_position_outside_the_checkpoint_breaks_that_promise(connectors: Connectors) -> None:
    report = connectors.java / "target" / "surefire-reports" / "TEST-example.logs.NotedLogsTest.xml"
    assert outcomes(report) == {"positionOutsideTheCheckpoint": "passed"}


def test_a_java_source_with_tails_keeps_the_promises_of_endless_queries(connectors: Connectors) -> None:
    report = connectors.java / "target" / "surefire-reports" / "TEST-example.logs.LogTailTest.xml"
    claims = promises("Source")
    names = ("to-continuous", "steady-tasks", "from-real-time")
    assert outcomes(report) == {f"promises() {name}: {claims[name]}": "passed" for name in names}


def test_a_scala_sink_passes_the_conformance_suite_under_sbt_test(connectors: Connectors) -> None:
    report = connectors.scala / "target" / "test-reports" / "TEST-example.h2.H2SinkSuite.xml"
    assert outcomes(report) == {f"h2: {claim}": "passed" for claim in SINK_CLAIMS}
    assert len(SINK_CLAIMS) == (12 if FULL else 4)


@dataclass
class Job:
    """``tests/kit/job.py`` over files of one test."""

    directory: Path
    jars: list[Path]

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    def command(self, how: str) -> list[str | Path]:
        jars = ",".join(str(jar) for jar in (epochal.jar_path(), *self.jars))
        places: list[str | Path] = [self.directory / "logs", self.directory / "h2", self.checkpoint]
        return consumers.spark_submit("--jars", jars, PROJECTS / "job.py", *places, how)

    def kill_after(self, batches: int) -> None:
        """Runs the job until ``batches`` batches are committed, and kills it."""
        running = subprocess.Popen(
            [str(word) for word in self.command("on")],
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            until(
                lambda: len(streams.numbers(self.checkpoint, "commits")) >= batches or running.poll() is not None,
                f"{batches} batches",
            )
            assert running.poll() is None
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()

    def end(self) -> list[list[str]]:
        """Runs the job to the end of the logs, and returns the table."""
        rows: list[list[str]] = json.loads(run(self.command("end"), self.directory).splitlines()[-1])
        return rows


@pytest.fixture
def job(connectors: Connectors, tmp_path: Path) -> Job:
    (tmp_path / "logs").mkdir()
    for name, lines in FILES.items():
        (tmp_path / "logs" / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Job(tmp_path, connectors.jars)


def test_a_java_source_and_a_scala_sink_deliver_each_row_once_across_a_kill(job: Job) -> None:
    job.kill_after(3)
    killed_at = streams.numbers(job.checkpoint, "commits")[-1]
    assert killed_at < 20
    if streams.numbers(job.checkpoint, "offsets")[-1] == killed_at:
        # Also replays the last batch after a kill between two batches.
        (job.checkpoint / "commits" / str(killed_at)).unlink()
        (job.checkpoint / "commits" / f".{killed_at}.crc").unlink(missing_ok=True)
    with (job.directory / "logs" / "b.log").open("a", encoding="utf-8") as more:
        more.write("b 500\nnot complete")
    expected = [[name, line] for name, lines in FILES.items() for line in lines] + [["b.log", "b 500"]]
    assert job.end() == sorted(expected)
    assert not (PROJECTS / "java-logs" / "target").exists()


def test_the_projects_name_this_release_and_no_repository() -> None:
    texts = [(PROJECTS / name).read_text(encoding="utf-8") for name in ("java-logs/pom.xml", "scala-h2/build.sbt")]
    assert [VERSION in text for text in texts] == [True, True]
    assert not [text for text in texts if "http:" in text or "https:" in text]


def test_a_connector_has_at_most_60_lines() -> None:
    sources = [*PROJECTS.rglob("LogFiles.java"), *PROJECTS.rglob("H2Sink.scala")]
    lengths = {
        source.name: len([line for line in source.read_text(encoding="utf-8").splitlines() if line.strip()])
        for source in sources
    }
    assert len(lengths) == 2
    assert max(lengths.values()) <= 60, lengths
