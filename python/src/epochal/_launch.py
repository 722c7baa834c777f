"""Finds and sets the ``spark.jars`` of a JVM that is not yet launched.

pyspark launches the JVM through ``spark-submit``, where ``--jars`` overrides ``--conf spark.jars``, which overrides
``spark-defaults.conf``. Of repeated settings the last one applies; they are never joined.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
_KEY = "spark.jars"


def split(jars: str | None) -> list[str]:
    return [jar.strip() for jar in (jars or "").split(",") if jar.strip()]


def submit_jars() -> list[str] | None:
    """The jars in ``PYSPARK_SUBMIT_ARGS``; None if it sets no jars."""
    named = list(_positions(shlex.split(os.environ.get(_SUBMIT_ARGS, ""))))
    return split(named[-1][2]) if named else None


def set_submit_jars(jars: list[str]) -> None:
    """Replaces the jars in ``PYSPARK_SUBMIT_ARGS``."""
    args = shlex.split(os.environ[_SUBMIT_ARGS])
    for index, before, _ in _positions(args):
        args[index] = before + ",".join(jars)
    os.environ[_SUBMIT_ARGS] = shlex.join(args)


def submit_value(key: str) -> str | None:
    """The value of a key in ``PYSPARK_SUBMIT_ARGS``; None if it is not set."""
    args = shlex.split(os.environ.get(_SUBMIT_ARGS, ""))
    found = None
    for index, arg in enumerate(args):
        text = arg.removeprefix("--conf=")
        if (text != arg or (index and args[index - 1] in ("--conf", "-c"))) and text.startswith(f"{key}="):
            found = text[len(key) + 1 :]
    return found


def default_jars() -> list[str]:
    """The jars of ``spark-defaults.conf``."""
    return split(default_value(_KEY))


def default_value(wanted: str) -> str | None:
    """The value of a key in ``spark-defaults.conf``; None if it is not set."""
    home = os.environ.get("SPARK_CONF_DIR") or os.path.join(_spark_home(), "conf")
    path = Path(home) / "spark-defaults.conf"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    found = None
    for line in lines:
        key, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if key == wanted:
            found = value.strip()
    return found


def _spark_home() -> str:
    from pyspark.find_spark_home import _find_spark_home

    return str(_find_spark_home())


def _positions(args: list[str]) -> Iterator[tuple[int, str, str]]:
    """(index, text before the jars, jars) of every argument that sets the jars, in ascending precedence."""
    found: list[tuple[int, int, str, str]] = []
    for index, arg in enumerate(args):
        previous = args[index - 1] if index else ""
        for flag, prefix, rank in (("--jars", "", 1), ("--conf", f"{_KEY}=", 0), ("-c", f"{_KEY}=", 0)):
            joined = f"{flag}={prefix}"
            if previous == flag and arg.startswith(prefix):
                found.append((rank, index, prefix, arg[len(prefix) :]))
            elif flag.startswith("--") and arg.startswith(joined):
                found.append((rank, index, joined, arg[len(joined) :]))
    yield from ((index, before, jars) for _, index, before, jars in sorted(found))
