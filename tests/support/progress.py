"""Progress objects as Spark writes them, and fake queries with them, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

START = datetime(2026, 11, 23, 12, 0, 0, tzinfo=timezone.utc)
ID = "6f1e2ab0-0000-4000-8000-000000000001"
RUN = "0c9d51e7-0000-4000-8000-000000000002"
#: Text of an error, as Spark reports it.
BAD_ROW = "[EPOCHAL.BAD_ROW] Row 3 cannot be stored. Hint: Correct it. SQLSTATE: XXKST\n=== Streaming Query ===\nmore"


def progress(
    batch: int,
    rows: int,
    *,
    at: float = 0.0,
    lasted: float = 1.0,
    is_idle: bool = False,
    source: Mapping[str, str] | None = None,
    sink: Mapping[str, str] | None = None,
    source_name: str = "epochal-random",
    sink_name: str = "epochal-jdbc strings in sqlite:strings.db",
    written: int = -1,
) -> dict[str, Any]:
    """A progress object, as ``query.lastProgress`` returns it.

    Args:
        at: time of the trigger, in seconds after ``START``.
        lasted: duration in seconds.
        source: metrics of the source.
        sink: metrics of the sink.
        written: Spark's count of written rows.
    """
    fired = (START + timedelta(seconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    milliseconds = round(lasted * 1000)
    durations = {"latestOffset": 1, "triggerExecution": milliseconds} | ({} if is_idle else {"addBatch": milliseconds})
    return {
        "id": ID,
        "runId": RUN,
        "name": None,
        "timestamp": fired,
        "batchId": batch,
        "batchDuration": milliseconds,
        "numInputRows": rows,
        "durationMs": durations,
        "sources": [{"description": source_name, "numInputRows": rows, "metrics": dict(source or {})}],
        "sink": {"description": sink_name, "numOutputRows": written, "metrics": dict(sink or {})},
    }


def epoch(number: int, rows: int, **more: str) -> dict[str, str]:
    """Metrics of ``epochal-jdbc``."""
    known = {"epoch": str(number), "rows": str(rows), "badRows": "0", "outcome": "applied", "transport": "inline"}
    return known | {"loadMs": "3", "commitMs": "2", "retries": "0"} | more


def lag(rows: int, seconds: str = "2", is_exact: bool = True) -> dict[str, str]:
    """Metrics of an Epochal source."""
    exact = "true" if is_exact else "false"
    return {"rowsBehind": str(rows), "rowsBehindExact": exact, "secondsBehind": seconds}


def ten_epochs() -> list[dict[str, Any]]:
    """Ten epochs of 100 rows, one per second, from 1,000 available rows."""
    return [progress(n, 100, at=n, source=lag(900 - 100 * n), sink=epoch(n, 100)) for n in range(10)]


class FakeQuery:
    """A fake query with the given values that counts its calls."""

    def __init__(
        self,
        progresses: Sequence[Mapping[str, Any]] = (),
        *,
        is_active: bool = True,
        error: Exception | None = None,
        name: str | None = None,
        message: str = "Processing new data",
        number: int = 1,
    ) -> None:
        self.id = f"{ID[:-1]}{number}"
        self.runId = f"{RUN[:-1]}{number}"
        self.name = name
        self.isActive = is_active
        self.message = message
        self.is_running = True
        self.error = error
        self.progresses = list(progresses)
        self.lists = 0
        self.stops = 0

    @property
    def status(self) -> Mapping[str, Any]:
        return {"message": self.message, "isDataAvailable": self.is_running, "isTriggerActive": self.is_running}

    @property
    def lastProgress(self) -> Mapping[str, Any] | None:  # noqa: N802
        return self.progresses[-1] if self.progresses else None

    @property
    def recentProgress(self) -> Sequence[Mapping[str, Any]]:  # noqa: N802
        self.lists += 1
        return self.progresses[-100:]

    def exception(self) -> Exception | None:
        return self.error

    def stop(self) -> None:
        self.stops += 1
        self.isActive = False

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        if self.error is not None:
            raise self.error
        return True
