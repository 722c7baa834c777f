"""The checks of queries over any format."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epochal.tools.testing import promises, rows
from epochal.tools.testing.queries import RecordedQuery
from epochal.tools.testing.report import BrokenError, NotCheckedError, Promise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STARTS = 4


@dataclass
class QueryScene:
    """A source and the settings of its checks.

    Attributes:
        frame: returns a new streaming DataFrame over the source.
        add: adds a number of rows to the origin; None if nothing can be added.
        directory: an empty directory that this process and the driver share.
        timeout: maximum wait, in seconds.
        keeps_rows: whether rows can be read again long after they were committed.
    """

    frame: Callable[[], DataFrame]
    add: Callable[[int], object] | None
    directory: Path
    timeout: float
    keeps_rows: bool = True

    def query(self) -> RecordedQuery:
        """A query that has delivered all existing rows."""
        recording = RecordedQuery(self.frame, self.directory / "query", self.timeout)
        recording.drain()
        return recording

    def more(self, count: int) -> int:
        """Adds rows, if possible; returns how many."""
        if self.add is None:
            return 0
        self.add(count)
        return count


def _replay(scene: QueryScene) -> None:
    query = scene.query()
    count = len(query.rows()) + scene.more(10)
    query.drain()
    last = query.forget_last_commit()
    count += scene.more(5)
    query.drain()
    # The run that replays may end after the replay.
    query.drain()
    if sum(epoch == last for epoch, _ in query.deliveries()) < 2:
        raise BrokenError(f"epoch {last}, whose commit was missing, was not delivered again")
    query.assert_same_when_replayed()
    rows.once_each("after a replay", query.rows(), count)


def _checkpoint_alone(scene: QueryScene) -> None:
    # Resumed twice: a position kept outside of the checkpoint may be right the first time, but has moved by the second.
    query = scene.query()
    if scene.keeps_rows and scene.add is not None:
        older, later = query.copied("restored"), query.copied("restored-later")
        before = len(query.rows())
        scene.more(10)
        query.drain()
        older.drain()
        rows.same("from an older copy of the checkpoint", older.rows(), query.rows()[before:])
        scene.more(10)
        query.drain()
        for what, copy in (("the same copy, resumed again", older), ("a second such copy, resumed later", later)):
            copy.drain()
            rows.same(f"from {what}", copy.rows(), query.rows()[before:])
        return
    scene.more(10)
    query.drain()
    last = query.deliveries()[-1][1]
    older = query.copied("restored")
    for what in ("from a copy of the checkpoint", "from the same copy, resumed again"):
        already = len(older.deliveries())
        older.forget_last_commit()
        older.drain()
        replays = older.deliveries()[already:]
        rows.same(f"the last epoch, {what}", replays[0][1] if replays else [], last)


def _available_now(scene: QueryScene) -> None:
    query = scene.query()
    count = len(query.rows())
    query.drain()
    rows.once_each("after a second run, with nothing new", query.rows(), count)
    count += scene.more(25)
    query.drain()
    rows.once_each("after 25 more rows", query.rows(), count)


def _restarts(scene: QueryScene) -> None:
    if scene.add is None:
        raise NotCheckedError("no `add` was given: rows cannot be added to the origin")
    seed = random.randrange(1_000_000)
    chance = random.Random(seed)
    query = scene.query()
    count = len(query.rows())
    for _ in range(_STARTS):
        run = query.start(processingTime="0 seconds")
        try:
            for _ in range(chance.randint(1, 2)):
                count += scene.more(chance.randint(1, 9))
                # Stopped in the middle of a batch, or after it.
                if chance.random() < 0.5:
                    query.wait_for(run, count)
        finally:
            run.stop()
    count += scene.more(3)
    query.drain()
    # A run that begins with an interrupted batch may end after it.
    query.drain()
    query.assert_same_when_replayed()
    rows.once_each(f"after {_STARTS} starts (seed {seed})", query.rows(), count)


#: By promise, in the order in which they are made.
CHECKS: dict[Promise, Callable[[QueryScene], None]] = {
    promises.REPLAY: _replay,
    promises.CHECKPOINT_ALONE: _checkpoint_alone,
    promises.QUERY_AVAILABLE_NOW: _available_now,
    promises.RESTARTS: _restarts,
}
