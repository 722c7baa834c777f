"""Event time of a source in its offsets and progress, across restarts, along with Spark's watermark."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import rest
from epochal.__main__ import main
from support.api import Api
from support.databases import Sqlite
from support.streams import finish

pytestmark = pytest.mark.line

SCHEMA = "id INT, at TIMESTAMP"


def event(number: int, minute: int) -> dict[str, Any]:
    return {"id": number, "at": f"2026-01-01T12:{minute:02}:00Z"}


def noon(minute: int) -> datetime:
    return datetime(2026, 1, 1, 12, minute, tzinfo=timezone.utc)


def run(spark: SparkSession, api: Api, database: Sqlite, checkpoint: Path) -> list[dict[str, Any]]:
    """Stores the events that are not late; returns the source's metrics of each batch with rows."""
    events = epochal.read.rest(
        spark,
        api.url,
        schema=SCHEMA,
        pages=rest.Offset(size=10),
        records=rest.Json(event_time_column="at"),
        num_partitions=1,
    )
    punctual = events.withWatermark("at", "10 minutes").dropDuplicatesWithinWatermark(["id"])
    query = epochal.write.jdbc(
        punctual, database.url, table="events", create_table=True, checkpoint=checkpoint, trigger="availableNow"
    )
    finish(query)
    sources = [dict(one)["sources"][0] for one in query.recentProgress]
    return [source["metrics"] for source in sources if source["numInputRows"]]


def stored(database: Sqlite) -> list[int]:
    return [number for (number,) in database.query("SELECT id FROM events ORDER BY id")]


def test_late_rows_are_dropped_across_a_restart_and_the_checkpoint_has_the_event_time(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = [event(1, 0), event(2, 30)]
    (first,) = run(spark, api, sqlite, checkpoint)
    assert first["eventTime"] == "2026-01-01T12:30:00Z"
    assert float(first["eventTimeLag"]) > 0
    api.records += [event(3, 5), event(4, 40)]
    (second,) = run(spark, api, sqlite, checkpoint)
    assert stored(sqlite) == [1, 2, 4]
    assert second["eventTime"] == "2026-01-01T12:40:00Z"
    api.records += [event(5, 29), event(6, 35)]
    run(spark, api, sqlite, checkpoint)
    assert stored(sqlite) == [1, 2, 4, 6]

    found = epochal.checkpoint(checkpoint)
    last = found.epochs[-1]
    assert (last.next_watermark or 0) / 1000 == noon(30).timestamp()
    marks = [epoch.sources[0].event_time for epoch in found.epochs]
    assert marks[0] is None
    assert noon(30) in marks
    assert last.sources[0].event_time == noon(40)
    assert "event time 2026-01-01 12:40:00.000000 UTC" in str(found)
    assert found.to_dict()["epochs"][-1]["sources"][0]["event_time"] == noon(40).isoformat()


@pytest.mark.slow
def test_the_rows_of_a_checkpoint_have_the_event_time_and_the_watermark(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = [event(1, 0)]
    run(spark, api, sqlite, checkpoint)
    api.records += [event(2, 20)]
    run(spark, api, sqlite, checkpoint)
    rows = epochal.read.checkpoint_log(spark, checkpoint).orderBy("epoch").collect()
    local = epochal.checkpoint(checkpoint)
    assert [row.epoch for row in rows] == [epoch.number for epoch in local.epochs]
    found = [row.event_time.astimezone(timezone.utc) if row.event_time else None for row in rows]
    assert found == [epoch.sources[0].event_time for epoch in local.epochs]
    assert rows[-1].next_watermark == local.epochs[-1].next_watermark


@pytest.mark.slow
def test_epochal_status_shows_the_event_time(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api.records = [event(1, 0), event(2, 20)]
    run(spark, api, sqlite, checkpoint)
    assert main(["status", str(checkpoint)]) == 0
    said = capsys.readouterr().out
    assert "event time 2026-01-01 12:20:00.000000 UTC" in said
    assert "watermark   2026-01-01 12:1" in said


def test_a_column_without_times_is_refused_before_the_query_starts(spark: SparkSession, api: Api) -> None:
    with pytest.raises(epochal.OptionError, match=r"it has at\)") as refused:
        epochal.read.rest(spark, api.url, schema=SCHEMA, records=rest.Json(event_time_column="id")).schema  # noqa: B018
    assert refused.value.condition == "OPTION_INVALID"
