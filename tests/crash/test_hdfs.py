"""The checkpoint on HDFS, which creates no files conditionally: lines over TCP, and kills.

A hundred kills with ``EPOCHAL_CRASH=full``, else two; ``EPOCHAL_INGEST_KILLS`` overrides the number.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.ingesting import kill_count, store_under_kills
from support.databases import Sqlite
from support.hdfs import hdfs

KILLS = kill_count(2)
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 90 * KILLS)]


@pytest.mark.slow
def test_every_acknowledged_line_is_stored_after_kills_with_the_checkpoint_on_hdfs(
    sqlite: Sqlite, tmp_path: Path
) -> None:
    with hdfs(tmp_path / "hdfs") as address:
        settings = {"checkpoint": f"{address}/checkpoint", "run": True}
        store_under_kills(sqlite, settings, writers=4, kills=KILLS, longest=4.0)
