"""Reads logs from standard input and adds up the tests that ran: ``N passed, N failed``.

Counted are the closing lines of ScalaTest under sbt and of pytest; an aborted suite is a failure.
"""

from __future__ import annotations

import re
import sys

SCALATEST = re.compile(r"^\[info\] Tests: succeeded (\d+), failed (\d+)")
SCALATEST_ABORTED = re.compile(r"^\[info\] Suites: completed \d+, aborted (\d+)")
PYTEST = re.compile(r"^=+ (.*) in [\d.]+s.*=+$")


def count(lines: list[str]) -> tuple[int, int]:
    passed = failed = 0
    for line in (raw.rstrip() for raw in lines):
        if match := SCALATEST.match(line):
            passed, failed = passed + int(match[1]), failed + int(match[2])
        elif match := SCALATEST_ABORTED.match(line):
            failed += int(match[1])
        elif match := PYTEST.match(line):
            named = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", match[1])}
            passed += named.get("passed", 0)
            failed += named.get("failed", 0) + named.get("error", 0)
    return passed, failed


if __name__ == "__main__":
    print("{} passed, {} failed".format(*count(sys.stdin.readlines())))
