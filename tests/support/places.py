"""Paths in this repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "version.txt").read_text("utf-8").strip()


def is_required(server: str) -> bool:
    """Whether tests fail without this server, and are not skipped: ``EPOCHAL_TEST_REQUIRE`` lists such servers."""
    return server in os.environ.get("EPOCHAL_TEST_REQUIRE", "").split()


def over_connect() -> bool:
    """Whether the tests' session uses Spark Connect: ``EPOCHAL_TEST_CONNECT``."""
    return bool(os.environ.get("EPOCHAL_TEST_CONNECT"))


def prepare_environment() -> None:
    """Makes ``epochal`` importable and its jar available, in this process and in child processes.

    Uses the installed package if there is one, else the source tree. The jar is that of ``EPOCHAL_JAR``, ``dist/`` or
    the installed package, in this order.
    """
    try:
        import epochal  # noqa: F401
    except ImportError:
        source = str(ROOT / "python" / "src")
        sys.path.insert(0, source)
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = f"{source}{os.pathsep}{inherited}" if inherited else source
    built = ROOT / "dist" / f"epochal-spark_2.13-{VERSION}.jar"
    if "EPOCHAL_JAR" not in os.environ and built.is_file():
        os.environ["EPOCHAL_JAR"] = str(built)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
