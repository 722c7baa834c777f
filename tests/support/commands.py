"""Checks command lines in documents: files, options and settings must exist."""

from __future__ import annotations

import re
import shlex
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyspark

from epochal.__main__ import parser
from epochal.tools.cli.shared import UsageError
from support.places import ROOT, VERSION

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
VARIABLES = set(re.findall(r"^(\w+) *[?:]?=|\$[({](\w+)[)}]", MAKEFILE, re.MULTILINE))
PYPROJECT = (ROOT / "python" / "pyproject.toml").read_text(encoding="utf-8")
JAR = f"epochal-spark_2.13-{VERSION}.jar"
WHEEL = f"epochal-{VERSION}-py3-none-any.whl"
EXTENSION = "io.epochal.formats.EpochalExtensions"
#: Spark's programs, which have the same options.
SPARK = ("spark-submit", "spark-sql", "start-connect-server.sh")
#: Their options with arbitrary values.
FREE = ("--name", "--files")
MASTER = re.compile(r"yarn|local\[[\d*]+\]|spark://[\w.]+:\d+|k8s://https://[\w.]+:\d+")


def lines(text: str) -> list[list[str]]:
    """The words of each command, without comments."""
    return [words for line in text.replace("\\\n", " ").splitlines() if (words := shlex.split(line, comments=True))]


def unknown(words: list[str]) -> Iterator[str]:
    """Names in a command that do not exist; the command itself if it is unknown."""
    match words:
        case ["make", *rest]:
            yield from unknown_targets(rest)
        case ["pip", "install", "jupyterlab"]:
            pass
        case ["pip", "install", "pyspark[pipelines]"]:
            pass
        case ["pip", "install", package]:
            yield from unknown_package(package)
        case ["nc", "-N", "127.0.0.1", "9999", "<", _] | ["cp", "-a", _, _]:
            pass
        case ["epochal", *rest] | ["python", "-m", "epochal", *rest]:
            yield from unknown_arguments(rest)
        case ["python", script, *_] | ["jupyter", "lab", script]:
            yield from () if (ROOT / script).is_file() else [script]
        case ["spark-pipelines", "run", *rest]:
            yield from unknown_options(of_pipeline(rest))
        case [program, *rest] if program in SPARK:
            yield from unknown_options(rest)
        case _:
            yield shlex.join(words)


def unknown_arguments(words: list[str]) -> Iterator[str]:
    """Checks a command of ``epochal`` with its own parser."""
    try:
        parser().parse_args(words)
    except UsageError as wrong:
        yield str(wrong.error)


def unknown_targets(words: list[str]) -> Iterator[str]:
    variables = {name for pair in VARIABLES for name in pair}
    for word in words:
        name, assigned, _ = word.partition("=")
        if name not in (variables if assigned else TARGETS):
            yield word


def unknown_package(package: str) -> Iterator[str]:
    name, _, extras = package.removesuffix("]").partition("[")
    if name != f"dist/{WHEEL}":
        yield name
    yield from (extra for extra in filter(None, extras.split(",")) if f"\n{extra} = [" not in PYPROJECT)


def of_pipeline(words: list[str]) -> list[str]:
    """Checks Spark's options in it; returns missing files."""
    given = iter(words)
    kept = []
    for word in given:
        if word == "--spec":
            path = next(given)
            kept += [] if (ROOT / path).is_file() else [path]
        elif word != "--full-refresh-all":
            kept.append(word)
    return kept


def unknown_options(words: list[str]) -> Iterator[str]:
    """Checks a command of one of Spark's programs: options with values, and a job."""
    given = iter(words)
    for word in given:
        if word == "--conf":
            key, _, value = next(given).partition("=")
            if key == "spark.sql.extensions":
                yield from () if value == EXTENSION else [value]
            elif not is_setting(key):
                yield key
        elif word in FREE:
            next(given)
        elif word == "--master":
            yield from (master for master in [next(given)] if not MASTER.fullmatch(master))
        elif word == "--deploy-mode":
            yield from {next(given)} - {"client", "cluster"}
        elif word == "--jars":
            yield from (jar for jar in next(given).split(",") if jar.removeprefix("dist/") != JAR)
        elif word == "--py-files":
            yield from {next(given)} - {f"dist/{WHEEL}"}
        elif word == "--packages":
            yield from (name for name in next(given).split(",") if name != f"io.epochal:epochal-spark_2.13:{VERSION}")
        elif not word.endswith(".py"):
            yield word


def is_setting(key: str) -> bool:
    """Whether the jar or Spark reads this configuration setting."""
    if key.startswith("spark.epochal."):
        sources = (ROOT / "scala" / "kit" / "src" / "main").rglob("*.scala")
        return any(f'"{key}"' in path.read_text("utf-8") for path in sources)
    parts = key.split(".")
    prefixes = {".".join(parts[:count]) + "." for count in range(2, len(parts))}
    return key in settings_of_spark() or bool(prefixes & settings_of_spark())


@cache
def settings_of_spark() -> set[str]:
    """Names of settings in Spark's classes; a name that ends in a dot is a prefix."""
    found: set[bytes] = set()
    for jar in (Path(pyspark.__file__).parent / "jars").glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if "onf" in name and name.endswith(".class"):
                    found.update(re.findall(rb"spark\.[\w.-]+", archive.read(name)))
    return {name.decode() for name in found}
