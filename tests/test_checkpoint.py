"""Checkpoints as values, of any source and sink, whole and damaged, and their comparison with a ledger."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal.tools.checkpoint.comparison import State
from epochal.tools.checkpoint.kinds import words
from epochal.tools.ledger import DatabaseLedger, LedgerRow
from support.checkpoints import QUERY, SHAPES, commit_text, of_kind, offset, offsets_text, row, write
from support.databases import Database
from support.streams import finish, forget_last_commit, numbers


@pytest.mark.parametrize("kind", SHAPES)
def test_a_source_of_every_kind_is_recognised_by_its_offsets(kind: str, tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", kind))
    assert (found.query_id, found.last_logged, found.last_committed) == (QUERY, 2, 2)
    (source,) = found.epochs[-1].sources
    assert (source.kind, source.offset) == (kind, offset(kind, 30))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("epochal-rest", "1,000 records"),
        ("epochal-random", "1,000 rows"),
        ("Kafka", "clicks: 1,005 offsets in 2 partitions"),
        ("files", "the files of 1,001 polls"),
        ("a counter", "position 1,000"),
        ("unknown", "at-1000"),
    ],
)
def test_an_offset_is_described_in_plain_words(kind: str, expected: str) -> None:
    assert words(offset(kind, 1000)) == expected


def test_the_summary_shows_query_epochs_sources_watermark_and_next_start(tmp_path: Path) -> None:
    texts = {n: offsets_text(offset("epochal-rest", 10 * n), "-", watermark=1767225600123) for n in range(3)}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, [0, 1]))
    (tmp_path / "checkpoint" / "state" / "0").mkdir(parents=True)
    assert (
        str(found).splitlines()
        == repr(found).splitlines()
        == [
            f"Checkpoint {tmp_path / 'checkpoint'}",
            f"  query       {QUERY}",
            "  epochs      0 to 2 are kept; the last one logged is 2, committed 1",
            "  source 0    epochal-rest: 20 records",
            "              https://api.example.com/comments (offset)",
            "  source 1    nothing yet",
            "  watermark   2026-01-01 00:00:00.123 UTC",
            "  next start  Spark replays epoch 2, up to its logged offsets.",
        ]
    )
    assert epochal.checkpoint(tmp_path / "checkpoint").has_state


def test_a_checkpoint_is_a_value_and_does_not_change(tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "files"))
    assert found == epochal.checkpoint(tmp_path / "checkpoint")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.query_id = "another"  # type: ignore[misc]


def test_sources_that_are_logged_by_name_keep_their_names(tmp_path: Path) -> None:
    text = offsets_text("10:7", f"orders:{offset('Kafka', 3)}", "2:-", version="v2")
    found = epochal.checkpoint(write(tmp_path / "checkpoint", {0: text}, [0]))
    assert [(source.name, source.offset) for source in found.epochs[0].sources] == [
        ("2", "-"),
        ("10", "7"),
        ("orders", offset("Kafka", 3)),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("v1", "it ends after its first line"),
        ('v1\n{"batchWaterm', "its second line is not JSON: the file is torn"),
        (offsets_text('{"v":1,"format":"epochal-r'), "the offset of source 0 is not JSON: the file is torn"),
        (offsets_text("0:{}", "1", version="v2"), "a line has no name of a source: the file is torn"),
        (offsets_text("7", version="v9"), "it is of version v9, and v1 and v2 are known"),
        ("\x00\x00\x00\x00", "it does not begin with a version"),
    ],
)
def test_a_damaged_file_and_the_failing_start_are_reported(text: str, reason: str, tmp_path: Path) -> None:
    texts = {0: offsets_text("1"), 1: offsets_text("2"), 2: text}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, [0, 1]))
    assert found.epochs[2].problem == f"offsets/2 cannot be read: {reason}"
    assert found.next_start.epoch is None
    assert f"  problem     offsets/2 cannot be read: {reason}" in str(found).splitlines()
    compared = found.compare(row(1))
    assert (compared.state, compared.healthy) == ("broken", False)
    assert f"epochal checkpoint rewind {found.path} --to 1" in compared.remedy


def test_an_empty_commit_is_a_damaged_file_too(tmp_path: Path) -> None:
    texts = {n: offsets_text(str(n)) for n in range(2)}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, {0: commit_text(), 1: ""}))
    assert found.epochs[1].problem == "commits/1 cannot be read: it is empty"
    assert found.next_start.epoch is None


def test_offsets_that_are_missing_before_the_last_ones_stop_the_query(tmp_path: Path) -> None:
    found = epochal.checkpoint(write(tmp_path / "checkpoint", {5: offsets_text("1")}, [5]))
    assert found.next_start.explanation == "Spark fails: offsets/4 is missing."


@pytest.mark.parametrize("name", ["missing", "other"])
def test_a_place_without_a_checkpoint_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(epochal.CheckpointError, match=rf"CHECKPOINT_NOT_FOUND.*{name}"):
        epochal.checkpoint(tmp_path / name)


def test_a_missing_epoch_is_an_error_that_lists_the_existing_ones(tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "files"))
    with pytest.raises(epochal.CheckpointError, match=r"EPOCH_NOT_FOUND.*no epoch 7: it has epochs 0 to 2"):
        found.epoch(7)


def test_a_place_on_another_file_system_needs_a_session() -> None:
    with pytest.raises(epochal.OptionError, match=r"OPTION_REQUIRED.*s3a://bucket/checkpoint"):
        epochal.checkpoint("s3a://bucket/checkpoint")


def test_the_difference_between_two_epochs_counts_delivered_rows(tmp_path: Path) -> None:
    texts = {n: offsets_text(offset("epochal-rest", 10 * n), "-", watermark=1000 * n) for n in range(3)}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, [0, 1, 2]))
    assert str(found.diff(0, 2)).splitlines() == [
        "From the end of epoch 0 to the end of epoch 2",
        "  source 0    epochal-rest: 0 records",
        "           → epochal-rest: 20 records  (+20)",
        "  source 1    nothing yet",
        "           → the same",
        "  watermark  +2.000 s",
    ]


@pytest.mark.parametrize(
    ("committed", "last", "state", "error"),
    [
        (2, 2, "in step", None),
        (1, 1, "in step", None),
        (1, 2, "sink ahead", None),
        (2, 0, "gap", "EPOCH_GAP"),
        (1, 0, "gap", "EPOCH_GAP"),
        (2, 4, "rewound", "EPOCH_REGRESSED"),
        (2, 3, "rewound", "EPOCH_OFFSETS_CHANGED"),
        (2, None, "not in the ledger", "LEDGER_EMPTY"),
    ],
)
def test_a_checkpoint_and_a_ledger_are_compared_as_the_sink_will(
    committed: int, last: int | None, state: State, error: str | None, tmp_path: Path
) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "epochal-rest", committed=committed))
    compared = found.compare(row(last))
    assert compared.state == state
    assert compared.healthy == (error is None)
    assert error is None or error in compared.next_start
    assert bool(compared.remedy) == (error is not None)


@pytest.mark.parametrize("trigger", ["continuous", "real-time"])
@pytest.mark.parametrize(("committed", "last"), [(2, 2), (1, 1), (2, 0), (2, 4)])
def test_of_a_sink_that_stores_rows_before_their_epoch_ends_nothing_is_said_that_holds_for_micro_batches_only(
    committed: int, last: int, trigger: str, tmp_path: Path
) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "epochal-rest", committed=committed))
    compared = found.compare(row(last, trigger_mode=trigger))
    assert "ledger set" not in compared.remedy
    assert not compared.healthy or "may be in the table already" in compared.explanation
    counted = found.compare(row(last, trigger_mode=trigger, rows_beyond=112))
    assert not counted.healthy or "The table has 112 rows of the next one already" in counted.explanation
    assert "of the next one" not in found.compare(row(last, trigger_mode=trigger, rows_beyond=0)).explanation


def test_where_the_ledger_is_lost_it_is_said_that_an_epoch_may_be_stored_in_part(tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "epochal-rest"))
    assert "If some are, as after a continuous or real-time run" in found.compare(None).remedy


def test_placeholders_of_a_url_are_shown_as_it_has_them(tmp_path: Path) -> None:
    offset = {"v": 3, "format": "epochal-rest", "source": "http://a/%7Brepo%7D (link)", "records": 7, "members": []}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", {0: offsets_text(json.dumps(offset))}, [0]))
    assert "http://a/{repo} (link)" in str(found)


def test_a_ledger_of_another_query_is_foreign(tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "epochal-rest"))
    compared = found.compare(row(2, query_id="another"))
    assert (compared.state, compared.healthy) == ("foreign", False)
    assert "onNewQuery=append:another" in compared.remedy


def ledger_of(*rows: LedgerRow) -> DatabaseLedger:
    return DatabaseLedger(place="jdbc:sqlite:test.db", rows=rows)


@pytest.mark.parametrize("committed", [1, 2])
@pytest.mark.parametrize(
    ("ends", "identity"),
    [
        ({"a": 2, "b": 0}, "id-of-a"),
        ({"a": 2}, "id-of-a"),
        ({"b": 0}, "<id>"),
        ({"a": 2, "b": 2}, "<id>"),
        ({}, "<id>"),
    ],
)
def test_the_id_of_another_query_over_the_same_source_is_never_written(
    ends: dict[str, int], identity: str, committed: int, tmp_path: Path
) -> None:
    place = of_kind(tmp_path / "my job", "epochal-rest", committed=committed)
    (place / "metadata").write_text("")
    found = epochal.checkpoint(place)
    hashes = [epoch.offsets_hash for epoch in found.epochs]
    rows = [
        row(last, sink_id=name, target=f"public.{name}", query_id=f"id-of-{name}", offsets_hash=hashes[last])
        for name, last in ends.items()
    ]
    remedy = found.compare(ledger_of(*rows)).remedy
    _, _, command = remedy.rpartition(": ")
    subprocess.run(["sh", "-ec", command], check=True)
    assert (place / "metadata").read_text() == f'{{"id":"{identity}"}}\n'
    listed = ", ".join(f"{name} (public.{name})" for name in ends)
    assert (f"its sink may be {listed})" if ends and identity == "<id>" else "may be") in f"{remedy} may be"
    for one in rows:
        assert (f'"id":"{one.query_id}"' in found.compare(one).remedy) == (one.last_epoch == 2)


def test_remedies_of_a_checkpoint_that_is_not_local_change_no_local_files(tmp_path: Path) -> None:
    place = of_kind(tmp_path / "place", "epochal-rest")
    (place / "commits/2").write_text("")
    for damaged, remedy in (
        ("commits/2", "Remove the file hdfs://n/c/commits/2, and Spark replays epoch 2, "),
        ("offsets/2", "Restore the file from a backup of the checkpoint. Or, if the sink has nothing after epoch 1, "),
        ("metadata", "Restore the file from a backup of the checkpoint."),
    ):
        (place / damaged).write_text("")
        remote = dataclasses.replace(epochal.checkpoint(place), path="hdfs://n/c").next_start.remedy
        assert remote.startswith(remedy)
        assert not {"rm", "echo", "rewind hdfs"} & {*remote.split()}


def test_names_in_commands_are_quoted(tmp_path: Path) -> None:
    place = of_kind(tmp_path / "my job", "epochal-rest")
    found = epochal.checkpoint(place)
    assert f"epochal checkpoint rewind '{place}' --to 0. Or " in found.compare(row(0)).remedy
    rewound = found.compare(row(4, sink_id="it's")).remedy
    assert shlex.split(rewound.partition("table: ")[2]) == shlex.split(
        f"epochal ledger set \"it's\" --epoch 2 --checkpoint '{place}' --url …"
    )
    assert "epochal ledger forget 'a b' --url" in found.compare(row(2, sink_id="a b", query_id="another")).remedy
    remote = dataclasses.replace(found, path="s3a://b/c").compare(row(0)).remedy
    assert "epochal checkpoint rewind <copy> --to 0, on a local copy, and copy it back. Or" in remote


def test_a_new_query_beside_many_sinks_has_a_short_prediction(tmp_path: Path) -> None:
    rows = [row(2, sink_id=f"s{n}", query_id=f"query {n}") for n in range(30)]
    known = "(epochal ledger list): then QUERY_CHANGED or TARGET_SHARED."
    for epochs, refused in (
        (0, "The first epoch adds the query to the ledger"),
        (1, "The sink refuses it: LEDGER_EMPTY"),
    ):
        texts = {n: offsets_text("1") for n in range(epochs)}
        found = epochal.checkpoint(write(tmp_path / f"{epochs} epochs", texts, range(epochs)))
        start = found.compare(ledger_of(*rows)).next_start
        assert start == f"{refused}, unless its sinkId or table is that of a known sink {known}"


@pytest.mark.parametrize("committed", [1, 2])
def test_an_epoch_with_other_offsets_in_the_ledger_is_reported(committed: int, tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "epochal-rest", committed=committed))
    assert found.compare(row(2, offsets_hash="0" * 32)).state == "changed"
    assert found.compare(row(2, offsets_hash=found.epochs[2].offsets_hash)).healthy


def test_a_checkpoint_that_has_not_begun_fits_an_empty_ledger(tmp_path: Path) -> None:
    found = epochal.checkpoint(write(tmp_path / "checkpoint", {}, []))
    assert found.next_start.epoch == 0
    assert found.compare(None).healthy
    assert found.compare(row(None)).healthy


Start = Callable[[], None]


@pytest.fixture
def start(spark: SparkSession, database: Database, checkpoint: Path) -> Start:
    """Writes 30 rows in three epochs, except those that are there already."""

    def run() -> None:
        rows = epochal.read.random(spark, rows_per_batch=10, max_rows=30)
        finish(
            epochal.write.jdbc(
                rows,
                database.url,
                table="strings",
                create_table=True,
                user=database.user,
                checkpoint=checkpoint,
                sink_id="strings",
                trigger="availableNow",
            )
        )

    return run


def test_a_query_that_ran_is_in_step_and_after_a_crash_its_sink_is_ahead_by_one_epoch(
    start: Start, spark: SparkSession, database: Database, checkpoint: Path
) -> None:
    start()
    found = epochal.checkpoint(checkpoint)
    ledger = epochal.ledger(database.url, user=database.user, spark=spark)
    last = numbers(checkpoint, "commits")[-1]
    entry = ledger.sink("strings")
    assert epochal.ledger(database.url, user=database.user) == ledger
    assert ledger.find(found.query_id) == entry
    assert (entry.last_epoch, entry.total_rows) == (last, 30)
    assert [line.epoch for line in entry.history] == list(range(last, -1, -1))
    assert entry.offsets_hash == found.epochs[-1].offsets_hash
    assert abs((entry.updated_at - datetime.now(timezone.utc)).total_seconds()) < 300
    assert found.compare(entry).state == "in step"
    forget_last_commit(checkpoint)
    assert epochal.checkpoint(checkpoint).compare(entry).state == "sink ahead"
    start()
    assert database.query("SELECT count(*) FROM strings") == [(30,)]


def test_a_checkpoint_reads_the_same_with_and_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    first = write(
        tmp_path / "first",
        {
            0: offsets_text(offset("epochal-rest", 10), "-", watermark=5),
            1: offsets_text("b:7", f"10:{offset('Kafka', 3)}", "2:-", version="v2"),
            2: offsets_text('{"torn'),
        },
        {0: commit_text(7), 1: commit_text(version="v2"), 3: ""},
    )
    second = write(tmp_path / "second", {}, [], query_id=None)
    for place in (first, second):
        assert rounded(epochal.checkpoint(place, spark=spark)) == rounded(epochal.checkpoint(place))


def rounded(found: epochal.Checkpoint) -> epochal.Checkpoint:
    """Truncates times to milliseconds, as Hadoop does, and does not compare why there is no query id."""

    def milliseconds(when: datetime | None) -> datetime | None:
        return when.replace(microsecond=when.microsecond // 1000 * 1000) if when else None

    epochs = [
        dataclasses.replace(
            epoch, logged_at=milliseconds(epoch.logged_at), committed_at=milliseconds(epoch.committed_at)
        )
        for epoch in found.epochs
    ]
    return dataclasses.replace(found, epochs=tuple(epochs), problems=("some",) * bool(found.problems))


def test_the_format_returns_a_row_for_each_source_of_each_epoch(spark: SparkSession, tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint", {n: offsets_text(str(n), "-") for n in range(3)}, [0, 1])
    rows = epochal.read.checkpoint_log(spark, place)
    rows.createOrReplaceTempView("epochs")
    found = spark.sql("SELECT epoch, source, offset, committed FROM epochs WHERE epoch > 0 ORDER BY epoch, source")
    assert [tuple(one) for one in found.collect()] == [
        (1, 0, "1", True),
        (1, 1, None, True),
        (2, 0, "2", False),
        (2, 1, None, False),
    ]
    shutil.rmtree(place)
    with pytest.raises(epochal.CheckpointError, match="CHECKPOINT_NOT_FOUND"):
        epochal.read.checkpoint_log(spark, place).collect()
