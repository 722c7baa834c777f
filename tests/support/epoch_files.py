"""``java/EpochFiles.java``: a sink for every trigger that records Spark's deliveries per epoch."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pyspark

SOURCE = Path(__file__).parent / "java" / "EpochFiles.java"
FORMAT = "EpochFiles"


def build(directory: Path) -> Path:
    """The sink's jar, compiled for the Spark of this environment."""
    classes = directory / "classes"
    javac = shutil.which("javac")
    assert javac, "the tests need a JDK"
    spark = Path(pyspark.__file__).parent / "jars" / "*"
    subprocess.run(
        [javac, "-XDsuppressNotes", "--release", "17", "-cp", str(spark), "-d", str(classes), str(SOURCE)], check=True
    )
    jar = directory / "epoch-files.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for found in sorted(classes.glob("*.class")):
            archive.write(found, found.name)
    return jar


def epochs(path: Path) -> dict[int, list[tuple[int, int]]]:
    """The rows of each committed epoch: their number, and their arrival times in microseconds.

    An epoch that was committed twice has the rows of both.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    for file in path.iterdir():
        if not file.name.startswith("."):
            lines = [line.split() for line in file.read_text().splitlines()]
            found.setdefault(int(file.name.split("-")[0]), []).extend((int(row), int(at)) for row, at in lines)
    return found
