"""Prints the CPU seconds of a fixed piece of work here, as a multiple of those of the reference machine.

    python scripts/machine_speed.py

A JVM and Python work side by side, as in `make test`, three times; the median counts. It takes seven seconds.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
from pathlib import Path

#: CPU seconds on the machine for which BUDGET in the Makefile holds.
REFERENCE = 4.2
JAVA = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
JVM = [JAVA, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", Path(__file__).with_name("Calibration.java")]


def work() -> None:
    rows = [{"id": number, "name": f"row {number}", "values": [number] * 5} for number in range(2000)]
    for _ in range(600):
        copy = json.loads(json.dumps(rows))
        copy.sort(key=lambda row: row["name"])
        sum(len(row["name"]) for row in copy for _ in row["values"])


def cpu_seconds() -> float:
    """CPU seconds of this process, its threads and its ended children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure() -> float:
    before = cpu_seconds()
    with subprocess.Popen(JVM, stdout=subprocess.DEVNULL) as jvm:
        work()
    assert jvm.returncode == 0
    return cpu_seconds() - before


if __name__ == "__main__":
    print(f"{statistics.median(measure() for _ in range(3)) / REFERENCE:.2f}")
