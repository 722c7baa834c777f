"""Views of a watch, and Ctrl-C, with fake queries and without Spark."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import epochal
from epochal import _start
from epochal._start import Started
from epochal.tools.ledger import DatabaseLedger, LedgerEpoch, jvm
from epochal.tools.output import size
from epochal.tools.watch import terminal, views, words
from epochal.tools.watch.interrupts import Interrupts
from epochal.tools.watch.progress import batch_of
from epochal.tools.watch.queries import Queries, QueryRow
from epochal.tools.watch.watching import run
from support.checkpoints import row
from support.progress import FakeQuery, epoch, lag, progress


class GrowingQuery(FakeQuery):
    """Completes a batch with each check of ``isActive``; ends after ``most`` batches."""

    def __init__(self, most: int, **more: Any) -> None:
        super().__init__(**more)
        self.most = most
        self.done = 0
        self._stopped = False

    @property
    def isActive(self) -> bool:  # noqa: N802
        if self.done < self.most and not self._stopped:
            n = self.done
            left = 100 * (self.most - n - 1)
            self.progresses.append(progress(n, 100, at=n, source=lag(left) | {"requests": "3"}, sink=epoch(n, 100)))
            self.done += 1
        return self.done < self.most and not self._stopped

    @isActive.setter
    def isActive(self, value: bool) -> None:  # noqa: N802
        pass

    def stop(self) -> None:
        self.stops += 1
        self._stopped = True


def interrupt_soon(times: int = 1) -> threading.Thread:
    """Sends SIGINT to this process from another thread."""

    def send() -> None:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.3)

    thread = threading.Timer(0.2, send)
    thread.start()
    return thread


def test_ctrl_c_stops_the_query_and_prints_its_epoch() -> None:
    file = io.StringIO()
    query = GrowingQuery(10**9)
    thread = interrupt_soon()
    run([query], views.Plain(file), 0.01)
    thread.join()
    assert query.stops == 1
    last = file.getvalue().splitlines()[-1]
    assert re.fullmatch(r"strings: stopped at epoch \d+, [\d,]+ rows; start again to resume", last)


def test_a_second_ctrl_c_does_not_wait_for_a_query_that_does_not_stop() -> None:
    file = io.StringIO()
    release = threading.Event()

    class Stuck(FakeQuery):
        def stop(self) -> None:
            release.wait(60)

    query = Stuck([progress(3, 100, sink=epoch(3, 100))])
    thread = interrupt_soon(2)
    with pytest.raises(KeyboardInterrupt):
        run([query], views.Plain(file), 0.01)
    release.set()
    thread.join()
    assert file.getvalue().splitlines()[-1] == "strings: stopping at epoch 3, 100 rows"


def test_the_error_of_a_failed_stop_is_shown() -> None:
    class Refuses(FakeQuery):
        def stop(self) -> None:
            raise TimeoutError("not within 1 s")

    thread = interrupt_soon()
    with pytest.raises(TimeoutError, match="not within"):
        run([Refuses()], views.Plain(io.StringIO()), 0.01)
    thread.join()


def test_a_driver_that_ctrl_c_has_also_ended_is_not_an_error() -> None:
    file = io.StringIO()

    class Gone(FakeQuery):
        @property
        def lastProgress(self) -> Mapping[str, Any] | None:  # noqa: N802
            if self.stops:
                raise ConnectionRefusedError
            return super().lastProgress

        def stop(self) -> None:
            self.stops += 1
            raise ConnectionRefusedError

    thread = interrupt_soon()
    run([Gone([progress(3, 100, sink=epoch(3, 100))])], views.Plain(file), 0.01)
    thread.join()
    assert file.getvalue().splitlines()[-1] == "strings: stopped at epoch 3, 100 rows; start again to resume"


def test_the_signal_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    run([FakeQuery(is_active=False)], views.Plain(io.StringIO()), 0.01)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_watch_in_another_thread_does_not_handle_signals() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def enter() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_failure_stops_the_other_queries_on_request() -> None:
    file = io.StringIO()
    failed = FakeQuery(is_active=False, error=RuntimeError("[EPOCHAL.BAD_ROW] a Hint: b"), number=2)
    other = GrowingQuery(10**9)
    with pytest.raises(epochal.RowError):
        run([other, failed], views.Plain(file), 60, stop_others=True)
    assert other.stops == 1
    *_, first, second = file.getvalue().splitlines()
    assert first.startswith("strings: stopped at epoch")
    assert "failed before" in second


def test_await_all_leaves_the_queries_running_at_ctrl_c() -> None:
    query = FakeQuery()
    thread = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        epochal.await_all(query)  # type: ignore[arg-type]
    thread.join()
    assert query.stops == 0


def test_await_all_raises_the_first_error_and_stops_the_others_on_request() -> None:
    failed = FakeQuery(is_active=False, error=RuntimeError("[EPOCHAL.BAD_ROW] a Hint: b"), number=2)
    for asked in (False, True):
        other = FakeQuery()
        with pytest.raises(epochal.RowError):
            epochal.await_all([other, failed], stop_others=asked)  # type: ignore[list-item]
        assert other.stops == asked


class LateQuery(FakeQuery):
    """Not active, without an exception yet: a continuous sink has just ended it."""

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        self.error = RuntimeError("[EPOCHAL.BAD_ROW] a Hint: b")
        raise self.error


def test_an_inactive_query_without_its_exception_has_failed() -> None:
    file = io.StringIO()
    with pytest.raises(epochal.RowError):
        run([LateQuery(is_active=False)], views.Plain(file), 0.01)
    assert ": failed before its first epoch ended" in file.getvalue()
    with pytest.raises(epochal.RowError):
        epochal.await_all(LateQuery(is_active=False))  # type: ignore[arg-type]


def test_await_all_returns_whether_all_have_ended() -> None:
    assert epochal.await_all([FakeQuery(is_active=False)])  # type: ignore[list-item]
    assert not epochal.await_all([FakeQuery()], timeout=0.05)  # type: ignore[list-item]


def test_a_terminal_is_updated_in_place_and_keeps_the_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    shown = on_a_terminal(GrowingQuery(5))
    assert "\x1b[1A" in shown  # Moves the cursor up.
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    for expected in (
        "strings  running",
        "100 rows/s",
        r"ETA \d s",
        "3 requests",
        "inline, load 3 ms, commit 2 ms",
        "█",
    ):
        assert re.search(expected, plain), expected
    assert plain.rstrip().splitlines()[-1] == "500 rows in 5 epochs into strings, 5.0 s"


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    shown = on_a_terminal(GrowingQuery(3))
    assert "\x1b" not in shown
    assert "0:00:01 strings: epoch 0, 100 rows" in shown


def on_a_terminal(query: FakeQuery) -> str:
    """Output of a watch on a terminal."""
    ours, theirs = pty.openpty()
    output = bytearray()

    def read() -> None:
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                return
            output.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as file:
        epochal.watch(query, every=0.01, file=file)  # type: ignore[arg-type]
    reader.join()
    os.close(ours)
    return output.decode("utf-8").replace("\r\n", "\n")


def test_a_small_terminal_has_a_line_for_each_query() -> None:
    shown = io.StringIO()
    view = terminal.Terminal(shown)
    view._console = Console(file=shown, width=60, height=6)
    states = []
    for number in range(4):
        query = FakeQuery([progress(0, 100, sink=epoch(0, 100))], name=f"query{number}", number=number)
        states.append(views_state(query))
    view._console.print(view._table(states))
    view.close(states, [])
    lines = shown.getvalue().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["query0", "query1", "query2", "query3"]
    assert all(len(line) <= 60 for line in lines)


def views_state(query: FakeQuery) -> Any:
    from epochal.tools.watch.state import WatchedQuery

    return WatchedQuery(query).poll()


def test_without_rich_a_terminal_gets_lines(tmp_path: Path) -> None:
    """Runs in a separate process without rich."""
    program = """
