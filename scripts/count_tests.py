"""Adds up the tests in logs from standard input: the last line is ``N passed, N failed``.

It reads the closing lines of ScalaTest under sbt and of pytest; an aborted suite counts as a failure. Tests that failed
are named before the last line; skipped and cancelled ones are counted, too.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field

SCALATEST = re.compile(
    r"^\[info\] Tests: succeeded (\d+), failed (\d+)(?:, canceled (\d+), ignored (\d+), pending (\d+))?"
)
SCALATEST_ABORTED = re.compile(r"^\[info\] Suites: completed \d+, aborted (\d+)")
SCALATEST_NOT_RUN = re.compile(r"^\[info\] - (.*?) (?:!!! (?:CANCELED|IGNORED) !!!|\(pending\))")
SCALATEST_FAILED = re.compile(r"^\[info\] (?:- )?(.*?) \*\*\* (?:FAILED|ABORTED) \*\*\*")
PYTEST = re.compile(r"^=+ (.*) in [\d.]+s.*=+$")
PYTEST_NOT_RUN = re.compile(r"^(?:SKIPPED|XFAIL) (.*)")
PYTEST_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.*)")


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    not_run: int = 0
    names: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        skipped = [f"{self.not_run} cancelled or skipped", *(f"  {name}" for name in self.names)]
        failed = [f"FAILED {name}" for name in self.failures]
        return "\n".join([*skipped, *failed, f"{self.passed} passed, {self.failed} failed"])


def count(lines: list[str]) -> Counts:
    counts = Counts()
    for line in (raw.rstrip() for raw in lines):
        if match := SCALATEST.match(line):
            counts.passed += int(match[1])
            counts.failed += int(match[2])
            counts.not_run += sum(int(number or 0) for number in match.groups()[2:])
        elif match := SCALATEST_ABORTED.match(line):
            counts.failed += int(match[1])
        elif match := SCALATEST_NOT_RUN.match(line) or PYTEST_NOT_RUN.match(line):
            counts.names.append(match[1])
        elif match := SCALATEST_FAILED.match(line) or PYTEST_FAILED.match(line):
            counts.failures.append(match[1][:300])
        elif match := PYTEST.match(line):
            named = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", match[1])}
            counts.passed += named.get("passed", 0)
            counts.failed += named.get("failed", 0) + named.get("error", 0)
            counts.not_run += named.get("skipped", 0) + named.get("xfailed", 0)
    return counts


if __name__ == "__main__":
    print(count(sys.stdin.readlines()))
