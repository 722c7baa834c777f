"""``epochal status``, ``checkpoint`` and ``ledger``: from a problem to a resumed query with each row once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal.__main__ import main
from frozen.packing import unpack
from support.checkpoints import of_kind, quiet
from support.databases import Database
from support.places import ROOT
from support.streams import finish, numbers
from support.waiting import until


@dataclass(frozen=True)
class Said:
    """Result of a command.

    Attributes:
        code: its exit code.
    """

    code: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Epochal = Callable[..., Said]


@pytest.fixture
def epochal_command(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Epochal:
    """Runs a command in this process, in its own directory and without a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)

    def run(*arguments: str | Path | int) -> Said:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, error = capfd.readouterr()
        return Said(code, out, error)

    return run


@dataclass(frozen=True)
class Strings:
    """A query that writes random strings, ten in each epoch."""

    spark: SparkSession
    database: Database
    checkpoint: Path

    def login(self) -> list[str]:
        return ["--url", self.database.url, *(["--user", self.database.user] if self.database.user else [])]

    def begin(self, rows: int, trigger: str = "availableNow") -> StreamingQuery:
        frame = epochal.read.random(self.spark, rows_per_batch=10, max_rows=rows)
        return epochal.write.jdbc(
            frame,
            self.database.url,
            table="strings",
            create_table=True,
            user=self.database.user,
            checkpoint=self.checkpoint,
            trigger=trigger,
            sink_id="strings",
        )

    def write(self, rows: int) -> None:
        """Runs the query until there are ``rows`` rows in total."""
        try:
            with epochal.errors.named():
                finish(self.begin(rows))
        finally:
            quiet(self.checkpoint)

    def ids(self) -> list[int]:
        return [number for (number,) in self.database.query("SELECT id FROM strings ORDER BY id")]


@pytest.fixture
def strings(spark: SparkSession, database: Database, checkpoint: Path) -> Strings:
    return Strings(spark, database, checkpoint)


