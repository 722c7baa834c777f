"""``epochal.display`` in a terminal and without one."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal.tools.display import markup, terminal, text
from epochal.tools.display.snapshot import Column, Snapshot, Status, running
from epochal.tools.watch.state import with_new_progress
from epochal.tools.watch.tally import Tally
from support.progress import FakeQuery, lag, progress
from support.streams import finish
from support.waiting import until

pytestmark = pytest.mark.line

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"


def numbers(spark: SparkSession, rows: int = 25, per_batch: int = 10) -> DataFrame:
    """A stream of the ids 0 to ``rows`` - 1, then nothing."""
    return epochal.read.random(spark, rows_per_batch=per_batch, max_rows=rows, num_partitions=1).select("id", "value")


def cells(df: DataFrame) -> tuple[tuple[str | None, ...], ...]:
    return epochal.display(df)._snapshot.rows


def ended(df: DataFrame, **arguments: Any) -> epochal.Display:
    """A display whose query has read all rows."""
    shown = epochal.display(df, trigger="availableNow", wait=False, **arguments)
    assert shown.query is not None
    finish(shown.query)
    return shown


def test_a_display_is_a_table_for_sql_during_and_after_the_query(spark: SparkSession) -> None:
    shown = epochal.display(numbers(spark), name="strings", trigger="100 ms", wait=False)
    assert shown.query is not None
    assert shown.query.name == "strings"
    counted = "SELECT count(*) AS rows, max(id) AS last FROM strings"
    until(lambda: spark.sql(counted).collect()[0]["rows"] == 25 or None, "25 rows")
    shown.stop()
    assert not shown.query.isActive
    assert spark.sql(counted).collect()[0].asDict() == {"rows": 25, "last": 24}
    assert [row["id"] for row in shown.rows()] == list(range(25))
    assert shown._snapshot.status.state == "stopped"
    assert shown._snapshot.status.rows == 25
    shown.stop()


@pytest.mark.slow
def test_memory_is_bounded_by_the_number_of_shown_rows(spark: SparkSession) -> None:
    shown = ended(numbers(spark, 95), rows=7)
    assert [row["id"] for row in shown.rows()] == list(range(88, 95))
    assert shown.query is not None
    assert shown.query.lastProgress is not None
    assert shown.query.lastProgress["sink"]["metrics"]["keptRows"] == "7"


def test_an_aggregation_shows_its_whole_result_and_other_streams_their_last_rows(spark: SparkSession) -> None:
    grouped = numbers(spark).selectExpr("id % 3 AS rest").groupBy("rest").count().orderBy("rest")
    shown, plain = ended(grouped), ended(numbers(spark))
    assert [tuple(row) for row in shown.rows()] == [(0, 9), (1, 8), (2, 8)]
    assert "the first 200 rows at most" in repr(shown)
    assert "the last 200 rows at most" in repr(plain)


def test_a_temporary_checkpoint_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path))
    try:
        shown = epochal.display(numbers(spark), name="kept", wait=False)
        assert [path.name[:16] for path in tmp_path.iterdir()] == ["epochal-display-"]
        shown.stop()
        until(lambda: not list(tmp_path.iterdir()), "the end of the temporary checkpoint")
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")


@pytest.mark.slow
def test_a_display_resumes_from_the_users_checkpoint(spark: SparkSession, checkpoint: Path) -> None:
    assert len(ended(numbers(spark), name="kept", checkpoint=checkpoint).rows()) == 25
    assert ended(numbers(spark), name="kept", checkpoint=checkpoint).rows() == []
    assert len(ended(numbers(spark), name="kept").rows()) == 25


@pytest.mark.slow
def test_a_display_of_the_same_name_replaces_the_running_one(spark: SparkSession) -> None:
    first = epochal.display(numbers(spark, 1_000_000), name="again", wait=False)
    ended(numbers(spark, 5), name="again")
    assert first.query is not None
    assert not first.query.isActive
    assert spark.table("again").count() == 5


def test_a_name_in_use_is_refused(spark: SparkSession) -> None:
    spark.range(1).createOrReplaceTempView("mine")
    with pytest.raises(epochal.OptionError, match="'mine' is taken"):
        epochal.display(numbers(spark), name="mine")
    assert spark.table("mine").count() == 1
    assert not spark.streams.active


def test_waiting_prints_the_rows_and_ends_with_the_query(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = epochal.display(numbers(spark, 3), name="printed", trigger="availableNow")
    assert shown.query is not None
    assert not shown.query.isActive
    output = capsys.readouterr().out.splitlines()
    last = max(place for place, line in enumerate(output) if line.startswith("printed · "))
    assert output[last].startswith("printed · ended · epoch 0 · 3 rows")
    assert re.split(r"\s+\|\s+", output[last + 1].strip()) == ["id", "value"]
    assert [line.split()[0] for line in output[last + 3 :]] == ["0", "1", "2"]


def test_ctrl_c_stops_the_query_and_raises_nothing(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    handler = signal.getsignal(signal.SIGINT)

    def press() -> None:
        until(lambda: signal.getsignal(signal.SIGINT) is not handler, "the display to wait")
        until(lambda: spark.streams.active and spark.streams.active[0].lastProgress, "a first batch")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    shown = epochal.display(numbers(spark, 1_000_000), trigger="100 ms")
    assert shown.query is not None
    assert not shown.query.isActive
    assert shown.query.exception() is None
    assert " · stopped · epoch " in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.slow
def test_the_error_of_a_query_is_shown_and_raised(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("x\n")
    failing = spark.readStream.text(str(tmp_path / "in")).selectExpr("raise_error('no good')")
    shown = epochal.display(failing, name="failing", wait=False)
    until(lambda: shown._snapshot.status.is_over or None, "the failure")
    assert "failing · failed · " in repr(shown)
    assert "no good" in repr(shown)
    with pytest.raises(Exception, match="no good"):
        epochal.display(failing, name="failing")
    shown.stop()


def test_values_are_shown_as_spark_prints_them(spark: SparkSession) -> None:
    frame = spark.sql("""SELECT
        CAST('12345678901234567890.123456789012345678' AS DECIMAL(38, 18)), CAST(1e-18 AS DECIMAL(38, 18)),
        9223372036854775807, 1e10D, CAST('NaN' AS DOUBLE), true, CAST(NULL AS STRING), '', X'00FF',
        TIMESTAMP'2026-01-02 03:04:05.123456', TIMESTAMP_NTZ'2026-01-02 03:04:05', DATE'2026-01-02',
        make_date(12026, 1, 2), INTERVAL '1-2' YEAR TO MONTH, make_interval(0, 0, 0, 1),
        named_struct('n', CAST(1.50 AS DECIMAL(10, 2)), 'none', CAST(NULL AS INT)), array(1, NULL), map('k', X'00'),
        parse_json('{"a": 1.5}'), NULL""")
    assert cells(frame) == (
        (
            "12345678901234567890.123456789012345678",
            "0.000000000000000001",
            "9223372036854775807",
            "1.0E10",
            "NaN",
            "true",
            None,
            "",
            "0x00FF",
            "2026-01-02 03:04:05.123456",
            "2026-01-02 03:04:05",
            "2026-01-02",
            "+12026-01-02",
            "INTERVAL '1-2' YEAR TO MONTH",
            "1 days",
            '{"n":1.50,"none":null}',
            "[1,null]",
            '{"k":"AA=="}',
            '{"a":1.5}',
            None,
        ),
    )


def test_timestamps_are_in_the_time_zone_of_the_session(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        assert cells(spark.sql("SELECT TIMESTAMP'2026-01-02 00:00:00Z'")) == (("2026-01-02 05:30:00",),)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_long_values_are_truncated_as_in_spark(spark: SparkSession) -> None:
    ((text, binary),) = cells(spark.sql("SELECT repeat('x', 1000000), CAST(repeat('y', 1000000) AS BINARY)"))
    assert text == "x" * 500 + "…"
    assert binary is not None
    assert len(binary) == 501


def test_columns_of_the_same_name_are_shown(spark: SparkSession) -> None:
    assert cells(spark.sql("SELECT 1 AS a, 2 AS a, 3 AS `a.b`, 4 AS `c``d`")) == (("1", "2", "3", "4"),)


def test_a_batch_is_shown_once_and_named_for_sql(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    shown = epochal.display(spark.range(10), rows=3, name="ten")
    assert shown.query is None
    assert capsys.readouterr().out.splitlines()[:2] == ["ten · the first 3 rows", "id"]
    assert spark.sql("SELECT count(*) AS n FROM ten").collect()[0]["n"] == 10
    assert len(shown.rows()) == 3
    shown.stop()
    assert epochal.display(spark.range(2), name="ten").name == "ten"


def test_stream_arguments_are_refused_for_a_batch(spark: SparkSession) -> None:
    with pytest.raises(epochal.OptionError, match=r"is a batch, .* arguments of a stream: trigger\."):
        epochal.display(spark.range(1), trigger="availableNow")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "pie"}, "none of 'table', 'line'"),
        ({"kind": "lines"}, "kind='line'"),
        ({"x": "id"}, "kind is 'table'"),
        ({"rows": 0}, "from 1 to 100,000"),
        ({"rows": True}, "from 1 to 100,000"),
        ({"name": "two words"}, "name='counts'"),
        ({"kind": "bar", "x": "ids"}, "x='id'"),
        ({"kind": "bar", "y": "value"}, "'value' has none"),
        ({"kind": "bar", "x": "id"}, "no column has any"),
        ({"kind": "bar", "x": "id.field"}, "no field 'field' in a bigint"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_valid_example(
    spark: SparkSession, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(epochal.OptionError, match=re.escape(said)):
        epochal.display(numbers(spark), **arguments)
    assert not spark.streams.active


@pytest.mark.slow
def test_a_plot_has_points_and_a_terminal_shows_a_table(spark: SparkSession) -> None:
    windows = (
        epochal.read.random(spark, rows_per_batch=30, max_rows=60, num_partitions=1)
        .selectExpr("window(timestamp, '1 second') AS window", "length")
        .groupBy("window")
        .agg({"length": "max", "*": "count"})
        .toDF("window", "longest", "rows")
    )
    shown = epochal.display(windows, kind="line", trigger="availableNow")
    points = shown._snapshot.points
    assert points.x == ("2000-01-01 00:00:00", "2000-01-01 00:00:01")
    assert sorted(points.series) == sorted([(5.0, 5.0), (30.0, 30.0)])
    assert "longest" in repr(shown)


def test_points_of_a_line_are_sorted_and_valid_json(spark: SparkSession) -> None:
    frame = spark.sql("""
        SELECT * FROM VALUES (3.5, 1D, 'c'), (1.5, CAST('NaN' AS DOUBLE), 'a'), (NULL, 3D, 'd'), (2.5, NULL, 'b')
        AS t(x, y, label)""")
    points = epochal.display(frame, kind="line", x="x", y="y")._snapshot.points
    assert points.x == (1.5, 2.5, 3.5)
    assert points.series == ((None, None, 1.0),)
    bars = epochal.display(frame, kind="bar")._snapshot.points
    assert bars.x == ("c", "a", "d", "b")
    assert bars.series == ((3.5, 1.5, None, 2.5), (1.0, None, 3.0, None))


def hostile(notice: str = "") -> Snapshot:
    column = Column(name=HOSTILE, kind=HOSTILE, is_number=False)
    status = Status(state="failed", message=HOSTILE)
    return Snapshot(name="x", columns=(column,), rows=((HOSTILE,), (None,)), status=status, notice=notice)


def test_hostile_texts_are_escaped_in_html() -> None:
    html = markup.html(hostile(notice=HOSTILE))
    assert "<img" not in html
    assert html.count("&lt;img") == 5
    assert "<i>null</i>" in html


def test_hostile_texts_do_not_reach_the_terminal() -> None:
    from rich.console import Console

    output = io.StringIO()
    console = Console(file=output, width=200, color_system=None)
    console.print(terminal._table(hostile(), 10))
    for shown in (text.text(hostile()), output.getvalue()):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert r"onerror=alert(1)>\x1b" in shown


def test_a_terminal_with_cursor_control_shows_a_rich_table(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    epochal.display(numbers(spark, 3), name="live", trigger="availableNow")
    output = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert "live · ended · epoch 0 · 3 rows" in output
    assert "┃ id ┃ value ┃" in output


def test_rows_rate_and_lag_equal_those_of_a_watch() -> None:
    query = FakeQuery()
    assert running(with_new_progress(Tally(), query)).state == "starting"
    query.progresses += [
        progress(0, 10, at=0, lasted=0.5),
        progress(1, 20, at=1, lasted=0.5),
        progress(2, 5, at=2, lasted=0.5, source=lag(7, "1.5", is_exact=False), sink={"tooLargeRows": "2"}),
    ]
    status = running(with_new_progress(Tally(), query))
    expected = ["running", "epoch 2", "35 rows", "12 rows/s", "at least 7 behind (1.5 s)", "2 rows too large to show"]
    assert status.words() == expected
    assert running(with_new_progress(with_new_progress(Tally(), query), query)) == status
    shown = running(with_new_progress(Tally(), query), query.status).words()
    assert any("next epoch running, last ended" in word for word in shown)
