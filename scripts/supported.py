"""Generates the table of ``docs/supported.md`` from pytest's reports: ``supported.py build/matrix/*.xml``."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

PAGE = Path(__file__).resolve().parent.parent / "docs" / "supported.md"
BEGIN, END = "<!-- written by make test-matrix -->", "<!-- end -->"


@dataclass(frozen=True)
class Run:
    """The result of a pytest run: numbers of passed, failed and skipped tests."""

    passed: int
    failed: int
    skipped: int

    def __add__(self, other: Run) -> Run:
        return Run(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        failed = f", **{self.failed} failed**" if self.failed else ""
        skipped = f" ({self.skipped} skipped)" if self.skipped else ""
        return f"{self.passed} passed{failed}{skipped}"


def read(file: Path) -> Run:
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in ElementTree.parse(file).getroot().iter("testsuite"):
        for name in counts:
            counts[name] += int(suite.get(name, 0))
    failed = counts["failures"] + counts["errors"]
    return Run(counts["tests"] - failed - counts["skipped"], failed, counts["skipped"])


def label(name: str) -> str:
    """``4.0.5-classic``, ``4.0.5-jobs`` → ``Spark 4.0.5``."""
    if name == "lines":
        return "one checkpoint, up and down these lines"
    if name.startswith("client-"):
        return f"pyspark-client {name.removeprefix('client-')} over Connect, without a JVM"
    if name.startswith("python"):
        return f"Python {name.removeprefix('python')}"
    line, _, kind = name.partition("-")
    return f"Spark {line}" + (" over Connect" if kind == "connect" else "")


def table(files: list[Path]) -> str:
    runs: dict[str, Run] = {}
    for file in files:
        runs[label(file.stem)] = runs.get(label(file.stem), Run(0, 0, 0)) + read(file)
    rows = [f"| {name} | {run} |" for name, run in sorted(runs.items())]
    return "\n".join(["| with | tests |", "|---|---|", *rows])


def main(names: list[str]) -> int:
    files = [Path(name) for name in names]
    text = PAGE.read_text("utf-8")
    made = f"{BEGIN}\n\n{table(files)}\n\n{END}"
    PAGE.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: made, text, flags=re.DOTALL), "utf-8")
    print(table(files))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
