"""Checks that no other tool makes: registry hosts, files of more than 400 lines, projects over their budget, Scala
files of more than one concept, code of the jar that depends on the JVM's locale, time zone or charset, and
`@param` without a parameter."""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 400
CODE = {".scala", ".java", ".py", ".sbt"}
#: Maximum lines of Scala below src/main of each sbt project, without comments, blank lines, package and imports:
#: dividing a file is free. Lower a figure when the project has shrunk; raising one requires an ADR.
BUDGETS = {
    "core": 2410,
    "kit": 9235,
    "random": 346,
    "rest": 9028,
    "ingest": 2469,
    "cdc": 6675,
    "jdbc": 8757,
    "inspect": 424,
    "app": 65,
    "testkit": 1861,
}
#: Scala files that still hold several concepts, one on a line. The list only shrinks, and goes when it is empty.
UNDIVIDED = Path(__file__).with_name("undivided_files.txt")
#: Maximum lines of the Python package without its tools.
PYTHON_CORE = 4839
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
IMPORT = re.compile(r"^(?:import|package) [^{\n]*(?:\{[^}]*\})?[^\n]*\n", re.MULTILINE)
ANY_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
BLANK = re.compile(r"^\s*\n", re.MULTILINE)

#: The head of a top-level type: scalafmt indents all others.
TYPE = re.compile(
    r"^((?:(?:private(?:\[\w+\])?|sealed|abstract|final|case|implicit) )*)(?:class|trait|object|type) (\w+)", re.M
)
PARENTS = re.compile(r"\bextends\b(.*)", re.DOTALL)


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
        found += [f"{name}: @param {parameter} names no parameter" for parameter in unnamed("\n".join(lines))]
    if path.suffix in PROSE and path != Path(__file__).resolve() and "frozen" not in name.parts:
        found += [f"{name}:{n}: unclear: {m[0]}" for n, line in enumerate(lines, 1) if (m := UNCLEAR.search(line))]
    if path.suffix in CODE and len(lines) > LONGEST:
        found.append(f"{name}: {len(lines)} lines, more than {LONGEST}")
    return found


def unnamed(text: str) -> list[str]:
    """The `@param` names of Scaladoc that the definition after it lacks."""
    return [
        parameter
        for doc in re.finditer(r"/\*\*.*?\*/", text, re.DOTALL)
        for parameter in re.findall(r"@param +(\w+)", doc[0])
        if not re.search(
            rf"\b{parameter}`?\s*:|[\[,]\s*{parameter}\b", re.split(r"\n\n|/\*\*", text[doc.end() :], maxsplit=1)[0]
        )
    ]


def code(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines without comments, with their numbers."""
    return ((n, line) for n, line in enumerate(lines, 1) if not line.lstrip().startswith(("*", "/*", "//")))


def over_budget() -> list[str]:
    problems = []
    for project, lines in BUDGETS.items():
        texts = [path.read_text("utf-8") for path in (ROOT / "scala" / project / "src/main").rglob("*.scala")]
        used = sum(len(BLANK.sub("", IMPORT.sub("", COMMENT.sub("", text))).splitlines()) for text in texts)
        if used > lines:
            problems.append(f"scala/{project}: {used} lines of code, more than {lines}")
    core = [path for path in (ROOT / "python" / "src" / "epochal").rglob("*.py") if "tools" not in path.parts]
    if (used := sum(len(path.read_text("utf-8").splitlines()) for path in core)) > PYTHON_CORE:
        problems.append(f"python: {used} lines outside of tools, more than {PYTHON_CORE}")
    return problems


def second_concepts(path: Path, users: dict[str, set[Path]]) -> list[str]:
    """What a Scala file holds beside the type that it is named for. These may stand there:

    - its companion
    - subtypes of a sealed type in the file, which the language requires there
    - a private type that at most one other file names

    :param users: the files that name each type
    """
    text = COMMENT.sub("", path.read_text("utf-8"))
    heads = list(TYPE.finditer(text))
    problems = [] if any(head[2] == path.stem for head in heads) else [f"none of its types is called {path.stem}"]
    sealed = {head[2] for head in heads if "sealed " in head[1]}
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        declaration = re.split(
            r" \{$|\n\n", text[head.end() : after and after.start()], maxsplit=1, flags=re.MULTILINE
        )[0]
        parents = PARENTS.search(declaration)
        package = re.search(r"private(?:\[(\w+)\])?", head[1])
        others = [
            user for user in users[head[2]] - {path} if package and (package[1] or path.parent.name) in user.parts
        ]
        is_small = package and len(others) <= 1
        if head[2] != path.stem and not is_small and not (parents and sealed & set(re.findall(r"\w+", parents[1]))):
            problems.append(f"{head[2]} needs its own file")
    return list(dict.fromkeys(problems))


def undivided(allowed: set[str]) -> list[str]:
    """Main files of more than one concept, or named for none; of the `allowed` ones, those that are divided."""
    paths = [path for project in BUDGETS for path in (ROOT / "scala" / project / "src/main").rglob("*.scala")]
    users: dict[str, set[Path]] = defaultdict(set)
    for path in paths:
        for word in re.findall(r"\w+", ANY_COMMENT.sub("", path.read_text("utf-8"))):
            users[word].add(path)
    concepts = {str(path.relative_to(ROOT)): second_concepts(path, users) for path in sorted(paths)}
    return [
        f"{name}: {'; '.join(problems)}" for name, problems in concepts.items() if problems and name not in allowed
    ] + [f"{UNDIVIDED.name}: {name} is divided; remove the line" for name in sorted(allowed) if not concepts.get(name)]


def shared_nouns() -> list[str]:
    """Top-level types of one name in several files: a reader of one takes it for the other."""
    homes: dict[str, set[str]] = defaultdict(set)
    for project in BUDGETS:
        for path in (ROOT / "scala" / project / "src/main").rglob("*.scala"):
            for head in TYPE.finditer(COMMENT.sub("", path.read_text("utf-8"))):
                homes[head[2]].add(str(path.relative_to(ROOT)))
    return [
        f"{name} is a type in {' and in '.join(sorted(paths))}"
        for name, paths in sorted(homes.items())
        if len(paths) > 1
    ]


def main() -> int:
    allowed = set(UNDIVIDED.read_text("utf-8").split()) if UNDIVIDED.exists() else set()
    found = [problem for path in sources() for problem in problems(path)] + over_budget() + undivided(allowed)
    found += shared_nouns()
    print("\n".join(found) or "check_tree: nothing to complain about")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
