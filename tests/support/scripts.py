"""Python programs in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

#: Code that starts a small, quiet session.
SESSION = """
import json, os, sys, traceback
from pyspark.sql import SparkSession
import epochal

def builder():
    quick = {"spark.ui.enabled": False, "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    return SparkSession.builder.master("local[1]").config(map=quick)

def says(**facts):
    print("FACTS " + json.dumps(facts))
"""


def run_script(source: str, timeout: float = 600, **environment: str) -> dict[str, Any]:
    """Runs Python source after ``SESSION``; returns the facts that it printed with ``says``.

    Raises:
        AssertionError: the program failed; contains its output.
    """
    program = SESSION + textwrap.dedent(source)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    facts: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("FACTS "):
            facts |= json.loads(line.removeprefix("FACTS "))
    return facts
