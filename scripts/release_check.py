"""Checks a release: builds it twice, and validates its metadata with other tools.

Two clean copies of the sources, under paths of different length, must produce the same bytes of the jar, the source
distribution and the wheel; the source distribution must produce the same wheel.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "release"


def copy_sources(to: Path) -> Path:
    """Copies the files that git tracks, in their current state, and sbt's launcher if Maven has downloaded one."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    launchers = [str(path.relative_to(ROOT)) for path in ROOT.glob("build/sbt/*.jar")]
    for name in [*filter(None, listed.split("\0")), *launchers]:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name, follow_symlinks=False)
    return to


def build(sources: Path) -> dict[str, Path]:
    """Builds jar, source distribution and wheel; returns them by name."""
    subprocess.run([sources / "scripts" / "sbt", "app/assembly"], check=True)
    hatch(sources / "python", "sdist", sources / "dist")
    hatch(sources / "python", "wheel", sources / "dist")
    return {path.name: path for path in (sources / "dist").iterdir()}


def hatch(project: Path, target: str, to: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", to], cwd=project, check=True)


def main() -> int:
    shutil.rmtree(WORK, ignore_errors=True)
    first = build(copy_sources(WORK / "first"))
    second = build(copy_sources(WORK / "another-directory" / "second"))
    problems = [
        f"{name}: two builds differ: {first[name]}, {second[name]}"
        for name in first
        if first[name].read_bytes() != second[name].read_bytes()
    ]

    source = next(path for name, path in first.items() if name.endswith(".tar.gz"))
    wheel = next(path for name, path in first.items() if name.endswith(".whl"))
    with tarfile.open(source) as archive:
        archive.extractall(WORK / "unpacked", filter="data")
    hatch(WORK / "unpacked" / source.name.removesuffix(".tar.gz"), "wheel", WORK / "again")
    if (WORK / "again" / wheel.name).read_bytes() != wheel.read_bytes():
        problems.append(f"{source}: gives another wheel")

    for command in (["twine", "check", "--strict", str(source), str(wheel)], ["pyroma", "--min=10", str(source)]):
        if subprocess.run([sys.executable, "-m", *command], check=False).returncode != 0:
            problems.append(f"{command[0]} is not content")
    print("\n".join(problems) or f"equal twice, and their metadata are right: {', '.join(sorted(first))}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
