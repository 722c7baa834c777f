"""Reports of ``scripts`` about test runs and sources."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest

from support.places import ROOT

LOG = """\
[info] - a claim that holds (5 milliseconds)
[info] - a server is there !!! CANCELED !!! (1 millisecond)
[info] - a claim that fails *** FAILED *** (7 milliseconds)
[info] io.epochal.BrokenSuite *** ABORTED ***
[info] Suites: completed 3, aborted 1
[info] Tests: succeeded 40, failed 2, canceled 1, ignored 0, pending 0
[info] Suites: completed 2, aborted 0
[info] Tests: succeeded 2, failed 0, canceled 0, ignored 0, pending 0
SKIPPED [1] tests/crash/test_pooler.py:24: pgbouncer is not installed
FAILED tests/test_demo.py::test_demo - AssertionError: 3 rows
===== 8 passed, 1 failed, 1 skipped, 3 deselected in 12.31s =====
"""


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_skipped_and_failed_tests_are_listed_and_the_last_line_has_the_sums() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "count_tests.py")]
    said = subprocess.run(command, input=LOG, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == "2 cancelled or skipped"
    assert said[1:-1] == [
        "  a server is there",
        "  [1] tests/crash/test_pooler.py:24: pgbouncer is not installed",
        "FAILED a claim that fails",
        "FAILED io.epochal.BrokenSuite",
        "FAILED tests/test_demo.py::test_demo - AssertionError: 3 rows",
    ]
    assert said[-1] == "50 passed, 4 failed"


@pytest.mark.parametrize(
    "code",
    [
        "name.toLowerCase == other",
        "name.toUpperCase()",
        'f"$number%019d"',
        '"%d".format(number)',
        "text.getBytes",
        "new String(bytes)",
        'DateTimeFormatter.ofPattern("uuuu")',
        "ZoneId.systemDefault",
    ],
)
def test_uses_of_the_jvms_defaults_are_found(code: str) -> None:
    assert script("check_tree").DEFAULTS.search(code)


@pytest.mark.parametrize(
    "code",
    [
        "name.toLowerCase(Locale.ROOT)",
        '"%019d".formatLocal(Locale.ROOT, number)',
        "text.getBytes(UTF_8)",
        "rows.getBytes(1)",
        "case '\\f' => \"\\\\f\"",
        'DateTimeFormatter.ofPattern("uuuu", Locale.ROOT)',
    ],
)
def test_code_with_explicit_locale_or_charset_is_accepted(code: str) -> None:
    assert not script("check_tree").DEFAULTS.search(code)


class Vulnerabilities(BaseHTTPRequestHandler):
    """A database in OSV format with a vulnerability in every version of the PostgreSQL driver."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        known = [{"vulns": [{"id": "CVE-1"}]} if "postgresql" in query["package"]["name"] else {} for query in asked]
        body = json.dumps({"results": known}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize(
    ("library", "code", "said"),
    [
        ("org.postgresql:postgresql:42.7.8", 1, "org.postgresql:postgresql 42.7.8: CVE-1"),
        ("com.zaxxer:HikariCP:7.0.2", 0, "0 have known vulnerabilities"),
    ],
)
def test_an_audit_fails_on_a_known_vulnerability(library: str, code: int, said: str, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Vulnerabilities) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        done = audit(library, f"http://127.0.0.1:{server.server_port}", tmp_path)
        server.shutdown()
    assert done.returncode == code, done.stderr
    assert said in done.stdout


def test_an_audit_without_a_database_reports_that_nothing_was_audited(tmp_path: Path) -> None:
    done = audit("com.zaxxer:HikariCP:7.0.2", "http://127.0.0.1:1", tmp_path)
    assert done.returncode == 0
    assert "nothing was audited" in done.stdout


def audit(library: str, database: str, directory: Path) -> subprocess.CompletedProcess[str]:
    libraries = directory / "libraries.txt"
    libraries.write_text(library + "\n", encoding="utf-8")
    command = [sys.executable, str(ROOT / "scripts" / "audit.py"), str(libraries)]
    environment = {**os.environ, "EPOCHAL_OSV": database}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_project_beyond_its_budget_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_tree = script("check_tree")
    assert check_tree.over_budget() == []
    assert check_tree.BUDGETS["random"] > 100
    monkeypatch.setitem(check_tree.BUDGETS, "random", 100)
    (problem,) = check_tree.over_budget()
    assert problem.startswith("scala/random: ")
    assert problem.endswith(" lines of code, more than 100")


@pytest.mark.parametrize(
    ("code", "problems"),
    [
        ("final class Poll\nobject Poll", []),
        ("sealed trait Poll\nobject Poll\nfinal case class Page(\n    n: Int)\n    extends Poll", []),
        ("class Poll\nsealed trait Step\ncase object Next extends Step", ["Step needs its own file"]),
        ("class Poll\nclass Pace", ["Pace needs its own file"]),
        ("class Poll\nprivate[a] class Pace", []),
        ("class Poll\nprivate[a] class Clock", ["Clock needs its own file"]),
        ("class Poll {\n  class Pace\n}", []),
        ("class Pace", ["none of its types is called Poll", "Pace needs its own file"]),
    ],
)
def test_a_file_holds_one_concept_and_is_named_for_it(code: str, problems: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a" / "Poll.scala"
    path.parent.mkdir()
    path.write_text(code, encoding="utf-8")
    users = defaultdict(set, {"Pace": {path, tmp_path / "a/X.scala"}, "Clock": {tmp_path / "a/X", tmp_path / "a/Y"}})
    assert script("check_tree").second_concepts(path, users) == problems


def test_a_divided_file_leaves_the_list_of_undivided_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check_tree = script("check_tree")
    monkeypatch.setattr(check_tree, "ROOT", tmp_path)
    (tmp_path / "scala/random/src/main").mkdir(parents=True)
    (tmp_path / "scala/random/src/main/Poll.scala").write_text("class Poll\nclass Pace", encoding="utf-8")
    (problem,) = check_tree.undivided(set())
    assert problem == "scala/random/src/main/Poll.scala: Pace needs its own file"
    assert check_tree.undivided({"scala/random/src/main/Poll.scala"}) == []
    (tmp_path / "scala/random/src/main/Poll.scala").write_text("class Poll", encoding="utf-8")
    (problem,) = check_tree.undivided({"scala/random/src/main/Poll.scala"})
    assert problem.endswith("Poll.scala is divided; remove the line")


def test_two_types_of_one_name_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check_tree = script("check_tree")
    monkeypatch.setattr(check_tree, "ROOT", tmp_path)
    for project in ("kit", "rest"):
        directory = tmp_path / "scala" / project / "src/main"
        directory.mkdir(parents=True)
        (directory / "Poll.scala").write_text("private[a] class Poll\nobject Poll", encoding="utf-8")
    (problem,) = check_tree.shared_nouns()
    assert problem == "Poll is a type in scala/kit/src/main/Poll.scala and in scala/rest/src/main/Poll.scala"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("  private var seen = 0", ["seen"]),
        ("  def of(found: Row, rest: Row): Row = ???", ["found"]),
        ("    case Some(known) => known", ["known"]),
        ("  val (stored, deleted) = store()", ["stored", "deleted"]),
        ("  rows.foreach(taken => send(taken))", ["taken"]),
        ("  for { listed <- files } yield listed", ["listed"]),
        ("  def take(): Row", ["take"]),
        ("final case class Received(rows: Int)", ["Received"]),
        ("  val polledRows = seed + feed", []),
        ("  @volatile private var closed = false", []),
        ("  def isClosed: Boolean", []),
        ("  def reached: Boolean", []),
        ("  val reached = position >= end", []),
        ("  override def received: Option[String] = None", []),
        ("case object Accepted extends Verdict", []),
        ('  /** found: nothing */ def rows: String = "seen: 1"', []),
    ],
)
def test_participles_are_reported_as_names_of_things(code: str, names: list[str]) -> None:
    check_names = script("check_names")
    assert [name for _, name in check_names.in_scala(code) if check_names.is_unclear(name)] == names


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("found = 1\nfound = 2", ["found"]),
        ("def f(given): return [seen for seen in given]", ["given", "seen"]),
        ("self._made = []", ["_made"]),
        ("closed: bool = is_closed()", []),
        ("closed = False\nknown = 1 in []", []),
        ("def ended(self) -> bool: ...", []),
        ("class Found: ...", ["Found"]),
        ("class Closed(State): ...", []),
    ],
)
def test_participles_are_reported_in_python(code: str, names: list[str]) -> None:
    check_names = script("check_names")
    assert [name for _, name in check_names.in_python(code) if check_names.is_unclear(name)] == names