import importlib.util, io, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "rich" else found(name, package)
import epochal
from epochal.tools.watch.views import Plain, view_of
class Terminal(io.StringIO):
    def isatty(self):
        return True
assert isinstance(view_of(Terminal()), Plain)
assert "rich" not in sys.modules and "IPython" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_rows_of_queries_print_as_a_table() -> None:
    row = QueryRow(
        name="strings",
        state="failed",
        rate=231.4,
        behind=500,
        is_exact=True,
        seconds_behind=2.2,
        source="epochal-random",
        sink="epochal-jdbc strings in sqlite:/a/long/path/to/strings.db",
        id="6f1e2ab0-0000-4000-8000-000000000001",
        run_id="0c9d51e7-0000-4000-8000-000000000002",
        error="<broken>",
    )
    found = Queries((row,))
    head, line = repr(found).splitlines()
    assert head.split() == ["name", "state", "rows/s", "behind", "source", "sink", "id", "run", "id", "last", "error"]
    assert line.split()[:5] == ["strings", "failed", "231", "500", "behind"]
    assert "sqlite:/a/long" in line
    assert "strings.db" not in line
    assert "6f1e2ab0 " in line
    assert line.endswith("<broken>")
    assert "&lt;broken&gt;" in found._repr_html_()
    assert (list(found), found[0], found[:1], len(found)) == ([row], row, (row,), 1)
    assert repr(Queries()) == "No query is active."


