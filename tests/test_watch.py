"""``epochal.watch``, ``queries``, ``stop_all``, ``await_all`` with queries of Spark: classic, Connect, a notebook."""

from __future__ import annotations

import io
import os
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal import Limits, rest
from epochal.tools.watch.progress import batch_of
from epochal.tools.watch.tally import Tally
from support import connect_server, notebooks
from support.api import Api
from support.data import SCHEMA, comments
from support.databases import Sqlite
from support.scripts import SESSION, run_script
from support.streams import finish
from support.waiting import until


def random_query(spark: SparkSession, sqlite: Sqlite, checkpoint: Path, **more: Any) -> StreamingQuery:
    """Random strings into the table ``strings``: 1,000 in ten epochs, unless ``more`` overrides it."""
    max_rows = more.pop("max_rows", 1000)
    rows = epochal.read.random(spark, rows_per_batch=100, max_rows=max_rows)
    known = {"table": "strings", "create_table": True, "checkpoint": checkpoint, "trigger": "availableNow"}
    start: Callable[..., StreamingQuery] = epochal.write.jdbc
    return start(rows, sqlite.url, **(known | more))


#: The third epoch of ``random_query`` fails.
CHECKED = "CREATE TABLE strings (id INTEGER CHECK (id < 250), value TEXT, length INTEGER, timestamp TEXT)"


def count(sqlite: Sqlite) -> int:
    found: int = sqlite.query("SELECT count(*) FROM strings")[0][0]
    return found


