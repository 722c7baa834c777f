"""Repairs of checkpoints: refusals, and interrupted repairs, which leave a checkpoint that Spark reads correctly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import epochal
from epochal.tools.checkpoint.repair import START, fork, restore, rewind
from support.checkpoints import QUERY, SHAPES, of_kind, offsets_text, write


def contents(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def epochs(directory: Path, log: str) -> list[int]:
    return sorted(int(file.name) for file in (directory / log).iterdir() if file.name.isdigit())


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Ten epochs; the last one is not committed."""
    return write(tmp_path / "checkpoint", {n: offsets_text(str(n)) for n in range(10)}, range(9), checksums=True)


def test_a_rewind_removes_later_epochs_and_keeps_a_backup_of_all(checkpoint: Path) -> None:
    before = contents(checkpoint)
    plan = rewind(epochal.checkpoint(checkpoint), 6)
    assert contents(checkpoint) == before, "nothing is done before it is run"
    plan.run()
    assert contents(plan.backup) == before
    assert epochs(checkpoint, "offsets") == epochs(checkpoint, "commits") == list(range(7))
    assert contents(checkpoint).items() <= before.items()
    found = epochal.checkpoint(checkpoint)
    assert (found.next_start.epoch, found.next_start.replay) == (7, False)


class TornError(Exception):
    """Simulates a crash of the machine."""


