"""Lines over TCP into a table, from eight writers that retry until they are acknowledged; the driver is killed with
SIGKILL at random moments: a hundred times with ``EPOCHAL_CRASH=full``, else three times.
``EPOCHAL_INGEST_KILLS`` overrides the number, ``EPOCHAL_KILL_SEED`` sets the seed.

With plain TCP an unacknowledged line is sent again and may be there twice; every other line is there once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.ingesting import kill_count, store_under_kills
from support.databases import Sqlite

KILLS = kill_count(3)
pytestmark = [pytest.mark.crash, pytest.mark.timeout(300 + 60 * KILLS)]


@pytest.mark.slow
def test_every_acknowledged_line_is_stored_after_any_number_of_kills(sqlite: Sqlite, tmp_path: Path) -> None:
    store_under_kills(sqlite, {"checkpoint": str(tmp_path / "checkpoint")}, writers=8, kills=KILLS, longest=1.0)
