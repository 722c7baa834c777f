"""Runs the tests affected by a change: the suites of the sbt projects whose files differ from a git revision, and the
Python tests that differ or are named after a changed module.

    python scripts/changed.py origin/main
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent


def sbt_projects(paths: Iterable[str]) -> set[str]:
    """The sbt projects of paths: ``core`` for ``scala/core/src/…``."""
    return {parts[1] for path in paths if (parts := path.split("/"))[0] == "scala" and "src" in parts}


def python_tests(paths: Iterable[str], tests: Iterable[str]) -> set[str]:
    """The tests that are in ``paths``, or whose name starts with that of a module in ``paths``."""
    paths = set(paths)
    modules = {module(path) for path in paths if path.startswith("python/src/epochal/") and path.endswith(".py")}
    return {
        test
        for test in tests
        if test in paths or any(PurePosixPath(test).name.startswith(f"test_{name}") for name in modules)
    }


def module(path: str) -> str:
    """The module of a path: ``watch`` for ``…/epochal/tools/watch/model.py``, ``session`` for ``_session.py``."""
    below = path.removeprefix("python/src/epochal/").removeprefix("tools/")
    return below.split("/")[0].removesuffix(".py").strip("_")


def changed(base: str) -> list[str]:
    """New files, and files that differ from the last common revision with ``base``."""
    git = ["git", "-C", str(ROOT)]
    start = subprocess.run(
        [*git, "merge-base", base, "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    asked = [[*git, "diff", "--name-only", start], [*git, "ls-files", "--others", "--exclude-standard"]]
    return [
        line
        for each in asked
        for line in subprocess.run(each, capture_output=True, text=True, check=True).stdout.splitlines()
    ]


def main(base: str) -> int:
    paths = changed(base)
    failed = False
    if projects := sorted(sbt_projects(paths)):
        command = "; ".join(f"{project}/test" for project in projects)
        failed |= subprocess.run([ROOT / "scripts" / "sbt", command], check=False).returncode != 0
    all_tests = (str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    if tests := sorted(python_tests(paths, all_tests)):
        command_line = [sys.executable, "-m", "pytest", *tests, "-m", "not (slow or matrix or long)"]
        failed |= subprocess.run(command_line, cwd=ROOT, env=os.environ, check=False).returncode not in (0, 5)
    if not projects and not tests:
        print(f"no test is named after what changed since {base}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
