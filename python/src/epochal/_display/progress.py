"""What the progresses of a run add up to. Nothing here asks Spark."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from epochal._display.snapshot import Status

#: Progresses that the rate is computed from.
WINDOW = 8


class Progress:
    """Sums over the progresses of one run. Memory does not grow with their number. Not for several threads."""

    def __init__(self) -> None:
        self._last: Mapping[str, Any] | None = None
        self._rows = 0
        self._recent: deque[tuple[float, float, int]] = deque(maxlen=WINDOW)

    def misses(self, progress: Mapping[str, Any]) -> bool:
        """Whether a batch may have ended between the last progress and this one."""
        before = -1 if self._last is None else int(self._last["batchId"])
        return int(progress["batchId"]) > before + 1

    def add(self, progresses: Iterable[Mapping[str, Any]]) -> bool:
        """Takes those in that are newer than the last one; whether there was one."""
        added = False
        for progress in progresses:
            if self._last is None or _key(progress) > _key(self._last):
                self._last, added = progress, True
                rows = sum(int(source.get("numInputRows") or 0) for source in progress.get("sources") or ())
                self._rows += rows
                begun = _instant(progress)
                self._recent.append((begun, begun + _seconds(progress), rows))
        return added

    def status(self) -> Status:
        """What is known, in state ``running``."""
        last = self._last
        if last is None:
            return Status()
        sources: list[Mapping[str, Any]] = [source.get("metrics") or {} for source in last.get("sources") or ()]
        sink: Mapping[str, Any] = (last.get("sink") or {}).get("metrics") or {}
        rows = [int(source["rowsBehind"]) for source in sources if "rowsBehind" in source]
        seconds = [float(source["secondsBehind"]) for source in sources if "secondsBehind" in source]
        status = Status(state="running", batch=int(last["batchId"]), rows=self._rows, rate=self._rate())
        return replace(
            status,
            behind=sum(rows) if rows else None,
            is_exact=all(source.get("rowsBehindExact", "true") == "true" for source in sources),
            seconds_behind=max(seconds, default=None),
            too_large=int(sink.get("tooLargeRows", 0)),
        )

    def _rate(self) -> float | None:
        if not self._recent:
            return None
        seconds = self._recent[-1][1] - self._recent[0][0]
        return sum(rows for _, _, rows in self._recent) / seconds if seconds > 0 else None


def _key(progress: Mapping[str, Any]) -> tuple[int, float]:
    return int(progress["batchId"]), _instant(progress)


def _instant(progress: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(str(progress["timestamp"]).replace("Z", "+00:00")).timestamp()


def _seconds(progress: Mapping[str, Any]) -> float:
    durations: Mapping[str, Any] = progress.get("durationMs") or {}
    return float(progress.get("batchDuration") or durations.get("triggerExecution") or 0) / 1000
