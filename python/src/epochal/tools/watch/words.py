"""A query's state as text."""

from __future__ import annotations

from collections.abc import Iterator

from epochal.tools.output import counted, duration, size
from epochal.tools.watch.progress import Batch, Capture, Counts
from epochal.tools.watch.state import QueryState

#: Seconds since the last epoch from which on the lag names them.
_LONG = 10.0


def line(state: QueryState) -> str:
    """The state in one line."""
    last = state.last
    if last is None:
        return f"{state.name}: {waiting(state)}"
    tally = state.tally
    parts = [f"{position(last)}, {rows(state)}"]
    parts += [f"{number(tally.rate)} rows/s"] if tally.rate is not None else []
    parts += [behind] if (behind := _lag(state)) else []
    parts += [f"ETA {duration(tally.eta)}"] if tally.eta is not None else []
    more = [fact for fact in (sources(last), sink(last)) if fact]
    return f"{state.name}: {'; '.join([', '.join(parts), *more])}"


def doing(state: QueryState) -> str:
    """Spark's status message; empty if ``waiting`` already contains it."""
    return "" if state.last is None or state.has_ended else state.message


def waiting(state: QueryState) -> str:
    """The state before the first progress report."""
    message = f": {state.message}" if state.message else ""
    return f"no epoch yet after {duration(state.elapsed)}{message}"


def summary(state: QueryState) -> str:
    """The result of the run in one line: ``1,000 rows in 10 epochs into strings, 3.2 s``."""
    tally, last = state.tally, state.last
    time = f"{state.elapsed:.1f} s" if state.elapsed < 60 else duration(state.elapsed)
    if last is None:
        facts = [f"{_phase(state)} before its first epoch ended", *filter(None, [_beyond(state)]), time]
        return f"{state.name}: {', '.join(facts)}"
    if state.phase == "stopped":
        facts = [position(last), rows(state), *filter(None, [_beyond(state)])]
        again = "; start again to resume" if last.sink.epoch is not None else ""
        return f"{state.name}: stopped at {', '.join(facts)}{again}"
    if state.phase == "ended" and not tally.batches:
        return f"{state.name}: nothing new, {time}"
    text = f"{rows(state)} in {counted(tally.batches, 'epoch')} into {last.sink.target}, {time}"
    facts = [fact for fact in (_resumption(state), _replays(state), _bad(state), _beyond(state)) if fact]
    text = f"{text} ({', '.join(facts)})" if facts else text
    if state.phase == "failed":
        return f"{state.name}: failed after {position(last)}, {text}"
    if not state.has_ended:
        return f"{state.name}: {state.phase} at {position(last)}, {rows(state)}"
    return text if state.name == last.sink.target else f"{state.name}: {text}"


def ending(state: QueryState) -> str:
    """The summary, with the error of a failed query."""
    return f"{summary(state)}: {state.error}" if state.error else summary(state)


def facts(state: QueryState) -> list[tuple[str, str]]:
    """The facts below the heading of a block: pairs of label and text, without empty ones."""
    last, tally = state.last, state.tally
    if last is None:
        return [("", state.error or waiting(state))]
    counts = f"{rows(state)} in {counted(tally.batches, 'epoch')}"
    speed = f"{number(tally.rate)} rows/s" if tally.rate is not None else ""
    until = f"ETA {duration(tally.eta)}" if tally.eta is not None else ""
    entries = [
        ("rows", ", ".join(filter(None, [counts, speed]))),
        ("lag", ", ".join(filter(None, [_lag(state), until]))),
        ("source", "; ".join(source.name for source in last.sources)),
        ("", sources(last)),
        ("sink", last.sink.name),
        ("", ", ".join(filter(None, [position(last), sink(last)]))),
        ("", "; ".join(filter(None, [_replays(state), _bad(state)]))),
        ("error", state.error or ""),
    ]
    return [(label, text) for label, text in entries if text]


def rows(state: QueryState) -> str:
    """Rows written, and rows read if they differ: ``1,000 rows read, 40 rows``."""
    tally = state.tally
    more = "" if tally.is_complete else "at least "
    rows_text = f"{more}{counted(tally.rows_written, 'row')}"
    same = tally.rows_read == tally.rows_written + tally.bad_rows or tally.repeated
    return rows_text if same else f"{more}{counted(tally.rows_read, 'row')} read, {rows_text} written"


def position(last: Batch) -> str:
    """``epoch 12``: the last one in the sink's ledger, or, of a sink without one, Spark's batch id."""
    return f"epoch {last.number if last.sink.epoch is None else last.sink.epoch}"