def test_rows_beyond_the_last_report_are_read_from_the_ledger_of_a_helpers_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flushed = [progress(n, 468, at=n, sink=epoch(n, 468, transport="flushed")) for n in range(3)]
    query = FakeQuery(flushed, is_active=False)
    helper = Started(weakref.ref(query), query, query.runId, {"dbtable": "strings"})  # type: ignore[arg-type]
    when = datetime.now(timezone.utc)
    ended = [
        LedgerEpoch(
            number=number, epoch=3, query_id=query.id, run_id=run, generation=1, target="t", trigger_mode="real-time",
            offsets_hash=None, digest="", rows=12, committed_at=when,
        )
        for number, run in enumerate((query.runId, "another"))
    ]  # fmt: skip
    known = row(3, query_id=query.id, rows_beyond=100, history=tuple(ended))
    monkeypatch.setattr(_start, "_queries", [helper])
    monkeypatch.setattr(jvm, "beside", lambda session, options: DatabaseLedger(place="here", rows=(known,)))
    file = io.StringIO()
    epochal.watch(query, file=file)  # type: ignore[arg-type]
    assert "(and 112 rows of epoch 3 stored so far, which a restart does not repeat)" in file.getvalue()

    def unreachable(session: object, options: object) -> DatabaseLedger:
        raise epochal.DatabaseError("DATABASE_UNREACHABLE", "No.", "Look.")

    monkeypatch.setattr(jvm, "beside", unreachable)
    epochal.watch(query, file=(file := io.StringIO()))  # type: ignore[arg-type]
    assert "(and the rows of epoch 3 stored so far (epochal status counts them), which" in file.getvalue()


def test_a_snapshot_and_then_the_lag_of_its_slot_are_shown() -> None:
    slot = {"slot": "shop", "slotLagBytes": "NaN", "slotLagSeconds": "NaN", "retainedWalBytes": "40000000"}
    snapshot = {"snapshotTables": "3", "snapshotTablesLeft": "2", "snapshotRows": "1200"}
    begun = snapshot | {"snapshotRowsExpected": "NaN", "snapshotSecondsLeft": "NaN"}

    def shown(**metrics: str) -> str:
        return words.sources(batch_of(progress(0, 10, source=slot | begun | metrics)))

    kept = "40 MB of log kept for slot shop"
    assert shown() == f"snapshot 1,200 rows, 2 of 3 tables left, {kept}"
    half = {"snapshotTables": "1", "snapshotTablesLeft": "1", "snapshotRowsExpected": "5000"}
    assert shown(**half, snapshotSecondsLeft="12.5") == f"snapshot 1,200 of about 5,000 rows, ETA 12 s, {kept}"
    done = {"snapshotTablesLeft": "0", "snapshotSecondsLeft": "0.0", "slotLagBytes": "4200000"}
    assert shown(**done, slotLagSeconds="3.0") == f"slot shop 4.2 MB behind (3 s), {kept}"
    assert shown(**done | {"slotLagBytes": "0", "slotLagSeconds": "0.0"}) == kept
    # Of a query that did not begin with a snapshot.
    assert words.sources(batch_of(progress(0, 10, source=slot))) == kept


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (12_300_000, "12 MB"), (3_400_000_000_000_000, "3,400 TB")],
)
def test_bytes_have_a_unit(count: int, shown: str) -> None:
    assert size(count) == shown
