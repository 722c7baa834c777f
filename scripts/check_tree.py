"""Checks that no other tool makes: registry hosts, files of more than 400 lines, projects over their budget, and code
of the jar that depends on the JVM's locale, time zone or charset."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 400
CODE = {".scala", ".java", ".py", ".sbt"}
#: Maximum Scala files below src/main of each sbt project, and their lines without comments and blank lines. Lower a
#: figure when the project has shrunk; raising one requires an ADR.
BUDGETS = {
    "core": (38, 2540),
    "kit": (96, 9794),
    "random": (7, 382),
    "rest": (62, 9632),
    "ingest": (23, 2706),
    "cdc": (48, 5400),
    "jdbc": (67, 8058),
    "inspect": (6, 480),
    "app": (3, 86),
    "testkit": (25, 2061),
}
NOT_OURS = {"build", "dist", "target", "__pycache__", "spark-warehouse", "metastore_db"}

# Hosts of package registries. Builds use the registries that the user's tools are configured for.
REGISTRY = re.compile(
    r"(?:[\w-]+[.])*(?:maven[.](?:org|apache[.]org)|sonatype[.](?:org|com)|pypi[.]org|pythonhosted[.]org"
    r"|scala-sbt[.]org|typesafe[.]com|jitpack[.]io|bintray[.]com|npmjs[.](?:org|com)|docker[.]io|ghcr[.]io)\b"
)

# Calls that use the JVM's default locale, time zone or charset.
DEFAULTS = re.compile(
    r"\.to(?:Lower|Upper)Case(?!\(Locale\.ROOT\))|(?<![\\\w\"])f\"|\"\.format\(|\bString\.format\(|\.formatted\(|[.]getBytes(?:\(\)|(?![\w(]))"
    r"|\bofPattern\([^,]*\)|\bofLocalized\w+|\bsystemDefault\b|\bTimeZone\.getDefault\b|\bdefaultCharset\b"
    r"|\bnew String\([\w.]+\)|\b(?:Simple|Decimal|Number|Message)(?:Date)?Format\b|\bCalendar\.getInstance\b"
)


# Phrases that need a second reading. What to write instead: the plain verb, with its subject.
UNCLEAR = re.compile(
    r"\b(?:of which|that which|those which|what no|who asks|told|tells|telling|says? no|strangers?|in vain|nothing of"
    r"|anew|go(?:es)? on|went on|comes? again|came again|without a word)\b|(?:/\*\*|\"\"\"|#:) ?What\b",
    re.IGNORECASE,
)
PROSE = {".scala", ".java", ".py", ".sbt", ".md", ".json", ".sh"}

COMMENT = re.compile(r"^\s*/\*.*?\*/|^\s*//[^\n]*", re.DOTALL | re.MULTILINE)
BLANK = re.compile(r"^\s*\n", re.MULTILINE)


def sources() -> Iterator[Path]:
    for directory, below, files in os.walk(ROOT):
        below[:] = [
            name for name in below if name not in NOT_OURS and (not name.startswith(".") or name in {".ci", ".github"})
        ]
        yield from (Path(directory, name) for name in files if not Path(directory, name).is_symlink())


def problems(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        return []
    name = path.relative_to(ROOT)
    found = [
        f"{name}:{n}: names the registry host {m[0]}" for n, line in enumerate(lines, 1) if (m := REGISTRY.search(line))
    ]
    if path.suffix == ".scala" and "main" in name.parts:
        found += [
            f"{name}:{n}: depends on the JVM's defaults: {m[0]}"
            for n, line in code(lines)
            if (m := DEFAULTS.search(line))
        ]
    if path.suffix in PROSE and path != Path(__file__).resolve() and "frozen" not in name.parts:
        found += [f"{name}:{n}: unclear: {m[0]}" for n, line in enumerate(lines, 1) if (m := UNCLEAR.search(line))]
    if path.suffix in CODE and len(lines) > LONGEST:
        found.append(f"{name}: {len(lines)} lines, more than {LONGEST}")
    return found


def code(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines without comments, with their numbers."""
    return ((n, line) for n, line in enumerate(lines, 1) if not line.lstrip().startswith(("*", "/*", "//")))


def over_budget() -> list[str]:
    found = []
    for project, (files, lines) in BUDGETS.items():
        texts = [path.read_text("utf-8") for path in (ROOT / "scala" / project / "src/main").rglob("*.scala")]
        used = sum(len(BLANK.sub("", COMMENT.sub("", text)).splitlines()) for text in texts)
        if len(texts) > files or used > lines:
            found.append(f"scala/{project}: {len(texts)} files of {used} lines of code, more than {files} of {lines}")
    return found


def main() -> int:
    found = [problem for path in sources() for problem in problems(path)] + over_budget()
    print("\n".join(found) or "check_tree: nothing to complain about")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
