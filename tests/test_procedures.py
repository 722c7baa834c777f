"""The procedures of ``docs/operations.md`` under every kind of trigger: afterwards the table has each row once.

``test_operations.py`` has those that repair a ledger by hand, ``test_frozen.py`` the move to a newer release.
"""

from __future__ import annotations

import io
import itertools
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyspark
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from epochal.__main__ import main
from epochal.jdbc import Ledger
from support.databases import Postgres, new_postgres
from support.positions import Position
from support.streams import numbers
from support.variants import variants
from support.waiting import until

MICRO = "200 milliseconds"
#: Tasks store rows in the middle of an epoch.
ENDLESS = ["continuous 1 second", *(["realTime 1 second"] if pyspark.__version__ >= "4.1" else [])]
SHORTEST = "spark.sql.streaming.realTimeMode.minBatchDuration"
NAMES = itertools.count()
PARTITIONS = 2

OWED = """SELECT sum(p.applied - b.delivered) FROM epochal_ledger
    JOIN epochal_ledger_progress p USING (sink_id, query_id)
    JOIN epochal_ledger_boundary b USING (sink_id, query_id, task_partition)
    WHERE b.epoch = (SELECT max(epoch) FROM epochal_ledger_boundary WHERE query_id = b.query_id)"""


@pytest.fixture(scope="module")
def own_database(postgres_server: str) -> str:
    """Connection string of a database that can be copied: no other module has sessions there."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE procedures")
    return make_conninfo(postgres_server, dbname="procedures")


@dataclass
class Scene:
    """A query that writes the numbers from 0 on, 200 per second, in two partitions."""

    spark: SparkSession
    database: Postgres
    checkpoint: Path
    trigger: str

    @property
    def endless(self) -> bool:
        return self.trigger in ENDLESS

    def start(self, ledger: Ledger | None = None, sink_id: str = "numbers") -> StreamingQuery:
        rows = epochal.read.random(self.spark, rows_per_second=200, num_partitions=PARTITIONS).select("id")
        return epochal.write.jdbc(
            rows,
            self.database.url,
            table="numbers",
            create_table=True,
            user=self.database.user,
            sink_id=sink_id,
            ledger=ledger,
            checkpoint=self.checkpoint,
            trigger=self.trigger,
        )

    def run(self, ledger: Ledger | None = None, epochs: int = 1) -> None:
        """Commits epochs and stores 100 rows, and stops; where tasks store rows, in the middle of an epoch."""
        rows, goal = len(self.ids()) + 100, max(numbers(self.checkpoint, "commits"), default=-1) + epochs
        while True:
            query = self.start(ledger)

            def there(query: StreamingQuery = query) -> bool:
                assert query.isActive, str(query.exception())
                done = len(self.ids()) >= rows and max(numbers(self.checkpoint, "commits"), default=-1) >= goal
                return done and (not self.endless or self.owed() >= 10)

            until(there, "rows")
            query.stop()
            if not self.endless or self.owed() > 0:
                return

    def owed(self) -> int:
        """The rows that are stored beyond the last committed epoch."""
        return int(self.database.query(OWED)[0][0] or 0)

    def refused(self, condition: str, **changes: Any) -> str:
        """Starts the query, which ends with this condition, and writes nothing; returns the hint."""
        before = self.ids()
        with pytest.raises(epochal.errors.EpochalError) as caught, epochal.errors.named():
            self.start(**changes).awaitTermination(60)
        assert caught.value.condition == condition
        assert self.ids() == before
        return str(caught.value)

    def ids(self) -> list[int]:
        if "numbers" not in self.database.tables():
            return []
        return [row[0] for row in self.database.query("SELECT id FROM numbers ORDER BY id")]

    def last_epoch(self) -> int:
        return int(self.database.query("SELECT last_epoch FROM epochal_ledger")[0][0])

    def command(self, *arguments: str | Path | int) -> None:
        assert main([str(one) for one in (*arguments, "--yes", "--stopped")]) == 0

    def login(self) -> list[str]:
        return ["--url", self.database.url, "--user", str(self.database.user)]

    def recreate_tables(self) -> None:
        """As a dump that is restored: all tables get other numbers."""
        for table in self.database.tables():
            self.database.execute(
                f"ALTER TABLE {table} RENAME TO left_behind",
                f"CREATE TABLE {table} (LIKE left_behind INCLUDING ALL)",
                f"INSERT INTO {table} SELECT * FROM left_behind",
                "DROP TABLE left_behind",
            )

    def back_up(self) -> Postgres:
        backup = new_postgres(self.database.server, f"{self.database.schema}_backup")
        for table in self.database.tables():
            backup.execute(f"CREATE TABLE {table} AS TABLE {self.database.schema}.{table}")
        return backup

    def restore(self, backup: Postgres) -> None:
        for table in backup.tables():
            self.database.execute(f"TRUNCATE {table}", f"INSERT INTO {table} SELECT * FROM {backup.schema}.{table}")


@pytest.fixture(params=variants([MICRO, *ENDLESS], {MICRO}))
def scene(spark: SparkSession, own_database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    spark.conf.set(SHORTEST, "500ms")
    yield Scene(spark, new_postgres(own_database, f"s{next(NAMES)}"), tmp_path / "checkpoint", request.param)
    spark.conf.unset(SHORTEST)


only_endless = pytest.mark.parametrize("scene", ENDLESS, indirect=True)
only_micro_batches = pytest.mark.parametrize("scene", [MICRO], indirect=True)


def is_complete(ids: list[int]) -> bool:
    """Whether each partition has its first rows, each once."""
    parts = [[one for one in ids if one % PARTITIONS == part] for part in range(PARTITIONS)]
    return all(rows == [part + PARTITIONS * n for n in range(len(rows))] for part, rows in enumerate(parts))


def accepted(hint: str) -> Ledger:
    match = re.search(r'on_new_query="(append:[\w-]+)"', hint)
    assert match, hint
    return Ledger(on_new_query=match[1])


@pytest.mark.slow
@pytest.mark.parametrize("scene", [one for one in ENDLESS if "realTime" in one], indirect=True)
def test_the_rows_beyond_the_last_epoch_are_counted(
    scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = scene.start()
    until(lambda: query.lastProgress is not None and scene.owed() >= 10, "rows of an epoch that has not ended")
    query.stop()
    file = io.StringIO()
    epochal.watch(query, file=file)
    stored, owed = len(scene.ids()), scene.owed()
    match = re.match(r"([\d,]+) rows in .* \(and ([\d,]+) rows? of epoch \d+ stored so far,", file.getvalue())
    assert match, file.getvalue()
    assert sum(int(part.replace(",", "")) for part in match.groups()) == stored
    for spark in (None, scene.spark):
        (row,) = epochal.ledger(scene.database.url, user=scene.database.user, spark=spark)
        assert (row.rows_beyond, row.total_rows + owed) == (owed, stored)
    assert main(["status", str(scene.checkpoint), *scene.login()]) == 0
    assert f"The table has {owed:,} row" in capsys.readouterr().out


def test_the_checkpoint_is_moved(scene: Scene, tmp_path: Path) -> None:
    scene.run()
    scene.checkpoint = scene.checkpoint.rename(tmp_path / "moved")
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
def test_the_database_is_moved_by_a_dump(scene: Scene) -> None:
    scene.run()
    scene.recreate_tables()
    scene.refused("TARGET_SHARED", sink_id="other")
    scene.run(accepted(scene.refused("TARGET_CHANGED")))
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
def test_the_database_is_moved_by_a_physical_copy(scene: Scene) -> None:
    scene.run()
    name = f"copy_{scene.database.schema}"
    with psycopg.connect(scene.database.server, dbname="postgres", autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'procedures'")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE procedures".encode())
    scene.database = Postgres(make_conninfo(scene.database.server, dbname=name), scene.database.schema)
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
@pytest.mark.parametrize("dump", [False, True], ids=["in place", "dump"])
def test_database_and_checkpoint_are_backed_up_and_restored_together(scene: Scene, dump: bool, tmp_path: Path) -> None:
    scene.run()
    saved = scene.back_up(), shutil.copytree(scene.checkpoint, tmp_path / "saved"), scene.ids()
    scene.run()
    scene.restore(saved[0])
    scene.checkpoint = saved[1]
    assert scene.ids() == saved[2]
    if dump:
        scene.recreate_tables()
        scene.run(accepted(scene.refused("TARGET_CHANGED")))
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
def test_a_database_that_went_back_gets_the_missing_rows_after_a_rewind_of_the_checkpoint(scene: Scene) -> None:
    scene.run()
    saved = scene.back_up()
    scene.run(epochs=3)
    scene.restore(saved)
    scene.refused("EPOCH_GAP")
    scene.command("checkpoint", "rewind", scene.checkpoint, "--to", scene.last_epoch())
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
@pytest.mark.parametrize("by_command", [False, True])
def test_everything_is_loaded_again_into_the_emptied_table(scene: Scene, by_command: bool, tmp_path: Path) -> None:
    scene.run()
    if by_command:
        scene.command("ledger", "forget", "numbers", *scene.login(), "--backup", tmp_path)
    else:
        for table in scene.database.tables():
            if table.startswith("epochal_ledger") and table != "epochal_ledger_lock":
                scene.database.execute(f"DELETE FROM {table} WHERE sink_id = 'numbers'")
    scene.database.execute("TRUNCATE numbers")
    scene.checkpoint = tmp_path / "new"
    scene.run()
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
@only_micro_batches
def test_everything_is_loaded_again_by_a_query_that_replaces_the_rows(scene: Scene, tmp_path: Path) -> None:
    scene.run()
    scene.checkpoint = tmp_path / "new"
    scene.run(Ledger(on_new_query="replace"))
    scene.run(Ledger(on_new_query="replace"))
    assert is_complete(scene.ids())


@pytest.mark.slow
def test_a_new_query_appends_its_rows_and_the_first_one_continues(scene: Scene, tmp_path: Path) -> None:
    scene.run()
    first, known = scene.checkpoint, Counter(scene.ids())
    scene.checkpoint = tmp_path / "new"
    append = accepted(scene.refused("QUERY_CHANGED"))
    scene.run(append)
    scene.run(append)
    second = Counter(scene.ids()) - known
    assert is_complete(sorted(second.elements()))
    scene.checkpoint = first
    scene.run(accepted(scene.refused("QUERY_CHANGED")))
    assert is_complete(sorted((Counter(scene.ids()) - second).elements()))


@pytest.mark.slow
def test_after_the_loss_of_the_ledger_the_query_continues_as_the_error_says(scene: Scene) -> None:
    scene.run()
    for table in scene.database.tables() - {"numbers"}:
        scene.database.execute(f"DROP TABLE {table}")
    hint = scene.refused("LEDGER_EMPTY")
    match = re.search(r'on_empty="(write:\d+)"', hint)
    assert match, hint
    committed = Position(scene.checkpoint)
    later = [one for one in scene.ids() if not committed.has(one)]
    assert not scene.endless or later
    scene.database.execute(f"DELETE FROM numbers WHERE id IN ({', '.join(map(str, [-1, *later]))})")
    scene.run(Ledger(on_empty=match[1]))
    scene.run()
    assert is_complete(scene.ids())


@pytest.mark.slow
@only_endless
def test_after_the_loss_of_a_row_of_the_ledger_stored_rows_stay(scene: Scene) -> None:
    scene.run()
    scene.database.execute("DELETE FROM epochal_ledger")
    match = re.search(r'on_empty="(write:\d+)"', scene.refused("LEDGER_EMPTY"))
    assert match
    scene.run(Ledger(on_empty=match[1]))
    scene.run()
    assert is_complete(scene.ids())
