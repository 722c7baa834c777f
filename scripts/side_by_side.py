"""Runs make targets in parallel, each with its own log, and prints a log when its target has ended.

    python scripts/side_by_side.py [--budget SECONDS] [--speed FACTOR] TARGET...

At the end it prints the test counts of each target, and the CPU seconds of all targets with all their processes. It
fails if a target fails. With the speed of this machine, as `machine_speed.py` prints it, it also fails if the CPU time
exceeds the budget times this factor. The last line is pytest's closing line, if one of the targets runs pytest.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
COUNTS = re.compile(r"\[info\] (?:Tests:|Total number)|=+ .* in [0-9.]+s.*=+$")
CLOSING = re.compile(r"=+ .*(?:passed|failed|error).* in [0-9.]+s")
#: From <sys/prctl.h>: orphaned descendants become children of this process, so that their CPU time is counted.
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Counts servers that outlive their parent process. Linux only: other systems do not count them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(targets: list[str]) -> list[str]:
    """Runs the targets; returns the failed ones."""
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    running: dict[int, str] = {}
    failed: list[str] = []
    for target in targets:
        with (LOGS / f"{target}.log").open("wb") as log:
            process = subprocess.Popen(
                ["make", "--no-print-directory", target], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        running[process.pid] = target
        print(f"make {target}: started, log in build/logs/{target}.log", flush=True)

    def stop(signum: int, _frame: object) -> None:
        for pid in running:
            os.kill(pid, signal.SIGTERM)
        sys.exit(128 + signum)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
    while running:
        pid, status = os.wait()
        if pid not in running:
            continue
        target = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        if code:
            failed.append(target)
        print(f"===== make {target}: exit code {code} after {time.monotonic() - began:.0f} s")
        print((LOGS / f"{target}.log").read_text("utf-8", "replace"), flush=True)
    return failed


def reap(seconds: float = 10) -> None:
    """Waits for orphaned processes: the servers of a test end after their test process."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)
        except ChildProcessError:
            return


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=float("inf"), help="CPU seconds on the reference machine")
    parser.add_argument("--speed", type=float, help="CPU seconds here for one of the reference machine")
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    adopt_orphans()
    failed = run(arguments.targets)
    reap()
    print("=====")
    lines = {
        target: (LOGS / f"{target}.log").read_text("utf-8", "replace").splitlines() for target in arguments.targets
    }
    for target, log in lines.items():
        print("\n".join(f"{target}: {line}" for line in log if COUNTS.match(line)))
    used = cpu_seconds()
    limit = arguments.budget * (arguments.speed or 1)
    over = arguments.speed is not None and used > limit
    if limit == float("inf"):
        print(f"CPU time: {used:.0f} s")
    else:
        print(
            f"CPU time: {used:.0f} s; budget {limit:.0f} s on {'this' if arguments.speed else 'the reference'} machine"
        )
    if over:
        print("Over the budget: tag the slowest tests above as slow, or make them cheaper (CONTRIBUTING.md).")
    for log in lines.values():
        print("\n".join([line for line in log if CLOSING.match(line)][-1:]))
    return 1 if failed or over else 0


if __name__ == "__main__":
    sys.exit(main())
