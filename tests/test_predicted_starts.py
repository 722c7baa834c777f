"""Predictions of ``epochal status`` over damaged checkpoints, compared with real starts; its remedies are typed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal.__main__ import main
from epochal.tools.checkpoint.comparison import Comparison
from epochal.tools.checkpoint.repair import fork
from support.checkpoints import quiet
from support.databases import Sqlite
from support.streams import finish, forget_last_commit

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

    def start(self, rows: int) -> int:
        """Runs it until there are ``rows`` rows; returns its first epoch."""
        frame = epochal.read.random(self.spark, rows_per_batch=10, max_rows=rows)
        with epochal.errors.named():
            query = epochal.write.jdbc(
                frame,
                self.database.url,
                table=self.table,
                create_table=True,
                checkpoint=self.checkpoint,
                sink_id=self.sink_id,
                trigger="availableNow",
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
    """A copy of it."""
    copied = Query(whole.spark, tmp_path / "checkpoint", Sqlite(tmp_path / "test.db"))
    shutil.copytree(whole.checkpoint, copied.checkpoint)
    shutil.copy2(whole.database.path, copied.database.path)
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
