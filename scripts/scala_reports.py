"""Prints the ten slowest tests and the failed ones of the last ``sbt test``, from its reports.

With ``--suites`` it prints the seconds of each slow suite instead, in the format of ``project/suite-seconds.txt``, by
which sbt distributes the suites.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 10
#: Maximum characters to print of a failure.
LENGTH = 2000
SLOW_SUITE = 4.0


class Test(NamedTuple):
    suite: str
    name: str
    seconds: float
    #: The failure message; None if the test passed.
    failure: str | None


def tests() -> Iterator[Test]:
    """All tests, grouped by suite."""
    reports = (*ROOT.glob("scala/*/target/test-reports/*.xml"), *ROOT.glob("build/suites/target/test-reports/*.xml"))
    for report in sorted(reports):
        suite = ElementTree.parse(report).getroot()
        for case in suite.iter("testcase"):
            failures = [found.get("message", "") for kind in ("failure", "error") for found in case.iter(kind)]
            name = suite.get("name", "").rpartition(".")[2]
            yield Test(name, case.get("name", ""), float(case.get("time", "0")), next(iter(failures), None))


def main() -> None:
    found = list(tests())
    if "--suites" in sys.argv:
        seconds: dict[str, float] = {}
        for test in found:
            seconds[test.suite] = seconds.get(test.suite, 0) + test.seconds
        print("\n".join(f"{suite} {took:.0f}" for suite, took in sorted(seconds.items()) if took >= SLOW_SUITE))
    else:
        print(f"slowest {SHOWN} of {len(found)} tests")
        for test in sorted(found, key=lambda each: -each.seconds)[:SHOWN]:
            print(f"{test.seconds:7.2f}s {test.suite}: {test.name}")
        for test in found:
            if test.failure is not None:
                print(f"FAILED {test.suite}: {test.name}\n  {test.failure[:LENGTH]}")


if __name__ == "__main__":
    main()