def test_status_refuses_a_limit_that_the_query_has_nothing_for(
    strings: Strings, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusal(*limit: str) -> tuple[int, str]:
        code = main(["status", str(strings.checkpoint), *limit])
        return code, capsys.readouterr().err

    strings.write(10)
    code, said = refusal("--max-behind", "10m")
    assert code == 1
    assert said.startswith("OPTION_INVALID: --max-behind is for queries with a source epochal-cdc")
    assert said.endswith("Leave --max-behind out.\n")
    code, said = refusal("--max-retained", "20GB")
    assert (code, said.partition(":")[0]) == (1, "OPTION_REQUIRED")
    said = refusal("--max-retained", "20GB", *strings.login())[1]
    assert said.startswith("OPTION_INVALID: --max-retained is for")
    for limit in ("ten", "10", "10x"):
        code, said = refusal("--max-behind", limit)
        assert (code, f"'{limit}' is not a time such as 10m or 90s" in said) == (2, True)
    assert "'20 apples' is not a size such as 20g or 512m" in refusal("--max-retained", "20 apples")[1]


def test_status_reports_a_query_that_is_in_step(strings: Strings, epochal_command: Epochal) -> None:
    strings.write(30)
    said = epochal_command("status", strings.checkpoint, *strings.login())
    assert said.code == 0, said
    assert "source 0    epochal-random: 30 rows" in said.out
    assert "state       in step" in said.out
    values = epochal_command("status", strings.checkpoint, *strings.login(), "--json").json
    assert (values["ledger"]["state"], values["ledger"]["sink_id"]) == ("in step", "strings")
    assert values["checkpoint"]["next_start"]["epoch"] == values["checkpoint"]["last_committed"] + 1


@pytest.mark.slow
def test_after_a_restored_database_a_rewind_lets_spark_read_the_gap_again(
    strings: Strings, epochal_command: Epochal
) -> None:
    strings.write(50)
    strings.database.execute(  # As in a backup from the time of epoch 1.
        "DELETE FROM strings WHERE id >= 20",
        "UPDATE epochal_ledger SET last_epoch = 1, offsets_hash = "
        "(SELECT h.offsets_hash FROM epochal_ledger_history h WHERE h.epoch = 1)",
    )
    with pytest.raises(epochal.EpochGapError, match="epochal checkpoint rewind"):
        strings.write(60)
    said = epochal_command("status", strings.checkpoint, *strings.login())
    assert said.code == 3, said
    assert "state       gap" in said.out
    assert f"epochal checkpoint rewind {strings.checkpoint} --to 1" in said.out
    command = ["checkpoint", "rewind", strings.checkpoint, "--to", 1, *strings.login()]
    refused = epochal_command(*command)
    assert (refused.code, "REPAIR_REFUSED" in refused.error, "--yes" in refused.error) == (1, True, True)
    assert numbers(strings.checkpoint, "commits")[-1] > 1
    done = epochal_command(*command, "--yes")
    assert done.code == 0, done
    assert epochal_command("status", strings.checkpoint, *strings.login()).code == 0
    strings.write(60)
    assert strings.ids() == list(range(60))


def test_a_rewind_before_the_ledgers_epoch_is_refused(strings: Strings, epochal_command: Epochal) -> None:
    strings.write(30)
    said = epochal_command("checkpoint", "rewind", strings.checkpoint, "--to", 0, *strings.login(), "--yes")
    assert said.code == 1
    assert "EPOCH_REGRESSED" in said.error
    assert "epochal ledger set strings --epoch 0" in said.error
    strings.write(40)
    assert strings.ids() == list(range(40))


@pytest.mark.slow
def test_epochs_are_written_again_after_their_rows_were_removed(strings: Strings, epochal_command: Epochal) -> None:
    strings.write(40)
    strings.database.execute("DELETE FROM strings WHERE id >= 20")
    arguments = ["--checkpoint", strings.checkpoint, *strings.login(), "--yes", "--stopped"]
    said = epochal_command("ledger", "set", "strings", "--epoch", 1, *arguments)
    assert said.code == 0, said
    assert epochal_command("status", strings.checkpoint, *strings.login(), "--json").json["ledger"]["state"] == "gap"
    said = epochal_command("checkpoint", "rewind", strings.checkpoint, "--to", 1, *strings.login(), "--yes")
    assert said.code == 0, said
    strings.write(40)
    assert strings.ids() == list(range(40))


def test_a_gap_that_was_loaded_by_hand_is_closed_by_set(strings: Strings, epochal_command: Epochal) -> None:
    strings.write(40)
    last = numbers(strings.checkpoint, "commits")[-1]
    strings.database.execute("UPDATE epochal_ledger SET last_epoch = 0")
    arguments = ["--checkpoint", strings.checkpoint, *strings.login(), "--yes", "--stopped", "--json"]
    said = epochal_command("ledger", "set", "strings", "--epoch", last, *arguments)
    assert said.code == 0, said
    backup = json.loads(Path(said.json["backup"]).read_text("utf-8"))
    assert (backup["sink_id"], backup["last_epoch"]) == ("strings", 0)
    found = epochal.checkpoint(strings.checkpoint)
    assert strings.database.query("SELECT last_epoch, offsets_hash FROM epochal_ledger") == [
        (last, found.epoch(last).offsets_hash)
    ]
    (strings.checkpoint / "commits" / str(last)).unlink()
    (strings.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
    strings.write(50)  # Replays the last epoch, which the sink recognises by its offsets.
    assert strings.ids() == list(range(50))


@pytest.mark.slow
def test_a_run_that_is_still_active_is_fenced_by_a_repair(strings: Strings, epochal_command: Epochal) -> None:
    strings.write(30)
    query = strings.begin(10_000, trigger="0 seconds")
    try:
        until(lambda: len(strings.ids()) > 60, "the query writes")
        row = epochal.ledger(strings.database.url, user=strings.database.user, spark=strings.spark).sink("strings")
        refused = epochal_command("ledger", "forget", "strings", *strings.login(), "--yes")
        assert (refused.code, "seems to write" in refused.error) == (1, True)
        stopped_at = 1
        arguments = ["--checkpoint", strings.checkpoint, *strings.login(), "--yes", "--stopped"]

        def repaired() -> bool:  # Refused if the row changes in between.
            said = epochal_command("ledger", "set", "strings", "--epoch", stopped_at, *arguments)
            return said.code == 0

        until(repaired, "the repair meets no commit")
        until(lambda: not query.isActive, "the query ends")
        assert isinstance(epochal.errors.from_spark(query.exception()), epochal.SinkFencedError)
        after = epochal.ledger(strings.database.url, user=strings.database.user, spark=strings.spark).sink("strings")
        assert (after.last_epoch, after.generation > row.generation) == (stopped_at, True)
    finally:
        query.stop()


@pytest.mark.slow
def test_a_sink_that_was_forgotten_is_loaded_again_from_the_beginning(
    strings: Strings, epochal_command: Epochal
) -> None:
    strings.write(30)
    shutil.rmtree(strings.checkpoint)
    with pytest.raises(epochal.SinkIdentityError, match=r"QUERY_CHANGED"):
        strings.write(30)
    strings.database.execute("DELETE FROM strings")
    shutil.rmtree(strings.checkpoint)
    said = epochal_command("ledger", "forget", "strings", *strings.login(), "--yes", "--stopped")
    assert said.code == 0, said
    assert epochal_command("ledger", "list", *strings.login(), "--json").json["sinks"] == []
    strings.write(40)
    assert strings.ids() == list(range(40))
    assert strings.database.query("SELECT generation, total_rows FROM epochal_ledger") == [(1, 40)]


@pytest.mark.slow
def test_a_ledger_row_that_changed_since_it_was_shown_is_not_repaired(strings: Strings) -> None:
    from epochal.tools.ledger import Change, change

    strings.write(20)
    where: dict[str, Any] = {"user": strings.database.user, "spark": strings.spark}
    shown = epochal.ledger(strings.database.url, **where).sink("strings")
    strings.write(30)
    before = strings.database.query("SELECT * FROM epochal_ledger")
    with pytest.raises(epochal.RepairError, match="has changed since it was read"):
        change(strings.database.url, Change(row=shown, applied=None), **where)
    assert strings.database.query("SELECT * FROM epochal_ledger") == before


def test_the_checkpoint_of_another_query_sets_nothing(
    strings: Strings, epochal_command: Epochal, tmp_path: Path
) -> None:
    strings.write(20)
    other = of_kind(tmp_path / "other", "epochal-random")
    arguments = ["--epoch", 1, "--checkpoint", other, *strings.login(), "--yes", "--stopped"]
    said = epochal_command("ledger", "set", "strings", *arguments)
    assert (said.code, "belongs to query" in said.error) == (1, True)


def test_ledger_list_and_show_print_the_ledger(strings: Strings, epochal_command: Epochal) -> None:
    strings.write(30)
    listed = epochal_command("ledger", "list", *strings.login())
    assert listed.code == 0, listed
    assert "strings" in listed.out.splitlines()[2]
    shown = epochal_command("ledger", "show", "strings", *strings.login())
    assert "in all      30 rows in" in shown.out
    missing = epochal_command("ledger", "show", "other", *strings.login())
    assert (missing.code, missing.error.splitlines()[0].split(":")[0]) == (1, "SINK_NOT_FOUND")


def test_commands_on_sqlite_and_local_checkpoints_need_neither_java_nor_pyspark(tmp_path: Path) -> None:
    unpack(ROOT / "tests/frozen/0.1.0/sqlite-inline-append.tar.xz", tmp_path)
    without = (
        "import sys; sys.modules['pyspark'] = None; from epochal.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    url = f"jdbc:sqlite:{tmp_path / 'target.db'}"
    for arguments in (["ledger", "list", "--url", url], ["status", str(tmp_path / "checkpoint"), "--url", url]):
        done = subprocess.run(
            [sys.executable, "-c", without, *arguments],
            env=os.environ | {"JAVA_HOME": str(tmp_path / "nowhere")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) in ((0, ""), (3, "")), done.stderr
        assert "epoch" in done.stdout


def test_a_database_without_a_ledger_is_an_error(strings: Strings, epochal_command: Epochal) -> None:
    strings.database.execute("CREATE TABLE unrelated (id INTEGER)")
    said = epochal_command("ledger", "list", *strings.login(), "--json")
    assert (said.code, said.json["error"]["condition"]) == (1, "LEDGER_NOT_FOUND")


def test_show_lists_epochs_and_diff_counts_between_them(tmp_path: Path, epochal_command: Epochal) -> None:
    place = of_kind(tmp_path / "place", "epochal-rest", committed=1)
    shown = epochal_command("checkpoint", "show", place)
    assert (shown.code, shown.out.splitlines()[-1].split(maxsplit=2)) == (
        0,
        ["2", "logged", "epochal-rest: 30 records"],
    )
    one = epochal_command("checkpoint", "show", place, "--epoch", 1)
    assert '"records":20' in one.out
    assert epochal_command("checkpoint", "diff", place, 0, 2, "--json").json["sources"][0]["delivered"] == 20


def test_a_fork_is_copied_as_another_query(tmp_path: Path, epochal_command: Epochal) -> None:
    place = of_kind(tmp_path / "place", "files")
    said = epochal_command("checkpoint", "fork", place, tmp_path / "copy", "--yes", "--json")
    assert said.code == 0, said
    assert epochal.checkpoint(tmp_path / "copy").query_id == said.json["query_id"]


def test_a_question_on_a_terminal_is_answered_with_y(
    tmp_path: Path, epochal_command: Epochal, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = of_kind(tmp_path / "place", "files")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for answer, code in (("\n", 1), ("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin.readline", lambda answer=answer: answer, raising=False)
        said = epochal_command("checkpoint", "rewind", place, "--to", 1)
        assert said.code == code, said
        assert "will remove epoch 2 from them" in said.out
    assert numbers(place, "offsets") == [0, 1]


def test_a_place_without_a_checkpoint_is_a_readable_error(tmp_path: Path, epochal_command: Epochal) -> None:
    said = epochal_command("status", tmp_path / "missing")
    assert (said.code, said.out) == (1, "")
    assert said.error.startswith("CHECKPOINT_NOT_FOUND: There is no checkpoint at")
