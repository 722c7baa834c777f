"""What a command line of a document names: it must be there."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator

from epochal.__main__ import parser
from support.places import ROOT, VERSION

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"^(\w+) *[?:]?=|\$[({](\w+)[)}]", MAKEFILE, re.MULTILINE))
PYPROJECT = (ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8")
JAR = f"epochal-spark_2.13-{VERSION}.jar"
EXTENSION = "io.epochal.formats.EpochalExtensions"
#: Programs of Spark, which take the same options.
SPARK = ("spark-submit", "spark-sql", "start-connect-server.sh")


def lines(text: str) -> list[list[str]]:
    """The words of each command, without comments."""
    return [words for line in text.replace("\\\n", " ").splitlines() if (words := shlex.split(line, comments=True))]


def unknown(words: list[str]) -> Iterator[str]:
    """What a command names that is not there; the command, if it is none that is known."""
    match words:
        case ["make", *rest]:
            yield from unknown_targets(rest)
        case ["pip", "install", package]:
            yield from unknown_package(package)
        case ["epochal", *rest] | ["python", "-m", "epochal", *rest]:
            yield from unknown_arguments(rest)
        case [program, *rest] if program in SPARK:
            yield from unknown_options(rest)
        case _:
            yield shlex.join(words)


def unknown_arguments(words: list[str]) -> Iterator[str]:
    """Of ``epochal``: as its own parser reads them."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser().parse_args(words)
    except SystemExit:
        yield said.getvalue()


def unknown_targets(words: list[str]) -> Iterator[str]:
    variables = {name for pair in VARIABLES for name in pair}
    for word in words:
        name, assigned, _ = word.partition("=")
        if name not in (variables if assigned else TARGETS):
            yield word


def unknown_package(package: str) -> Iterator[str]:
    name, _, extras = package.removesuffix("]").partition("[")
    if name not in ("epochal", f"dist/epochal-{VERSION}-py3-none-any.whl"):
        yield name
    yield from (extra for extra in filter(None, extras.split(",")) if f"\n{extra} = [" not in PYPROJECT)


def unknown_options(words: list[str]) -> Iterator[str]:
    """Of a program of Spark: ``--conf key=value``, ``--jars``, ``--packages``, and a job."""
    given = iter(words)
    for word in given:
        if word == "--conf":
            key, _, value = next(given).partition("=")
            if key == "spark.sql.extensions":
                yield from () if value == EXTENSION else [value]
            elif not is_setting(key):
                yield key
        elif word == "--jars":
            yield from (jar for jar in next(given).split(",") if jar.removeprefix("dist/") != JAR)
        elif word == "--packages":
            yield from (name for name in next(given).split(",") if name != f"io.epochal:epochal-spark_2.13:{VERSION}")
        elif not word.endswith(".py"):
            yield word


def is_setting(key: str) -> bool:
    """Whether the jar reads this setting of Spark's configuration."""
    sources = (ROOT / "scala" / "kit" / "src" / "main").rglob("*.scala")
    return key.startswith("spark.epochal.") and any(f'"{key}"' in path.read_text("utf-8") for path in sources)
