"""A small HDFS in a JVM of its own, by ``java/Hdfs.java``.

``python -m support.hdfs DIRECTORY`` becomes that JVM.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from support.programs import Program
from support.waiting import until

JARS = Path(__file__).resolve().parents[2] / "build/hdfs"
SOURCE = Path(__file__).parent / "java" / "Hdfs.java"
READY = re.compile(rb"^ready (hdfs://\S+)$", re.MULTILINE)


def main() -> None:
    java = shutil.which("java")
    assert java, "the tests need a JDK"
    spark = Path(pyspark.__file__).parent / "jars"
    os.execv(java, [java, "-Xmx400m", "-cp", f"{JARS}/*:{spark}/*", str(SOURCE), sys.argv[1]])


@contextmanager
def hdfs(directory: Path) -> Iterator[str]:
    """Yields the address of the file system, whose files are in the directory."""
    server = Program("support.hdfs", arguments=(str(directory),))
    try:

        def has_begun() -> bool:
            server.assert_runs()
            return READY.search(server.all_output()) is not None

        until(has_begun, "HDFS")
        address = READY.search(server.all_output())
        assert address
        yield address[1].decode()
    finally:
        server.kill()


if __name__ == "__main__":
    main()
