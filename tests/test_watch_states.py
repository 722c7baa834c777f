"""The state of a watched query: its reports, its phase and its lag, without Spark."""

from __future__ import annotations

import time
from typing import Any

import pytest

from epochal.tools.watch import words
from epochal.tools.watch.state import WatchedQuery
from support.progress import BAD_ROW, START, FakeQuery, epoch, lag, progress, ten_epochs


def test_only_the_last_progress_is_requested_if_none_was_missed() -> None:
    query = FakeQuery(ten_epochs()[:1])
    watched = WatchedQuery(query)
    watched.poll()
    assert query.lists == 1
    for one in ten_epochs()[1:]:
        query.progresses.append(one)
        assert watched.poll().tally.rows_written == 100 * len(query.progresses)
    assert query.lists == 1
    more = [progress(n, 100, at=n, sink=epoch(n, 100)) for n in range(10, 13)]
    query.progresses += more
    assert watched.poll().tally.rows_written == 1300
    assert query.lists == 2


@pytest.mark.parametrize("later", [0, 1])
@pytest.mark.parametrize("seen", [1, 2])
def test_the_batch_between_idle_progresses_is_not_missed(later: int, seen: int) -> None:
    """An idle progress has the number of the previous or the next batch."""
    first = progress(0, 10, sink=epoch(0, 10))
    query = FakeQuery([first, progress(later, 0, at=1, is_idle=True, sink=epoch(0, 10))][:seen])
    watched = WatchedQuery(query)
    watched.poll()
    idle = progress(1 + later, 0, at=9, is_idle=True, sink=epoch(1, 10))
    query.progresses += [progress(1, 10, at=5, sink=epoch(1, 10)), idle]
    assert watched.poll().tally.rows_written == 20


def test_a_query_is_labelled_by_name_table_or_id() -> None:
    assert WatchedQuery(FakeQuery(ten_epochs(), name="nightly")).poll().name == "nightly"
    assert WatchedQuery(FakeQuery(ten_epochs())).poll().name == "strings"
    assert WatchedQuery(FakeQuery()).poll().name == "6f1e2ab0"


def test_phases() -> None:
    assert WatchedQuery(FakeQuery()).poll().phase == "starting"
    assert WatchedQuery(FakeQuery(ten_epochs())).poll().phase == "running"
    assert WatchedQuery(FakeQuery(ten_epochs())).poll(is_stopping=True).phase == "stopping"
    assert WatchedQuery(FakeQuery(ten_epochs(), is_active=False)).poll().phase == "ended"
    assert WatchedQuery(FakeQuery(ten_epochs(), is_active=False)).poll(is_stopping=True).phase == "stopped"
    failed = WatchedQuery(FakeQuery(is_active=False, error=RuntimeError(BAD_ROW))).poll()
    assert (failed.phase, failed.error) == ("failed", "[EPOCHAL.BAD_ROW] Row 3 cannot be stored. Hint: Correct it.")
    other = WatchedQuery(FakeQuery(is_active=False, error=RuntimeError("no disk\nat x.y.z"))).poll()
    assert other.error == "no disk"


def test_a_query_is_up_to_date_only_while_no_epoch_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    query = FakeQuery([progress(12, 100, source=lag(0), sink=epoch(12, 100))])
    now = START.timestamp() + 1 + 100
    monkeypatch.setattr(time, "time", lambda: now)
    shown = words.line(WatchedQuery(query).poll())
    assert "next epoch running, last ended 1 min 40 s ago" in shown
    assert "up to date" not in shown
    now = START.timestamp() + 2
    assert "epoch 12, 100 rows, 100 rows/s, next epoch running" in words.line(WatchedQuery(query).poll())
    query.is_running = False
    assert "up to date" in words.line(WatchedQuery(query).poll())
    query.progresses.append(progress(13, 100, source=lag(520), sink=epoch(13, 100)))
    assert "520 behind (2 s); inline" in words.line(WatchedQuery(query).poll())
    now, query.is_running = now + 60, True
    assert "at least 520 behind (2 s), next epoch running, last ended" in words.line(WatchedQuery(query).poll())


@pytest.mark.parametrize(
    "status",
    [
        {"message": "Getting offsets from an API", "isDataAvailable": False, "isTriggerActive": True},
        {"message": "Committing epoch 3", "isDataAvailable": False, "isTriggerActive": False},  # continuous
    ],
)
def test_a_poll_or_a_commit_that_hangs_is_not_up_to_date(
    status: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    polls = FakeQuery([progress(12, 100, source=lag(0), sink=epoch(12, 100))])
    monkeypatch.setattr(FakeQuery, "status", status)
    for seconds_later, expected in ((3, True), (30, False)):
        monkeypatch.setattr(time, "time", lambda at=seconds_later: START.timestamp() + at)
        assert ("up to date" in words.line(WatchedQuery(polls).poll())) is expected
