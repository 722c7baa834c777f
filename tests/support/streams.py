"""Helpers for checkpoints and queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery


def drain(query: StreamingQuery) -> None:
    """Waits until all available rows are written, and stops the query."""
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def finish(query: StreamingQuery, timeout: int = 120) -> None:
    """Waits for a query that ends by itself; raises its error."""
    assert query.awaitTermination(timeout), f"the query still runs after {timeout} s"


def rows_by_batch(query: StreamingQuery) -> list[int]:
    """Row counts of the non-empty batches, in order; over Connect Spark reports them by source only."""
    progress: list[dict[str, Any]] = [dict(p) for p in query.recentProgress]
    return [rows for p in progress if (rows := sum(source["numInputRows"] for source in p["sources"]))]


def numbers(checkpoint: Path, log: str) -> list[int]:
    """Batch numbers in ``offsets`` or ``commits``, ascending."""
    directory = checkpoint / log
    return sorted(int(file.name) for file in directory.iterdir() if file.name.isdigit()) if directory.is_dir() else []


def forget_last_commit(checkpoint: Path) -> int:
    """Changes the checkpoint as if Spark had died between the sink's commit and its own; returns the batch.

    Removes a later batch, too, which the sink must not have applied.
    """
    last = numbers(checkpoint, "commits")[-1]
    later = [batch for batch in numbers(checkpoint, "offsets") if batch > last]
    for log, batch in [("commits", last), *(("offsets", batch) for batch in later)]:
        (checkpoint / log / str(batch)).unlink()
        (checkpoint / log / f".{batch}.crc").unlink(missing_ok=True)
    return last
