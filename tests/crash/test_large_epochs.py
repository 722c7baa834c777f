"""An epoch that is far larger than commit messages, and a driver with little memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.databases import Sqlite
from support.drivers import Driver
from support.seeds import FULL
from support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(1800)]

#: Rows of 5 columns and about 100 bytes.
ROWS = 5_000_000 if FULL else 400_000
MEMORY = "1g" if FULL else "512m"

#: By default 64 MiB, less than the rows of the long form.
INLINE = None if FULL else "4m"


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver("local[2]", conf={"spark.driver.memory": MEMORY})
    yield driver
    driver.kill()


def test_an_epoch_far_larger_than_commit_messages_is_stored_without_staging(driver: Driver, tmp_path: Path) -> None:
    database = Sqlite(tmp_path / "large.db")
    database.execute("CREATE TABLE wide (id BIGINT, a TEXT, b TEXT, c DOUBLE, d BIGINT)")
    driver.start(
        [
            {
                "name": "wide",
                "shape": "wide",
                "source": {"rows_per_batch": ROWS, "max_rows": ROWS},
                "write": {
                    "url": database.url,
                    "table": "wide",
                    "sinkId": "wide",
                    "checkpoint": str(tmp_path / "checkpoint"),
                    "trigger": "availableNow",
                    "inlineMaxBytes": INLINE,
                },
            }
        ]
    )
    until(lambda: not driver.status()["wide"]["active"], "the end of the query", 1500)
    status = driver.status()["wide"]
    assert not status["error"]
    assert status["metrics"]["transport"] == "inline+files"
    assert database.query("SELECT count(*), count(DISTINCT id), max(id), sum(d) FROM wide") == [
        (ROWS, ROWS, ROWS - 1, ROWS * (ROWS - 1))
    ]
    assert database.query("SELECT last_epoch, epochs FROM epochal_ledger") == [(0, 1)]
    left = [file for _, _, files in os.walk(tmp_path / "checkpoint" / "epochal-rows") for file in files]
    assert not left