def test_a_name_beyond_the_baseline_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    check_names = script("check_names")
    assert check_names.main([]) == 0
    monkeypatch.setitem(check_names.BASELINE, "kit", 0)
    assert check_names.main([]) == 1
    assert "kit: " in capsys.readouterr().out


def test_a_change_is_tested_by_its_projects_and_by_the_tests_named_after_its_modules() -> None:
    changed = script("changed")
    assert changed.sbt_projects(["scala/jdbc/src/main/scala/A.scala", "scala/README.md", "docs/jdbc.md"]) == {"jdbc"}
    tests = ["tests/test_watch.py", "tests/test_watch_model.py", "tests/test_read_jdbc.py", "tests/crash/test_kill.py"]
    paths = ["python/src/epochal/tools/watch/model.py", "tests/crash/test_kill.py"]
    assert changed.python_tests(paths, tests) == {*tests[:2], "tests/crash/test_kill.py"}


@pytest.mark.parametrize(("speed", "code"), [([], 0), (["--speed", "1"], 1), (["--speed", "100"], 0)])
def test_more_cpu_seconds_than_the_budget_fail_only_for_a_machine_whose_speed_is_measured(
    speed: list[str], code: int, tmp_path: Path
) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "side_by_side.py", tmp_path / "scripts")
    work = "import time\nwhile time.process_time() < 0.3: pass"
    (tmp_path / "work.py").write_text(work, "utf-8")
    (tmp_path / "Makefile").write_text(f"work:\n\t{sys.executable} work.py\n", "utf-8")
    command = [sys.executable, "scripts/side_by_side.py", "--budget", "0.1", *speed, "work"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("Over the budget" in done.stdout) == (code == 1)
