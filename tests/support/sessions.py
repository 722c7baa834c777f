"""Sessions in addition to the shared one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import epochal


@contextmanager
def in_a_jvm_of_its_own(builder: SparkSession.Builder) -> Iterator[SparkSession]:
    """A session with the jar. Its JVM ends with it, because a later session needs another class path."""
    session = epochal.configure(builder).getOrCreate()
    yield session
    gateway: Any = session.sparkContext._gateway
    session.stop()
    gateway.shutdown()
    context: Any = SparkContext
    context._gateway = context._jvm = None
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