def test_a_watched_query_ends_with_one_line(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    file = io.StringIO()
    epochal.watch(random_query(spark, sqlite, checkpoint), every=0.1, file=file)
    *lines, summary = file.getvalue().splitlines()
    assert re.fullmatch(r"1,000 rows in 10 epochs into strings, \d+\.\d s", summary)
    assert count(sqlite) == 1000
    assert any(
        re.match(r"0:00:\d\d strings: epoch \d, \d00 rows, \d+ rows/s, .*; inline, load", line) for line in lines
    )


@pytest.mark.slow
def test_the_reported_metrics_match_the_read_rows(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 50)
    rows = epochal.read.rest(spark, api.url, schema=SCHEMA, pages=rest.Offset(size=10), limits=Limits(rows=10))
    query = epochal.write.jdbc(
        rows, sqlite.url, table="comments", create_table=True, checkpoint=checkpoint, trigger="availableNow"
    )
    finish(query)
    batches = [batch_of(progress) for progress in query.recentProgress]
    found = Tally().adding(batches)
    assert (found.rows_read, found.rows_written, found.batches, found.is_complete) == (50, 50, 5, True)
    assert [batch.sink.epoch for batch in batches if not batch.is_idle] == [0, 1, 2, 3, 4]
    last = batches[-1]
    assert (last.behind, last.is_exact, last.sink.target, last.sink.transport) == (0, True, "comments", "inline")
    assert (last.sink.load is not None, last.sink.commit is not None) == (True, True)
    (source,) = last.sources
    assert source.name.startswith("epochal-rest[http://127.0.0.1")
    assert source.counts.pages == 5
    assert source.counts.requests is not None
    assert source.counts.requests >= 5
    assert source.counts.waited is not None


@pytest.mark.slow
def test_before_the_first_batch_a_watch_shows_the_progress_of_the_poll(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 5)
    api.hold.clear()
    rows = epochal.read.rest(spark, api.url, schema=SCHEMA)
    query = epochal.write.jdbc(
        rows, sqlite.url, table="comments", create_table=True, checkpoint=checkpoint, trigger="availableNow"
    )
    until(lambda: "so far" in query.status["message"], "a report of the first poll")
    (row,) = [row for row in epochal.queries(spark) if row.id == query.id]
    assert (row.state, row.rate, row.sink, row.name) == ("starting", None, None, "comments")

    class Releasing(io.StringIO):
        """Lets the API respond after the first output."""

        def write(self, text: str) -> int:
            api.hold.set()
            return super().write(text)

    file = Releasing()
    epochal.watch(query, every=0.1, file=file)
    first, *_, summary = file.getvalue().splitlines()
    poll = r"Getting offsets from epochal-rest\[.*\]: 1 request, 0 bytes so far, \d+ s"
    assert re.fullmatch(rf"0:00:00 comments: no epoch yet after [\d.]+ s: {poll}", first)
    assert summary.startswith("5 rows in 1 epoch into comments, ")


def test_a_query_whose_batch_hangs_is_not_up_to_date(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 5)
    rows = epochal.read.rest(spark, api.url, schema=SCHEMA, pages=rest.Offset(size=10))
    query = epochal.write.jdbc(rows, sqlite.url, table="comments", create_table=True, checkpoint=checkpoint)

    def shown() -> str:
        return next(str(epochal.queries(spark)) for row in epochal.queries(spark) if row.id == query.id)

    until(lambda: "up to date" in shown(), "the first five rows")
    with closing(sqlite3.connect(sqlite.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        api.records += comments(6, 5)
        until(lambda: query.status["isDataAvailable"], "a batch that waits for the lock")
        assert "next epoch running, last ended" in shown()
        assert "up to date" not in shown()
    until(lambda: "up to date" in shown(), "the other five rows")
    query.stop()


@pytest.mark.slow
def test_a_failed_query_raises_its_error_after_the_summary(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, tmp_path: Path
) -> None:
    sqlite.execute(CHECKED)
    file = io.StringIO()
    well = random_query(spark, Sqlite(tmp_path / "well.db"), tmp_path / "well", query_name="well")
    failing = random_query(spark, sqlite, checkpoint)
    with pytest.raises(epochal.EpochalError) as caught:
        epochal.watch([well, failing], every=0.1, file=file)
    assert "CHECK" in caught.value.problem
    first, second = file.getvalue().splitlines()[-2:]
    assert first.startswith("well: 1,000 rows in 10 epochs into strings, ")
    assert second.startswith("strings: failed after epoch 1, 200 rows in 2 epochs into strings, ")
    (row,) = [row for row in epochal.queries(spark) if row.id == failing.id]
    assert (row.state, row.name, row.run_id) == ("failed", "strings", str(failing.runId))
    assert row.error == str(caught.value)
    with pytest.raises(type(caught.value)):
        epochal.await_all(failing)


@pytest.mark.slow
def test_queries_of_a_session_are_a_table(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, tmp_path: Path
) -> None:
    sqlite.execute(CHECKED)
    failing = random_query(spark, sqlite, checkpoint)
    until(lambda: not failing.isActive, "the failure")
    endless = random_query(spark, Sqlite(tmp_path / "endless.db"), tmp_path / "endless", max_rows=None, trigger=None)
    console = spark.readStream.format("rate").load().writeStream.format("noop").queryName("rates").start()
    until(lambda: endless.lastProgress and console.lastProgress, "batches")
    found = {row.id: row for row in epochal.queries(spark)}
    assert {failing.id, endless.id, console.id} <= set(found)
    row = found[endless.id]
    assert (row.name, row.run_id, row.source, row.error) == ("strings", endless.runId, "epochal-random", None)
    assert row.state in ("running", "waiting")
    assert row.rate
    assert row.sink
    assert row.sink.startswith("epochal-jdbc strings in ")
    assert found[console.id].name == "rates"
    assert found[failing.id].state == "failed"
    assert len(repr(epochal.queries()).splitlines()) == 1 + len(found)
    epochal.stop_all(spark)
    assert spark.streams.active == []
    assert {row.state for row in epochal.queries(spark)} == {"failed"}
    again = random_query(spark, sqlite, checkpoint)
    until(lambda: not again.isActive, "the second failure")
    assert [row.run_id for row in epochal.queries(spark) if row.id == failing.id] == [again.runId]


@pytest.mark.slow
def test_await_all_waits_for_the_queries_of_a_session(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, tmp_path: Path
) -> None:
    random_query(spark, sqlite, checkpoint)
    random_query(spark, Sqlite(tmp_path / "other.db"), tmp_path / "other")
    assert epochal.await_all(spark, timeout="2 minutes")
    assert count(sqlite) == count(Sqlite(tmp_path / "other.db")) == 1000
    endless = random_query(spark, sqlite, checkpoint, max_rows=None, trigger=None)
    assert not epochal.await_all(timeout=0.1)
    endless.stop()


#: Watches an endless stream; after the watch it prints the result and continues.
ENDLESS = """
import sqlite3
spark = epochal.configure(builder().config("spark.log.level", "OFF")).getOrCreate()

def start(most, trigger):
    rows = epochal.read.random(spark, rows_per_batch=100, max_rows=most)
    return epochal.write.jdbc(
        rows, "jdbc:sqlite:{place}/strings.db", table="strings", create_table=True, checkpoint="{place}/checkpoint",
        trigger=trigger,
    )

query = start(None, "50 ms")
epochal.watch(query, every=0.1)
print("ACTIVE", query.isActive, flush=True)
with sqlite3.connect("{place}/strings.db") as database:
    ((rows,),) = database.execute("SELECT count(*) FROM strings")
epochal.watch(start(rows + 300, "availableNow"), every=0.1)
spark.stop()
"""


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_the_next_start_resumes(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SESSION + ENDLESS.replace("{place}", str(tmp_path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    assert process.stdout
    lines = []
    interrupted = False
    try:
        for line in process.stdout:
            lines.append(line.rstrip())
            if not interrupted and "strings: epoch " in line:
                os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to Python and its JVM.
                interrupted = True
        assert process.wait(60) == 0, lines
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    text = "\n".join(lines)
    stopped = re.search(r"^strings: stopped at epoch (\d+), ([\d,]+) rows; start again to resume$", text, re.MULTILINE)
    assert stopped, text
    epochs, rows = int(stopped[1]) + 1, int(stopped[2].replace(",", ""))
    assert rows == 100 * epochs
    assert "ACTIVE False" in lines
    assert "Traceback" not in text
    assert "KeyboardInterrupt" not in text
    assert "reentrant" not in text
    # An epoch that the sink has committed and Spark has not is replayed.
    again = "1 epoch was there already" in lines[-1]
    resumed = rf"resumed at epoch {epochs}" + ", 1 epoch was there already" * again
    assert re.fullmatch(rf"300 rows in {3 + again} epochs into strings, .* s \({resumed}\)", lines[-1]), text
    rows += 100 * again
    found = Sqlite(tmp_path / "strings.db").query("SELECT count(*), count(DISTINCT id), max(id) FROM strings")
    assert found == [(rows + 300, rows + 300, rows + 299)]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_watch_works_over_connect(tmp_path: Path) -> None:
    allowed = {"spark.epochal.allowedFiles": str(tmp_path)}
    with connect_server.running(epochal.jar_path(), allowed) as address:
        facts = run_script(
            f"""
            import io
            spark = SparkSession.builder.remote("{address}").getOrCreate()

            def start(name, max_rows=1000, trigger="availableNow"):
                rows = epochal.read.random(spark, rows_per_batch=100, max_rows=max_rows)
                return epochal.write.jdbc(rows, f"jdbc:sqlite:{tmp_path}/{{name}}.db", table="strings",
                    create_table=True, checkpoint=f"{tmp_path}/{{name}}", trigger=trigger)

            file = io.StringIO()
            epochal.watch(start("first"), every=0.2, file=file)
            endless = start("endless", None, None)
            while endless.lastProgress is None:
                pass
            (row,) = epochal.queries()
            epochal.stop_all(spark)
            import sqlite3
            with sqlite3.connect("{tmp_path}/failing.db") as database:
                database.execute("{CHECKED}")
            printed = io.StringIO()
            failing = start("failing")
            try:
                epochal.watch(failing, every=0.2, file=printed)
                error = "none"
            except epochal.EpochalError as raised:
                error = str(raised)
            says(lines=file.getvalue().splitlines(), row=[row.name, row.state, row.source], error=error,
                failed=printed.getvalue().splitlines()[-1], left=[row.state for row in epochal.queries(spark)])
            """
        )
    assert re.fullmatch(r"1,000 rows in 10 epochs into strings, .* s", facts["lines"][-1])
    assert facts["row"][0] == "strings"
    assert facts["row"][2] == "epochal-random"
    assert facts["failed"].startswith("strings: failed after epoch 1, 200 rows in 2 epochs")
    assert "CHECK" in facts["error"]
    assert facts["left"] == ["failed"]


@pytest.mark.slow
def test_a_notebook_has_one_output_that_is_updated_and_its_interrupt_button_stops_the_query(tmp_path: Path) -> None:
    cells = [
        f"""
        import epochal
        from pyspark.sql import SparkSession
        quick = {{"spark.ui.enabled": False, "spark.log.level": "OFF"}}
        spark = epochal.configure(SparkSession.builder.master("local[1]").config(map=quick)).getOrCreate()
        def start(name, most, trigger):
            rows = epochal.read.random(spark, rows_per_batch=100, max_rows=most)
            return epochal.write.jdbc(rows, f"jdbc:sqlite:{tmp_path}/{{name}}.db", table=name, create_table=True,
                checkpoint=f"{tmp_path}/{{name}}", trigger=trigger)
        query = start("strings", 1000, "availableNow")
        """,
        "epochal.watch(query, every=0.1)",
        "query",
        "epochal.queries(spark)",
        """
        endless = start("endless", None, "100 ms")
        while endless.lastProgress is None:
            pass
        """,
        "epochal.watch(endless, every=0.1)",
        "spark.stop()\nquery",
    ]
    book = notebooks.of(*map(textwrap.dedent, cells))
    notebooks.run(
        book,
        timeout_func=lambda cell: 1 if "watch(endless" in cell.source else 300,
        interrupt_on_timeout=True,  # As a notebook's interrupt button does.
    )
    (watched,) = book.cells[1].outputs
    assert watched.output_type == "display_data"
    for mime in ("text/plain", "text/html"):
        assert "1,000 rows in 10 epochs into strings, " in watched.data[mime], mime
    assert "<table>" in watched.data["text/html"]
    (query,) = book.cells[2].outputs
    assert re.match(r"<StreamingQuery ended, strings: epoch 9, 1,000 rows, .*>$", query.data["text/plain"])
    assert "epochal-random" in query.data["text/html"]
    (none,) = book.cells[3].outputs
    assert none.data["text/plain"] == "No query is active."
    (stopped,) = book.cells[5].outputs
    assert re.search(r"endless: stopped at epoch \d+, [\d,]+ rows; start again to resume", stopped.data["text/plain"])
    (gone,) = book.cells[6].outputs
    assert gone.data["text/plain"]


def test_spark_shows_its_own_repr_where_ipython_does_not_run() -> None:
    assert StreamingQuery.__repr__ is object.__repr__
