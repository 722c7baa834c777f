"""Prints the ten slowest tests of the last ``sbt test``, from its reports.

With ``--suites`` it prints the seconds of each slow suite instead, as ``project/suite-seconds.txt`` holds them:
sbt shares the suites out by them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 10
SLOW_SUITE = 4.0


def tests() -> Iterator[tuple[str, str, float]]:
    """Suite, test and seconds of all."""
    for report in sorted(ROOT.glob("scala/*/target/test-reports/*.xml")):
        suite = ElementTree.parse(report).getroot()
        for case in suite.iter("testcase"):
            yield suite.get("name", "").rpartition(".")[2], case.get("name", ""), float(case.get("time", "0"))


def main() -> None:
    found = list(tests())
    if "--suites" in sys.argv:
        seconds: dict[str, float] = {}
        for suite, _, took in found:
            seconds[suite] = seconds.get(suite, 0) + took
        print("\n".join(f"{suite} {took:.0f}" for suite, took in sorted(seconds.items()) if took >= SLOW_SUITE))
    else:
        print(f"slowest {SHOWN} of {len(found)} tests")
        for suite, test, took in sorted(found, key=lambda each: -each[2])[:SHOWN]:
            print(f"{took:7.2f}s {suite}: {test}")


if __name__ == "__main__":
    main()
