"""Runs queries over a source and records their deliveries."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epochal.tools.testing import rows
from epochal.tools.testing.report import BrokenError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_PAUSE = 0.05
_ATTEMPTS = 5
#: Spark's error when a Python worker takes more than 10 s to start, as on a busy machine.
_NO_WORKER = "Python worker failed to connect back"


@dataclass
class RecordedQuery:
    """A query with its own directory for its checkpoint and the rows that it delivered.

    Attributes:
        frame: returns a new streaming DataFrame over the source.
        directory: a directory that this process and the driver share.
        timeout: maximum wait, in seconds.
    """

    frame: Callable[[], DataFrame]
    directory: Path
    timeout: float

    @property
    def checkpoint(self) -> Path:
        return self.directory / "checkpoint"

    def start(self, **trigger: Any) -> StreamingQuery:
        """Starts the query.

        Args:
            trigger: arguments of ``DataStreamWriter.trigger``.
        """
        place = str(self.directory / "deliveries")
        writer = self.frame().writeStream.foreachBatch(lambda batch, epoch: _record(place, batch, epoch))
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger).start()

    def drain(self) -> None:
        """Runs the query under AvailableNow to its end; retries if Spark could not start a Python worker in time."""
        from pyspark.errors import PySparkException

        for attempt in range(_ATTEMPTS):
            query = self.start(availableNow=True)
            try:
                query.awaitTermination(int(self.timeout))
                if query.isActive:
                    raise BrokenError(
                        f"under AvailableNow the query has not ended after {self.timeout:.0f} s, with"
                        f" {len(self.rows())} rows delivered; if it only needs longer, raise `timeout`"
                    )
                return
            except PySparkException as error:
                if _NO_WORKER not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
            finally:
                query.stop()

    def deliveries(self) -> list[tuple[int, list[str]]]:
        """The deliveries in order: number and rows of each epoch."""
        place = self.directory / "deliveries"
        files = sorted(place.glob("*.json"), key=lambda file: file.name.partition("@")[2]) if place.is_dir() else []
        return [(int(file.name.partition("@")[0]), json.loads(file.read_text("utf-8"))) for file in files]

    def rows(self) -> list[str]:
        """All rows; of a replayed epoch, those of its last delivery."""
        return list(itertools.chain.from_iterable(dict(self.deliveries()).values()))

    def assert_same_when_replayed(self) -> None:
        first: dict[int, list[str]] = {}
        for epoch, texts in self.deliveries():
            rows.same(f"epoch {epoch} had other rows when it was replayed", texts, first.setdefault(epoch, texts))

    def forget_last_commit(self) -> int:
        """Removes the last commit, so that the next start replays that epoch; returns its number."""
        commits = self.checkpoint / "commits"
        last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink(missing_ok=True)
        return last

    def copied(self, name: str) -> RecordedQuery:
        """A query with a copy of this checkpoint and no deliveries."""
        other = RecordedQuery(self.frame, self.directory.with_name(name), self.timeout)
        shutil.copytree(self.checkpoint, other.checkpoint)
        return other

    def wait_for(self, query: StreamingQuery, count: int) -> None:
        """Waits until ``count`` rows are delivered, the query ends, or the timeout expires."""
        deadline = time.monotonic() + self.timeout
        while query.isActive and len(self.rows()) < count and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        error = query.exception()
        if error is not None and _NO_WORKER not in str(error):
            raise BrokenError(f"the query failed: {error}")


def _record(place: str, batch: DataFrame, epoch: int) -> None:
    # With Connect this runs on the server, so it must not depend on the state of this process.
    texts = [rows.text(row) for row in batch.collect()]
    directory = Path(place)
    directory.mkdir(parents=True, exist_ok=True)
    partial = directory / f"{epoch}@{time.time_ns():020d}.part"
    partial.write_text(json.dumps(texts), "utf-8")
    partial.rename(partial.with_suffix(".json"))