def lag(behind: int | None, is_exact: bool, seconds_behind: float | None, unreported: float | None = None) -> str:
    """``520 behind (13 s)``, with ``at least`` if the source has not seen the end.

    Args:
        unreported: seconds since the report of this lag, while the next epoch runs.
    """
    late = f" ({duration(seconds_behind)})" if seconds_behind else ""
    exact = is_exact and unreported is None
    parts = [] if behind is None else [f"{'' if exact else 'at least '}{behind:,} behind{late}"]
    if behind == 0 and (is_exact or unreported is not None):
        parts = ["up to date"] if exact else []
    if unreported is not None and (unreported >= _LONG or not parts):
        parts += ["next epoch running", f"last ended {duration(unreported)} ago"]
    return ", ".join(parts)


def _lag(state: QueryState) -> str:
    last = state.last
    return lag(last.behind, last.is_exact, last.seconds_behind, state.unreported) if last else ""


def sources(last: Batch) -> str:
    """The counters of the sources: ``12 pages, 14 requests, 2 retries, 1 throttled, waited 3.1 s``."""
    parts = []
    for source in last.sources:
        facts = [*_facts(source.counts)]
        facts += [counted(source.malformed, "malformed record")] if source.malformed else []
        facts += _capture(source.capture) if source.capture else []
        if facts:
            parts.append(", ".join(facts) if len(last.sources) == 1 else f"{source.name}: {', '.join(facts)}")
    return "; ".join(parts)


def sink(last: Batch) -> str:
    """The work of the sink: ``inline, load 3 ms, commit 2 ms``."""
    report = last.sink
    facts = [report.transport] if report.transport else []
    facts += ["was there already"] if report.is_repeated else []
    facts += [f"load {milliseconds(report.load)}"] if report.load is not None else []
    facts += [f"commit {milliseconds(report.commit)}"] if report.commit is not None else []
    return ", ".join([*facts, *_facts(report.counts)])


def progress_bar(state: QueryState, width: int) -> str:
    """A bar with the fraction of rows that is read."""
    fraction = state.tally.fraction
    if fraction is None:
        return ""
    full = int(fraction * width)
    return f"{'█' * full}{'░' * (width - full)} {int(fraction * 100)} %"


def clock(seconds: float) -> str:
    """``0:02:05``."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1000):,} ms"


def number(value: float | None) -> str:
    """Rounded for display: ``1,234``, ``12``, ``3.5``."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _capture(capture: Capture) -> Iterator[str]:
    """``snapshot 1,200 of about 5,000 rows, 1 of 2 tables left, ETA 12 s``, and ``slot orders 4 MB behind (3 s)``."""
    if capture.tables_left:
        about = "" if capture.expected is None else f" of about {capture.expected:,}"
        yield f"snapshot {capture.rows or 0:,}{about} rows"
        if (capture.tables or 0) > 1:
            yield f"{capture.tables_left} of {capture.tables} tables left"
        if capture.eta is not None:
            yield f"ETA {duration(capture.eta)}"
    elif capture.behind:
        late = f" ({duration(capture.seconds_behind)})" if capture.seconds_behind else ""
        yield f"slot {capture.slot} {size(capture.behind)} behind{late}"
    if capture.retained is not None:
        yield f"{size(capture.retained)} of log kept for slot {capture.slot}"


def _facts(counts: Counts) -> Iterator[str]:
    """Counters as texts: pages and requests always, the others only if they are not zero."""
    if counts.pages is not None:
        yield counted(counts.pages, "page")
    if counts.requests is not None:
        yield counted(counts.requests, "request")
    if counts.retries:
        yield counted(counts.retries, "retry")
    if counts.throttled:
        yield f"{counts.throttled:,} throttled"
    if counts.waited and round(counts.waited, 1):
        yield f"waited {duration(counts.waited)}"


def _phase(state: QueryState) -> str:
    """The phase of a query without an epoch."""
    return state.phase if state.has_ended else f"still {state.phase}"


def _resumption(state: QueryState) -> str:
    return f"resumed at epoch {state.tally.first}" if state.tally.first else ""


def _replays(state: QueryState) -> str:
    count = state.tally.repeated
    return f"{counted(count, 'epoch')} {'was' if count == 1 else 'were'} there already" if count else ""


def _bad(state: QueryState) -> str:
    bad, differing = state.tally.bad_rows, 0 if state.last is None else state.last.sink.differing
    comparisons = f"comparisons found {counted(differing, 'row')} that differed" if differing else ""
    return ", ".join(filter(None, [f"{counted(bad, 'bad row')} put aside" if bad else "", comparisons]))


def _beyond(state: QueryState) -> str:
    """Rows that the progress does not count: under the continuous and real-time triggers, tasks store rows at once."""
    count, last = state.rows_beyond, state.last
    if count == 0 or (count is None and (last is None or last.sink.transport != "flushed")):
        return ""
    row_text = "the rows" if count is None else counted(count, "row")
    epoch = "it" if last is None or last.sink.epoch is None else f"epoch {last.sink.epoch + 1}"
    unread = " (epochal status counts them)" if count is None else ""
    return f"and {row_text} of {epoch} stored so far{unread}, which a restart does not repeat"