@pytest.fixture
def tears(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of files that may still be removed, as a list of one item; after that a removal raises TornError."""
    left = [0]
    unlink = Path.unlink

    def limited(path: Path, *args: Any, **named: Any) -> None:
        if left[0] == 0:
            raise TornError
        left[0] -= 1
        unlink(path, *args, **named)

    monkeypatch.setattr(Path, "unlink", limited)
    return left


@pytest.mark.parametrize("removed", range(13))
def test_an_interrupted_rewind_leaves_a_checkpoint_and_is_completed_by_another(
    removed: int, tmp_path: Path, tears: list[int]
) -> None:
    place = write(tmp_path / "checkpoint", {n: offsets_text(str(n)) for n in range(6)}, range(5), checksums=True)
    rest = place / "epochal-rest"
    rest.mkdir()
    for epoch in range(6):
        (rest / str(epoch)).write_text("{}")
    plan = rewind(epochal.checkpoint(place), 2)
    tears[0] = removed
    with pytest.raises(TornError):
        plan.run()
    found = epochal.checkpoint(place)
    last = found.last_logged
    assert last is not None
    assert found.last_committed in (last, last - 1), "either of them is a state that Spark itself leaves"
    assert all(not epoch.problem for epoch in found.epochs)
    for log in ("offsets", "commits"):
        there = {file.name for file in (place / log).iterdir()}
        assert {name for name in there if name.endswith(".crc") and name[1:-4] not in there} == set()
    tears[0] = 100
    rewind(found, 2, stopped=True).run()
    assert [epochs(place, log) for log in ("offsets", "commits", "epochal-rest")] == [[0, 1, 2]] * 3


def test_a_rewind_repairs_a_damaged_last_epoch(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint", {0: offsets_text("1"), 1: offsets_text("2"), 2: ""}, [0, 1])
    assert epochal.checkpoint(place).next_start.epoch is None
    rewind(epochal.checkpoint(place), 1).run()
    assert epochal.checkpoint(place).next_start.epoch == 2


def test_a_rewind_to_the_start_begins_with_epoch_0_also_where_the_first_batch_was_torn(
    checkpoint: Path, tmp_path: Path
) -> None:
    rewind(epochal.checkpoint(checkpoint), START).run()
    assert epochs(checkpoint, "offsets") == epochs(checkpoint, "commits") == []
    assert (epochal.checkpoint(checkpoint).query_id, epochal.checkpoint(checkpoint).next_start.epoch) == (QUERY, 0)
    torn = write(tmp_path / "torn", {}, [])
    (torn / "offsets" / ".0.4c9a.tmp").write_text("v1\n{")
    (problem,) = epochal.checkpoint(torn).problems
    assert "--to start" in problem
    rewind(epochal.checkpoint(torn), START).run()
    assert list((torn / "offsets").iterdir()) == []
    assert epochal.checkpoint(torn).problems == ()
    with pytest.raises(epochal.RepairError, match="nothing to rewind"):
        rewind(epochal.checkpoint(torn), START)


def test_a_rewind_to_an_epoch_that_spark_cannot_resume_is_refused(tmp_path: Path) -> None:
    place = write(tmp_path / "checkpoint", {n: offsets_text(str(n)) for n in range(5, 10)}, range(5, 9))
    found = epochal.checkpoint(place)
    for epoch in (5, 9):  # offsets/4 is gone; epoch 9 is the last one
        with pytest.raises(epochal.RepairError, match=r"REPAIR_REFUSED.*Nothing was changed"):
            rewind(found, epoch)
    with pytest.raises(epochal.CheckpointError, match="EPOCH_NOT_FOUND"):
        rewind(found, 3)
    assert rewind(found, 6).epoch == 6


def test_a_rewind_of_a_query_with_state_is_refused(checkpoint: Path) -> None:
    (checkpoint / "state" / "0").mkdir(parents=True)
    with pytest.raises(epochal.RepairError, match="state stores"):
        rewind(epochal.checkpoint(checkpoint), 6)


def test_a_rewind_that_needs_a_released_part_of_the_journal_is_refused(tmp_path: Path) -> None:
    def offset(records: int) -> str:
        segment = {"name": "0000000000000000000-run-1.seg", "from": 0, "until": 20, "index": 1, "bytes": 1, "crc": "0"}
        fields = {"v": 2, "format": "epochal-rest", "source": "s", "records": records, "segments": [segment]}
        return json.dumps(fields)

    texts = {n: offsets_text(offset(10 * (n + 1))) for n in range(4)}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, range(4)))
    with pytest.raises(epochal.RepairError, match=r"sources/0/journal/0000000000000000000-run-1.seg is missing"):
        rewind(found, 0)
    assert rewind(found, 1).epoch == 1, "at the end of a segment the rest of it is not needed"
    journal = tmp_path / "checkpoint" / "sources" / "0" / "journal"
    journal.mkdir(parents=True)
    (journal / "0000000000000000000-run-1.seg").write_bytes(b"x")
    assert rewind(found, 0).epoch == 0


@pytest.mark.parametrize("repair", ["rewind", "fork"])
def test_a_recently_written_checkpoint_is_refused_unless_its_query_is_declared_stopped(
    repair: str, tmp_path: Path
) -> None:
    texts = {n: offsets_text(str(n)) for n in range(3)}
    found = epochal.checkpoint(write(tmp_path / "checkpoint", texts, range(3), age=5))

    def plan(stopped: bool) -> object:
        copy = tmp_path / "copy"
        return rewind(found, 1, stopped=stopped) if repair == "rewind" else fork(found, copy, stopped=stopped)

    with pytest.raises(epochal.RepairError, match=r"seems to use .* it was written \d s ago"):
        plan(stopped=False)
    assert plan(stopped=True)


def test_a_checkpoint_that_changed_since_it_was_read_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    found = epochal.checkpoint(checkpoint)
    back, copy = rewind(found, 6), fork(found, tmp_path / "copy")
    (checkpoint / "commits" / "9").write_text("v1\n{}")
    before = contents(checkpoint)
    for plan in (back, copy):
        with pytest.raises(epochal.RepairError, match="seems to use"):
            plan.run()
    assert contents(checkpoint) == before
    assert not (tmp_path / "copy").exists()


def test_a_fork_is_another_query_with_the_same_position(tmp_path: Path) -> None:
    place = of_kind(tmp_path / "checkpoint", "epochal-rest")
    (place / "sources" / "0").mkdir(parents=True)
    (place / "sources" / "0" / "initial-offset").write_text("0")
    before = contents(place)
    plan = fork(epochal.checkpoint(place), tmp_path / "copy")
    plan.run()
    copied, found = epochal.checkpoint(tmp_path / "copy"), epochal.checkpoint(place)
    assert copied.query_id == plan.query_id != QUERY
    assert [epoch.sources for epoch in copied.epochs] == [epoch.sources for epoch in found.epochs]
    assert {name: text for name, text in contents(tmp_path / "copy").items() if name != "metadata"} == {
        name: text for name, text in before.items() if name != "metadata"
    }
    assert contents(place) == before


def test_a_fork_of_the_same_query_keeps_its_id(tmp_path: Path) -> None:
    found = epochal.checkpoint(of_kind(tmp_path / "checkpoint", "files"))
    fork(found, tmp_path / "copy", same_query=True).run()
    assert epochal.checkpoint(tmp_path / "copy").query_id == QUERY


def test_a_fork_never_overwrites_and_never_goes_into_the_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    found = epochal.checkpoint(checkpoint)
    (tmp_path / "there").mkdir()
    for copy in (tmp_path / "there", checkpoint / "copy"):
        with pytest.raises(epochal.RepairError, match=r"REPAIR_REFUSED"):
            fork(found, copy)


def test_an_interrupted_fork_leaves_no_copy(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        raise TornError

    plan = fork(epochal.checkpoint(checkpoint), tmp_path / "copy")
    monkeypatch.setattr("epochal.tools.checkpoint.files.sync", fails)
    with pytest.raises(TornError):
        plan.run()
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("kind", SHAPES)
def test_a_checkpoint_of_any_source_can_be_rewound(kind: str, tmp_path: Path) -> None:
    rewind(epochal.checkpoint(of_kind(tmp_path / "checkpoint", kind)), 1).run()
    assert epochal.checkpoint(tmp_path / "checkpoint").next_start.epoch == 2


def set_aside(checkpoint: Path, epoch: int, millis: int, text: str) -> None:
    aside = checkpoint / "epochal-offsets"
    aside.mkdir(exist_ok=True)
    (aside / f"{epoch}-{millis}").write_text(text, "utf-8")
    (aside / f".{epoch}-{millis}.crc").write_bytes(b"aside")


def test_offsets_that_were_set_aside_are_put_back_with_their_checksum(checkpoint: Path) -> None:
    set_aside(checkpoint, 9, 17, offsets_text("other"))
    before = contents(checkpoint)
    plan = restore(epochal.checkpoint(checkpoint), 9)
    assert contents(checkpoint) == before, "nothing is done before it is run"
    plan.run()
    after = contents(checkpoint)
    assert (after["offsets/9"], after["offsets/.9.crc"]) == (offsets_text("other").encode(), b"aside")
    (aside,) = (checkpoint / "epochal-offsets").glob("9-*")
    assert after[f"epochal-offsets/{aside.name}"] == before["offsets/9"]
    assert after[f"epochal-offsets/.{aside.name}.crc"] == before["offsets/.9.crc"]


def test_of_several_entries_the_ledgers_hash_or_a_name_chooses(checkpoint: Path) -> None:
    for millis in (17, 18):
        set_aside(checkpoint, 9, millis, offsets_text(f"at {millis}"))
    (checkpoint / "offsets" / "9").unlink()
    found = epochal.checkpoint(checkpoint)
    with pytest.raises(epochal.RepairError, match=r"9-17 .*9-18 .*--entry"):
        restore(found, 9)
    with pytest.raises(epochal.RepairError, match="No offsets of epoch 7"):
        restore(found, 7)
    assert restore(found, 9, entry="9-18").entry.name == "9-18"
    set_aside(checkpoint, 8, 19, offsets_text("at 17"))
    restore(found, 8).run()
    known = epochal.checkpoint(checkpoint).epoch(8).offsets_hash
    assert restore(epochal.checkpoint(checkpoint), 9, offsets_hash=known, stopped=True).entry.name == "9-17"


def test_a_rewind_to_acknowledged_rows_that_were_removed_is_refused(tmp_path: Path) -> None:
    def offset(row: int) -> str:
        return json.dumps({"v": 1, "format": "epochal-ingest", "source": "s", "row": row})

    place = write(tmp_path / "checkpoint", {n: offsets_text(offset(10 * (n + 1))) for n in range(4)}, range(4))
    found = epochal.checkpoint(place)
    journal = place / "sources" / "0" / "ingest"
    journal.mkdir(parents=True)
    for first in (20, 35):
        name = f"{1:019}-{first:09}-{0:032}.ack"
        (journal / name).write_bytes(b"EPOCHALA" + (1).to_bytes(4, "big") + first.to_bytes(8, "big") + b"rest")
    for epoch, row in ((0, "10"), (START, "0")):
        with pytest.raises(epochal.RepairError, match=f"sources/0/ingest no longer has the rows {row} to 20"):
            rewind(found, epoch)
    assert rewind(found, 1).epoch == 1
    for file in journal.iterdir():
        file.unlink()
    with pytest.raises(epochal.RepairError, match="sources/0/ingest no longer has the rows 20 to 40"):
        rewind(found, 1)
