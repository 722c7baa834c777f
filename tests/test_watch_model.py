"""``epochal.watch``: values, sums and lines from progress objects, without Spark."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import epochal
from epochal.tools import output
from epochal.tools.watch import notebook, views, words
from epochal.tools.watch.progress import batch_of, short_name
from epochal.tools.watch.state import QueryState, WatchedQuery
from epochal.tools.watch.tally import Tally
from epochal.tools.watch.watching import raise_first, run, seconds
from support.progress import BAD_ROW, FakeQuery, epoch, lag, progress, ten_epochs


def tally(*progresses: dict[str, Any]) -> Tally:
    return Tally().adding(batch_of(one) for one in progresses)


def state(*progresses: dict[str, Any], **more: Any) -> QueryState:
    """A state with these progress objects, of a query named by its sink."""
    found = tally(*progresses)
    known: dict[str, Any] = {"id": "i", "run_id": "r", "name": "strings", "phase": "running", "elapsed": 3.2}
    return QueryState(**(known | more), tally=found)


# Progresses


def test_a_progress_is_read_with_the_metrics_of_source_and_sink() -> None:
    counted = {"pages": "12", "requests": "14", "retries": "2", "throttled": "1", "waitedMillis": "3100"}
    batch = batch_of(progress(11, 40, source=lag(520) | counted, sink=epoch(11, 40)))
    assert (batch.number, batch.rows, batch.behind, batch.is_exact, batch.seconds_behind) == (11, 40, 520, True, 2.0)
    counts = batch.sources[0].counts
    assert (counts.pages, counts.requests, counts.retries, counts.throttled, counts.waited) == (12, 14, 2, 1, 3.1)
    sink = batch.sink
    assert (sink.target, sink.epoch, sink.transport, sink.load, sink.commit) == ("strings", 11, "inline", 0.003, 0.002)


def test_the_lag_of_a_replica_is_that_of_its_oldest_change() -> None:
    metrics = {"slot": "shop", "secondsBehind": "1.0", "replicaLagSeconds": "90.5", "slotLagSeconds": "0.0"}
    assert batch_of(progress(3, 100, source=lag(5) | metrics)).seconds_behind == 90.5


def test_progresses_that_spark_has_written_are_read() -> None:
    """Recorded with Spark 4.3: the third batch of a run."""
    real = json.loads((Path(__file__).parent / "support" / "progresses.json").read_text("utf-8"))
    found = {name: batch_of(one) for name, one in real.items()}
    assert {name: (batch.number, batch.rows, batch.is_idle) for name, batch in found.items()} == {
        "random into SQLite": (2, 100, False),
        "REST into SQLite": (2, 40, False),
        "random into REST": (2, 10, False),
    }
    assert {name: (batch.behind, batch.is_exact, batch.seconds_behind) for name, batch in found.items()} == {
        "random into SQLite": (700, True, 0.0),
        "REST into SQLite": (880, True, None),
        "random into REST": (0, True, 0.0),
    }
    sinks = {name: (batch.sink.target, batch.sink.epoch, batch.sink.rows) for name, batch in found.items()}
    assert sinks == {
        "random into SQLite": ("strings", 2, 100),
        "REST into SQLite": ("comments", 2, 40),
        "random into REST": ("http://127.0.0.1:8080/comments", 2, 10),
    }
    fetched = words.sources(found["REST into SQLite"])
    assert fetched == "3 pages, 17 requests, 2 retries, 1 throttled, waited 0.5 s"
    assert words.sink(found["random into REST"]) == "30 requests"


def test_a_sink_without_epochs_has_sparks_count_or_that_of_the_rows_read() -> None:
    assert batch_of(progress(0, 7, written=3)).sink.rows == 3
    assert batch_of(progress(0, 7, written=-1)).sink.rows == 7


def test_other_metrics_are_ignored() -> None:
    source, sink = {"rowsBehind": "many", "secondsBehind": "?"}, {"epoch": "", "rows": "x"}
    batch = batch_of(progress(0, 7, source=source, sink=sink))
    assert (batch.behind, batch.is_exact, batch.seconds_behind) == (None, False, None)
    assert (batch.sink.epoch, batch.sink.rows) == (None, 7)


def test_a_progress_without_metrics_durations_or_sources_is_read() -> None:
    bare = progress(0, 0) | {"durationMs": None, "sources": [], "sink": {"description": None}, "batchDuration": None}
    batch = batch_of(bare)
    assert (batch.is_idle, batch.seconds, batch.behind, batch.is_exact) == (True, 0.0, None, False)


def test_a_name_is_shown_without_package_and_address() -> None:
    assert short_name("org.apache.spark.sql.execution.streaming.ConsoleTable$@4c1d00aa") == "ConsoleTable"
    assert short_name("FileSink[file:/tmp/out]") == "FileSink[file:/tmp/out]"


# Sums


def test_rows_and_epochs_add_up() -> None:
    found = tally(*ten_epochs())
    assert (found.rows_read, found.rows_written, found.batches, found.is_complete) == (1000, 1000, 10, True)


def test_a_progress_is_counted_once() -> None:
    found = tally(*ten_epochs())
    assert found.adding(batch_of(one) for one in ten_epochs()) == found


@pytest.mark.parametrize("number", [0, 1])
def test_an_idle_progress_adds_nothing_and_does_not_hide_the_batch_of_its_number(number: int) -> None:
    idle = progress(number, 0, at=2, is_idle=True, source=lag(0), sink=epoch(0, 100))
    found = tally(progress(0, 100, sink=epoch(0, 100)), idle)
    assert (found.rows_written, found.batches) == (100, 1)
    found = found.adding([batch_of(progress(1, 50, at=9, sink=epoch(1, 50)))])
    assert (found.rows_written, found.batches, found.is_complete) == (150, 2, True)


def test_a_repeated_epoch_adds_no_written_row() -> None:
    found = tally(progress(4, 100, sink=epoch(4, 100, outcome="repeated")), progress(5, 100, at=1, sink=epoch(5, 100)))
    assert (found.rows_read, found.rows_written, found.repeated) == (200, 100, 1)


def test_bad_rows_are_not_written() -> None:
    found = tally(
        progress(0, 100, sink=epoch(0, 100, badRows="3")), progress(1, 100, at=1, sink=epoch(1, 100, badRows="1"))
    )
    assert (found.rows_written, found.bad_rows) == (196, 4)


def test_a_sinks_own_total_of_bad_rows_is_used() -> None:
    sent = [{"epoch": str(n), "rows": "10", "requests": "10", "badRows": str(n)} for n in range(3)]
    assert tally(*(progress(n, 10, at=n, sink=sent[n]) for n in range(3))).bad_rows == 2


def test_missed_progresses_are_noticed() -> None:
    found = tally(progress(0, 100, sink=epoch(0, 100)), progress(7, 100, at=7, sink=epoch(7, 100)))
    assert not found.is_complete
    assert "at least 200 rows" in words.rows(state(progress(0, 100), progress(7, 100, at=7)))


def test_memory_does_not_grow_with_the_number_of_progresses() -> None:
    found = tally(*(progress(n, 1, at=n / 1000, lasted=0.001, sink=epoch(n, 1)) for n in range(2000)))
    assert (found.rows_written, len(found.recent)) == (2000, 200)


def test_the_rate_is_that_of_the_last_seconds() -> None:
    assert tally().rate is None
    assert tally(progress(0, 50, lasted=0.5)).rate == 100
    assert tally(*ten_epochs()).rate == pytest.approx(100)
    late = tally(*ten_epochs(), progress(10, 4000, at=100, lasted=10, sink=epoch(10, 4000)))
    assert late.rate == pytest.approx(4000 / 100)  # Since the end of the previous batch.
    paced = [progress(n, 500, at=5 * n, lasted=0.5) for n in range(6)]
    assert tally(*paced).rate == pytest.approx(100)


def test_an_eta_requires_an_end_and_a_shrinking_lag() -> None:
    assert tally(*ten_epochs()[:5]).eta == pytest.approx(5)
    assert tally(progress(0, 100, source=lag(900))).eta == pytest.approx(9)
    assert tally(progress(0, 100, source=lag(900)), progress(1, 100, at=1, source=lag(950))).eta is None
    assert tally(progress(0, 100, source=lag(900, is_exact=False))).eta is None
    assert tally(progress(0, 100)).eta is None
    assert tally(*ten_epochs()).eta is None


def test_lag_of_several_sources_adds_up_and_is_exact_when_all_are() -> None:
    both = progress(0, 100, source=lag(10))
    both["sources"].append({"description": "other", "numInputRows": 1, "metrics": lag(5, seconds="7.5")})
    batch = batch_of(both)
    assert (batch.behind, batch.is_exact, batch.seconds_behind) == (15, True, 7.5)
    both["sources"].append({"description": "rate", "numInputRows": 1, "metrics": {}})
    assert not batch_of(both).is_exact


# Lines


def test_the_summary_is_one_line() -> None:
    assert words.summary(state(*ten_epochs(), phase="ended")) == "1,000 rows in 10 epochs into strings, 3.2 s"


def test_the_summary_has_the_name_of_a_query_that_has_one() -> None:
    said = words.summary(state(*ten_epochs(), phase="ended", name="nightly", elapsed=125))
    assert said == "nightly: 1,000 rows in 10 epochs into strings, 2 min 5 s"


def test_the_summary_of_a_stopped_query_shows_its_epoch_and_that_it_can_resume() -> None:
    stopped = state(*(progress(n, 40, at=n, sink=epoch(n, 40)) for n in range(1, 13)), phase="stopped")
    assert words.summary(stopped) == "strings: stopped at epoch 12, 480 rows; start again to resume"


def test_the_summary_of_a_real_time_run_names_the_rows_that_are_stored_beyond_its_last_epoch() -> None:
    flushed = [progress(n, 468, at=n, sink=epoch(n, 468, transport="flushed")) for n in range(3)]
    stopped = replace(state(*flushed, phase="stopped"), rows_beyond=112)
    beyond = "and 112 rows of epoch 3 stored so far, which a restart does not repeat"
    assert words.summary(stopped) == f"strings: stopped at epoch 2, 1,404 rows, {beyond}; start again to resume"
    failed = words.summary(replace(stopped, phase="failed"))
    assert failed == f"strings: failed after epoch 2, 1,404 rows in 3 epochs into strings, 3.2 s ({beyond})"
    assert words.summary(replace(stopped, rows_beyond=0)).endswith("at epoch 2, 1,404 rows; start again to resume")
    unread = words.summary(replace(stopped, rows_beyond=None))
    assert "1,404 rows, and the rows of epoch 3 stored so far (epochal status counts them), which a" in unread
    assert "stored so far" not in words.line(state(*flushed))
    early = words.summary(replace(state(phase="stopped"), rows_beyond=1))
    assert early.startswith("strings: stopped before its first epoch ended, and 1 row of it stored so far, which a")


def test_the_summary_of_a_query_into_another_sink_does_not_promise_a_resume() -> None:
    stopped = state(progress(12, 480, sink_name="ConsoleTable"), phase="stopped", name="console")
    assert words.summary(stopped) == "console: stopped at epoch 12, 480 rows"


def test_the_summary_shows_a_resume_and_a_run_without_rows() -> None:
    resumed = state(progress(10, 40, sink=epoch(10, 40)), progress(11, 40, sink=epoch(11, 40)), phase="ended")
    assert words.summary(resumed) == "80 rows in 2 epochs into strings, 3.2 s (resumed at epoch 10)"
    idle = state(progress(12, 0, is_idle=True), phase="ended")
    assert words.summary(idle) == "strings: nothing new, 3.2 s"


def test_a_query_without_a_batch_has_a_summary() -> None:
    assert words.summary(state(phase="stopped")) == "strings: stopped before its first epoch ended, 3.2 s"
    assert words.summary(state(phase="starting")) == "strings: still starting before its first epoch ended, 3.2 s"


def test_read_rows_are_shown_if_they_differ_from_written_ones() -> None:
    counts = state(progress(0, 1000, sink=epoch(0, 20)), progress(1, 1000, at=1, sink=epoch(1, 20)), phase="ended")
    assert words.summary(counts) == "2,000 rows read, 40 rows written in 2 epochs into strings, 3.2 s"


def test_the_summary_shows_bad_rows_and_skipped_epochs() -> None:
    found = state(
        progress(4, 100, sink=epoch(4, 100, outcome="repeated")),
        progress(5, 100, at=1, sink=epoch(5, 100, badRows="1")),
        phase="ended",
    )
    facts = "resumed at epoch 4, 1 epoch was there already, 1 bad row put aside"
    assert words.summary(found) == f"99 rows in 2 epochs into strings, 3.2 s ({facts})"


def test_a_line_has_all_known_figures() -> None:
    counted = {"pages": "5", "requests": "7", "retries": "2", "throttled": "1", "waitedMillis": "3100"}
    found = [progress(n, 100, at=n, source=lag(900 - 100 * n) | counted, sink=epoch(n, 100)) for n in range(5)]
    assert words.line(state(*found)) == (
        "strings: epoch 4, 500 rows, 100 rows/s, 500 behind (2 s), ETA 5 s; "
        "5 pages, 7 requests, 2 retries, 1 throttled, waited 3.1 s; inline, load 3 ms, commit 2 ms"
    )


def test_before_the_first_progress_a_line_shows_sparks_status() -> None:
    first = state(phase="starting", message="Getting offsets from epochal-rest[x]", elapsed=12)
    assert words.line(first) == "strings: no epoch yet after 12 s: Getting offsets from epochal-rest[x]"


def test_durations_are_short() -> None:
    said = [output.duration(n) for n in (0, 0.44, 3.0, 13.4, 60, 125, 3600, 11_000)]
    assert said == ["0 s", "0.4 s", "3 s", "13 s", "1 min 0 s", "2 min 5 s", "1 h 0 min", "3 h 3 min"]
    assert [words.clock(n) for n in (0, 125, 36_125)] == ["0:00:00", "0:02:05", "10:02:05"]


# Views, and the loop


def test_plain_lines_are_printed_after_changes() -> None:
    file = io.StringIO()
    plain = views.Plain(file)
    for elapsed in (0.0, 1.0, 2.0):
        plain.show([state(phase="starting", message="Initializing sources", elapsed=elapsed)])
    plain.show([state(*ten_epochs()[:1], elapsed=3.0)])
    plain.show([state(*ten_epochs()[:1], elapsed=4.0)])
    plain.show([state(*ten_epochs()[:1], elapsed=70.0)])
    plain.show([state(*ten_epochs(), elapsed=71.0, phase="ended")])
    plain.close([], ["the end"])
    lines = file.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["0:00:00", "0:00:03", "0:01:10", "the"]


def test_a_watch_ends_with_the_summary_of_each_query() -> None:
    file = io.StringIO()
    done = FakeQuery(ten_epochs(), is_active=False)
    other = FakeQuery(ten_epochs(), is_active=False, name="nightly", number=2)
    run([done, other], views.Plain(file), 0.01)
    assert [line.partition(",")[0] for line in file.getvalue().splitlines()] == ["1", "nightly: 1"]


def test_a_query_that_ends_while_others_run_gets_its_line_at_once() -> None:
    file = io.StringIO()
    plain = views.Plain(file)
    well = {"name": "well", "run_id": "w"}
    dead = {"phase": "failed", "error": "[EPOCHAL.BAD_ROW] Row 3 cannot be stored."}
    plain.show([state(*ten_epochs()[:1], elapsed=1.0), state(*ten_epochs()[:1], **well, elapsed=1.0)])
    for elapsed in (2.0, 99.0):
        plain.show([state(*ten_epochs()[:1], **dead, elapsed=2.0), state(*ten_epochs()[:1], **well, elapsed=elapsed)])
    lines = file.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "0:00:01 strings: epoch 0",
        "0:00:01 well: epoch 0",
        "0:00:02 strings: failed after epoch 0",
        "0:01:39 well: epoch 0",
    ]
    assert lines[2].endswith(": [EPOCHAL.BAD_ROW] Row 3 cannot be stored.")


def test_the_errors_of_all_failed_queries_are_shown() -> None:
    file = io.StringIO()
    errors = [RuntimeError("the first"), RuntimeError("the second")]
    failed = [FakeQuery(is_active=False, error=error, number=number) for number, error in enumerate(errors)]
    with pytest.raises(RuntimeError, match="the first"):
        run(failed, views.Plain(file), 0.01)
    first, second = file.getvalue().splitlines()
    assert (first.endswith(": the first"), second.endswith(": the second")) == (False, True)


def test_a_watch_without_queries_prints_a_message() -> None:
    file = io.StringIO()
    epochal.watch([], file=file)
    assert file.getvalue() == "No query is active.\n"


def test_the_first_error_is_raised_after_the_summary() -> None:
    file = io.StringIO()
    failing = FakeQuery(ten_epochs(), is_active=False, error=RuntimeError(BAD_ROW))
    with pytest.raises(epochal.RowError, match="Row 3 cannot be stored"):
        epochal.watch([FakeQuery(ten_epochs(), is_active=False, name="well", number=2), failing], file=file)  # type: ignore[list-item]
    well, failed = file.getvalue().splitlines()
    assert well == "well: 1,000 rows in 10 epochs into strings, 10.0 s"
    assert failed == "strings: failed after epoch 9, 1,000 rows in 10 epochs into strings, 10.0 s"


def test_other_errors_are_raised_unchanged() -> None:
    broken = WatchedQuery(FakeQuery(is_active=False, error=ZeroDivisionError("x")))
    broken.poll()
    with pytest.raises(ZeroDivisionError):
        raise_first([broken])


def test_a_notebook_escapes_html_in_names() -> None:
    found = state(*ten_epochs(), name="<b>", phase="failed", error="a <script>")
    html = notebook.page([found], ["<i>"])
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "a &lt;script&gt;" in html


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1 second", 1), ("500 ms", 0.5), ("2s", 2), ("1.5 minutes", 90), (0.2, 0.2), (3, 3), (timedelta(seconds=4), 4)],
)
def test_a_duration(given: Any, expected: float) -> None:
    assert seconds(given, "every") == expected


@pytest.mark.parametrize("given", ["soon", "7", "", "1 fortnight", 0, -1, True, timedelta(0), "0 s"])
def test_an_invalid_duration_is_refused(given: Any) -> None:
    with pytest.raises(epochal.OptionError) as caught:
        epochal.watch([], every=given)
    assert caught.value.condition == "OPTION_INVALID"
    assert "every=0.5" in caught.value.hint


def test_an_object_that_is_not_a_query_is_refused() -> None:
    with pytest.raises(epochal.OptionError, match=r"epochal\.watch was given a str, which is not a streaming query"):
        epochal.watch(["strings"])  # type: ignore[list-item]
