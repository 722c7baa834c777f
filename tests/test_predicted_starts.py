"""Predictions of ``epochal status`` over damaged checkpoints, compared with real starts; its remedies are typed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal.__main__ import main
from epochal.tools.checkpoint.comparison import Comparison
from epochal.tools.checkpoint.repair import fork
from support.api import Api
from support.checkpoints import of_kind, offsets_text, quiet, row, write
from support.databases import Sqlite
from support.streams import finish, forget_last_commit
from support.waiting import until

ROWS = 40
LAST = 3
NAMES = re.compile(r"\b[A-Z]+(?:_[A-Z]+)+\b")


@dataclass(frozen=True)
class Query:
    """A query that writes ten rows in each epoch.

    Attributes:
        sink_id: in its options; in the ledger it is ``strings``.
    """

    spark: SparkSession
    checkpoint: Path
    database: Sqlite
    sink_id: str | None = "strings"
    table: str = "strings"
    read: Callable[[SparkSession, int], DataFrame] = lambda spark, rows: epochal.read.random(
        spark, rows_per_batch=10, max_rows=rows
    )
    output_mode: Literal["append", "complete"] = "append"

    def start(self, rows: int) -> int:
        """Runs it until there are ``rows`` rows; returns its first epoch."""
        with epochal.errors.named():
            query = epochal.write.jdbc(
                self.read(self.spark, rows),
                self.database.url,
                table=self.table,
                create_table=True,
                checkpoint=self.checkpoint,
                sink_id=self.sink_id,
                trigger="availableNow",
                output_mode=self.output_mode,
            )
            finish(query)
        return int(query.recentProgress[0]["batchId"])

    def compared(self) -> Comparison:
        return epochal.checkpoint(self.checkpoint).compare(epochal.ledger(self.database.url))

    def ids(self) -> list[int]:
        return [number for (number,) in self.database.query("SELECT id FROM strings ORDER BY id")]


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Query:
    """A query that has finished its epochs 0 to LAST."""
    directory = tmp_path_factory.mktemp("whole")
    query = Query(spark, directory / "checkpoint", Sqlite(directory / "test.db"))
    query.start(ROWS)
    quiet(query.checkpoint)
    return query


@pytest.fixture
def query(whole: Query, tmp_path: Path) -> Query:
    return copy(whole, tmp_path)


def copy(query: Query, directory: Path) -> Query:
    # The last connection to an SQLite file moves its log into the file, and closes shortly after the query's end.
    until(lambda: not query.database.path.with_name("test.db-wal").exists(), "the database is one file")
    copied = replace(query, checkpoint=directory / "checkpoint", database=Sqlite(directory / "test.db"))
    shutil.copytree(query.checkpoint, copied.checkpoint)
    shutil.copy2(query.database.path, copied.database.path)
    return copied


def remove(file: Path) -> None:
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def put(file: Path, content: bytes) -> None:
    remove(file)
    file.write_bytes(content)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def append(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\n")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "missing": remove,
    "empty": lambda file: put(file, b""),
    "truncated": lambda file: put(file, file.read_bytes()[:-5]),
    "truncated, with its checksum": truncate,
    "edited, with its checksum": append,
    "garbage": lambda file: put(file, b"\x00\xff\x01garbage"),
    "of another version": lambda file: put(file, file.read_bytes().replace(b"v1\n", b"v9\n").replace(b"-", b"", 1)),
    "without its second half": lambda file: put(file, file.read_bytes()[: file.read_bytes().rfind(b"\n")]),
}
FILES = ["metadata", f"offsets/{LAST}", f"offsets/{LAST - 1}", "offsets/0", f"commits/{LAST}", f"commits/{LAST - 1}"]
#: One of each kind in the default suite.
QUICK = {
    ("metadata", "empty"),
    ("metadata", "missing"),
    (f"offsets/{LAST}", "truncated"),
    (f"offsets/{LAST - 1}", "missing"),
    (f"offsets/{LAST}", "edited, with its checksum"),
    ("offsets/0", "garbage"),
    (f"commits/{LAST}", "empty"),
    (f"commits/{LAST}", "of another version"),
    (f"commits/{LAST - 1}", "empty"),
}


def cases() -> Iterator[object]:
    for file in FILES:
        for damage in DAMAGES:
            for replay in (False, True):
                marks = () if (file, damage) in QUICK and not replay else pytest.mark.slow
                if not (replay and file == f"commits/{LAST}"):
                    yield pytest.param(file, damage, replay, marks=marks, id=f"{file} {damage}{' replay' * replay}")


@pytest.mark.parametrize(("file", "damage", "replay"), list(cases()))
def test_a_start_on_a_damaged_checkpoint_is_predicted(file: str, damage: str, replay: bool, query: Query) -> None:
    if replay:
        forget_last_commit(query.checkpoint)
    DAMAGES[damage](query.checkpoint / file)
    check(query)


@pytest.mark.parametrize("log", ["offsets", "commits", "sources"])
@pytest.mark.slow
def test_a_start_without_a_log_is_predicted(log: str, query: Query) -> None:
    shutil.rmtree(query.checkpoint / log)
    check(query)


def check(query: Query) -> None:
    """Compares the prediction with a start, then follows the remedy and starts again."""
    predicted = query.compared()
    epoch = epochal.checkpoint(query.checkpoint).next_start.epoch
    if predicted.healthy or "unless Spark plans the same offsets again" in predicted.next_start:  # as this source does
        assert query.start(ROWS + 10) == epoch
        assert query.ids() == [*range(ROWS + 10)]
        return
    with pytest.raises(Exception) as caught:  # noqa: PT011
        query.start(ROWS + 10)
    named = NAMES.findall(predicted.next_start)
    assert not named or getattr(caught.value, "condition", None) in named
    assert query.ids() == [*range(ROWS)]
    if follow(predicted.remedy, query.checkpoint):
        assert query.compared().healthy
        query.start(ROWS + 10)
        assert query.ids() == [*range(ROWS + 10)]


def follow(remedy: str, checkpoint: Path) -> bool:
    """Types the command at the end of a remedy; False if it has none."""
    _, found, command = remedy.rpartition(": ")
    if not found:
        return False
    if command.startswith("epochal "):
        assert main([*shlex.split(command)[1:], "--yes", "--stopped"]) == 0
    else:
        subprocess.run(["sh", "-ec", command], check=True, cwd=checkpoint)
    return True


@pytest.mark.parametrize("replay", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("damage", ["missing", pytest.param("truncated", marks=pytest.mark.slow)])
def test_a_start_on_a_damaged_journal_is_predicted(
    damage: str, replay: bool, spark: SparkSession, api: Api, tmp_path: Path
) -> None:
    def read(spark: SparkSession, rows: int) -> DataFrame:
        api.records = [{"id": number} for number in range(rows)]
        pages, limits = epochal.rest.Offset(size=10), epochal.Limits(rows=10)
        more = {"journal": "true"}
        return epochal.read.rest(spark, api.url, schema="id INT", pages=pages, limits=limits, options=more)

    query = Query(spark, tmp_path / "checkpoint", Sqlite(tmp_path / "test.db"), read=read)
    query.start(ROWS)
    quiet(query.checkpoint)
    if replay:
        forget_last_commit(query.checkpoint)
    DAMAGES[damage](max(query.checkpoint.glob("sources/0/journal/*.seg")))
    assert query.compared().healthy is not replay, "delivered rows are not read again"
    check(query)


@pytest.mark.parametrize("version", [1, LAST + 1])
@pytest.mark.parametrize("provider", ["HDFSBackedStateStoreProvider", "RocksDBStateStoreProvider"])
@pytest.mark.slow
def test_a_start_without_a_version_of_the_state_is_predicted(
    provider: str, version: int, spark: SparkSession, tmp_path: Path
) -> None:
    def read(spark: SparkSession, rows: int) -> DataFrame:
        return epochal.read.random(spark, rows_per_batch=10, max_rows=rows).groupBy("length").count()

    setting = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(setting, f"org.apache.spark.sql.execution.streaming.state.{provider}")
    try:
        (tmp_path / "first").mkdir()
        first = Query(
            spark, tmp_path / "first" / "checkpoint", Sqlite(tmp_path / "first" / "test.db"), read=read,
            output_mode="complete",
        )  # fmt: skip
        first.start(ROWS)
        query = copy(first, tmp_path)  # the executor keeps the state of the first one in memory
        assert query.compared().healthy
        for file in [*query.checkpoint.glob(f"state/0/0/{version}[._]*")]:
            remove(file)
        predicted = query.compared()
        if (version, provider) == (1, "RocksDBStateStoreProvider"):  # which stores the whole state each time
            assert query.start(ROWS + 10) == LAST + 1
            return
        assert predicted.next_start == f"Spark fails: state/0/0 has no version {version}."
        with pytest.raises(Exception, match=r"state|STATE"):
            query.start(ROWS + 10)
    finally:
        spark.conf.unset(setting)


def test_an_empty_last_commit_is_removed_and_its_epoch_skipped(query: Query) -> None:
    put(query.checkpoint / "commits" / str(LAST), b"")
    remedy = query.compared().remedy
    assert remedy == epochal.checkpoint(query.checkpoint).next_start.remedy
    assert remedy.startswith(f"Remove the file, and Spark replays epoch {LAST}")
    assert follow(remedy, query.checkpoint)
    assert query.compared().state == "sink ahead"


def test_a_torn_epoch_that_the_sink_lacks_is_planned_again(query: Query) -> None:
    last = forget_last_commit(query.checkpoint)
    put(query.checkpoint / "offsets" / str(last), b"v1\n")
    query.database.execute(
        f"DELETE FROM strings WHERE id >= {10 * last}",
        f"UPDATE epochal_ledger SET last_epoch = {last - 1}, offsets_hash = "
        f"(SELECT h.offsets_hash FROM epochal_ledger_history h WHERE h.epoch = {last - 1})",
    )
    assert follow(query.compared().remedy, query.checkpoint)
    assert query.start(ROWS) == last
    assert query.ids() == [*range(ROWS)]


def test_a_damaged_query_id_is_taken_from_the_ledger(query: Query) -> None:
    known = epochal.checkpoint(query.checkpoint).query_id
    put(query.checkpoint / "metadata", b"")
    found = epochal.checkpoint(query.checkpoint)
    assert found.next_start.explanation == "Spark fails: metadata cannot be read: it is empty."
    assert follow(query.compared().remedy, query.checkpoint)
    assert epochal.checkpoint(query.checkpoint).query_id == known


def test_a_commit_is_removed_only_if_the_sink_can_replay_its_epoch(query: Query) -> None:
    put(query.checkpoint / "commits" / str(LAST), b"")
    query.database.execute("UPDATE epochal_ledger SET last_epoch = 1")
    assert query.compared().remedy == "Restore the file from a backup of the checkpoint."


@pytest.mark.parametrize(
    ("sink_id", "table", "condition"),
    [
        ("strings", "strings", "QUERY_CHANGED"),
        (None, "strings", "TARGET_SHARED"),
        pytest.param(None, "others", "LEDGER_EMPTY", marks=pytest.mark.slow),
    ],
)
def test_a_copy_as_another_query_is_refused_as_predicted(
    sink_id: str | None, table: str, condition: str, query: Query, tmp_path: Path
) -> None:
    plan = fork(epochal.checkpoint(query.checkpoint), tmp_path / "copy")
    plan.run()
    other = replace(query, checkpoint=tmp_path / "copy", sink_id=sink_id, table=table)
    predicted = other.compared()
    assert (predicted.state, predicted.healthy) == ("not in the ledger", False)
    assert condition in NAMES.findall(predicted.next_start)
    ledger = epochal.ledger(query.database.url)
    exactly = epochal.checkpoint(other.checkpoint).compare(ledger.sink("strings"))
    assert NAMES.findall(exactly.next_start) == ["QUERY_CHANGED"]
    with pytest.raises(epochal.SinkIdentityError, match=condition):
        other.start(ROWS + 10)
    assert query.ids() == [*range(ROWS)]


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("DELETE FROM epochal_ledger", "LEDGER_EMPTY"),
        pytest.param("UPDATE epochal_ledger SET last_epoch = 1", "EPOCH_GAP", marks=pytest.mark.slow),
        pytest.param("UPDATE epochal_ledger SET last_epoch = 7", "EPOCH_REGRESSED", marks=pytest.mark.slow),
        pytest.param("UPDATE epochal_ledger SET last_epoch = 4", "EPOCH_OFFSETS_CHANGED", marks=pytest.mark.slow),
    ],
)
def test_a_start_on_a_changed_ledger_is_refused_as_predicted(change: str, condition: str, query: Query) -> None:
    query.database.execute(change)
    assert NAMES.findall(query.compared().next_start) == [condition]
    with pytest.raises(epochal.SinkError, match=condition):
        query.start(ROWS + 10)
    assert query.ids() == [*range(ROWS)]


def test_a_query_that_another_one_has_replaced_is_foreign(query: Query, tmp_path: Path) -> None:
    known = epochal.checkpoint(query.checkpoint).query_id
    query.database.execute(
        "INSERT INTO epochal_ledger_retired SELECT * FROM epochal_ledger",
        "UPDATE epochal_ledger SET query_id = 'other'",
    )
    predicted = query.compared()
    assert (predicted.state, NAMES.findall(predicted.next_start)) == ("foreign", ["QUERY_CHANGED"])
    assert f"the checkpoint of {known}" in predicted.explanation
    with pytest.raises(epochal.SinkIdentityError, match="QUERY_CHANGED"):
        query.start(ROWS + 10)


@pytest.mark.parametrize("committed", [0, 1])
def test_a_segment_of_the_journal_that_the_next_epoch_reads_is_missed(committed: int, tmp_path: Path) -> None:
    def offset(records: int) -> str:
        segments = [
            {"name": f"{number:019}-run-1.seg", "from": number, "until": number + 20, "bytes": 3} for number in (0, 20)
        ]
        fields = {"v": 2, "format": "epochal-rest", "source": "s", "records": records, "segments": segments}
        return json.dumps(fields)

    place = write(tmp_path / "place", {n: offsets_text(offset(20 + 10 * n)) for n in range(2)}, range(committed + 1))
    journal = place / "sources" / "0" / "journal"
    journal.mkdir(parents=True)
    (last := journal / f"{20:019}-run-1.seg").write_bytes(b"abc")
    assert epochal.checkpoint(place).next_start.epoch == committed + 1
    last.write_bytes(b"ab")
    found = epochal.checkpoint(place)
    said = f"Epoch {committed + 1} fails with DATA_LOSS: sources/0/journal/{last.name} has 2 of 3 bytes."
    assert found.next_start.explanation == said
    compared = found.compare(row(0, offsets_hash=found.epochs[0].offsets_hash))
    assert (compared.state, compared.next_start, compared.remedy) == ("broken", said, found.next_start.remedy)
    last.unlink()
    assert f"{last.name} is missing" in str(epochal.checkpoint(place))


def test_a_version_of_the_state_that_the_next_epoch_loads_is_missed(tmp_path: Path) -> None:
    place = of_kind(tmp_path / "place", "files")
    store = place / "state" / "0" / "1" / "left"
    store.mkdir(parents=True)
    for name in ("1.snapshot", "2.delta", "3_1f-2a.changelog", ".3.delta.crc"):
        (store / name).touch()
    assert epochal.checkpoint(place).next_start.epoch == 3
    (store / "2.delta").unlink()
    found = epochal.checkpoint(place)
    assert found.next_start.explanation == "Spark fails: state/0/1/left has no version 2."
    assert found.next_start.remedy == "Restore the file from a backup of the checkpoint."
