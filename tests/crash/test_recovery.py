"""The recovery steps of ``docs/jdbc.md`` for a checkpoint or database that was moved, lost or restored."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from crash.cases import ON_POSTGRES, ROWS_PER_BATCH, SHAPES, TRANSPORTS, Case, frame
from crash.queries import Queries
from crash.scene import Scene, prepared, until_nothing_is_prepared
from support.databases import Postgres, new_postgres
from support.postgres import Server
from support.streams import drain, forget_last_commit
from support.variants import variants

pytestmark = [pytest.mark.crash]

APPENDS = [case for case in ON_POSTGRES if case.mode == "append"]


def run(here: Queries, scene: Scene, epochs: int = 2) -> None:
    """Writes a few epochs and stops."""
    here.start(scene.queries())
    scene.advance(here, epochs)
    here.stop_queries()
    scene.check_all()


def new_scene(database: Postgres, tmp_path: Path, cases: list[Case] = ON_POSTGRES) -> Scene:
    scene = Scene(cases, database, tmp_path / "first")
    scene.create()
    return scene


@pytest.mark.slow
def test_a_moved_checkpoint_resumes(here: Queries, postgres: Postgres, tmp_path: Path) -> None:
    scene = new_scene(postgres, tmp_path)
    run(here, scene)
    shutil.move(scene.directory, tmp_path / "second")
    run(here, Scene(scene.cases, scene.postgres, tmp_path / "second"))


@pytest.mark.slow
def test_a_deleted_checkpoint_is_refused_until_on_new_query_is_set(
    here: Queries, postgres: Postgres, tmp_path: Path
) -> None:
    scene = new_scene(postgres, tmp_path, APPENDS)
    run(here, scene)
    shutil.rmtree(scene.directory)
    here.start(scene.queries())
    for case in scene.cases:
        assert "EPOCHAL.QUERY_CHANGED" in here.error_of(case.name)
    known = ",".join(row[0] for row in postgres.query("SELECT query_id FROM epochal_ledger"))
    meant = Scene(scene.cases, scene.postgres, scene.directory, write={"onNewQuery": f"append:{known}"})
    for case in scene.cases:
        postgres.execute(f"TRUNCATE {case.name}")
    run(here, meant)


@pytest.mark.slow
def test_two_queries_write_into_one_table_if_configured(here: Queries, postgres: Postgres, tmp_path: Path) -> None:
    scene = new_scene(postgres, tmp_path, APPENDS)
    run(here, scene)
    for case in scene.cases:
        other = {"sinkId": f"second_{case.name}", "checkpoint": str(tmp_path / case.name)}
        second = scene.query(case, **other, trigger="availableNow")
        second["source"] = {"max_rows": 2 * ROWS_PER_BATCH}
        here.start([second])
        assert "EPOCHAL.TARGET_SHARED" in here.error_of(case.name)
        second["write"] |= {"onNewQuery": f"append:{case.name}"}
        here.start([second])
        assert here.error_of(case.name) == ""
        first = (scene.epochs()[case] + 1) * ROWS_PER_BATCH
        expected = case.shape.expected(first) + case.shape.expected(2 * ROWS_PER_BATCH)
        assert postgres.query(f"SELECT * FROM {case.name} ORDER BY id") == sorted(expected, key=lambda row: row[0])


@pytest.mark.slow
def test_a_restored_database_is_a_gap_and_resumes_with_the_checkpoint_of_that_time(
    here: Queries, own_server: Server, tmp_path: Path
) -> None:
    scene = new_scene(new_postgres(own_server.dsn, "sink"), tmp_path)
    run(here, scene)
    own_server.stop()
    backup = own_server.save()
    shutil.copytree(scene.directory, tmp_path / "saved")
    own_server.start()
    run(here, scene)
    own_server.stop()
    own_server.restore(backup)
    own_server.start()
    here.start(scene.queries())
    for case in scene.cases:
        assert "EPOCHAL.EPOCH_GAP" in here.error_of(case.name)
    run(here, Scene(scene.cases, scene.postgres, tmp_path / "saved"))


@pytest.mark.parametrize(
    "case",
    variants(APPENDS, APPENDS[:1]),
    ids=lambda case: case.name,
)
@pytest.mark.parametrize("expression", variants(["rand()", "uuid()"], {"rand()"}))
def test_a_replay_with_other_rows_keeps_the_first_rows_and_warns(
    case: Case, expression: str, spark: SparkSession, postgres: Postgres, checkpoint: Path
) -> None:
    postgres.execute("CREATE TABLE drawn (id BIGINT, drawn TEXT)")

    def write(rows: int) -> list[dict[str, str]]:
        source = frame(spark, SHAPES["append"], max_rows=rows)
        query = epochal.write.jdbc(
            source.selectExpr("id", f"CAST({expression} AS STRING) AS drawn"),
            postgres.url,
            user=postgres.user,
            table="drawn",
            sink_id="drawn",
            options=TRANSPORTS[case.transport],
            checkpoint=checkpoint,
        )
        drain(query)
        return [progress["sink"]["metrics"] for progress in query.recentProgress]

    write(3 * ROWS_PER_BATCH)
    before = postgres.query("SELECT * FROM drawn ORDER BY id")
    assert len(before) == 3 * ROWS_PER_BATCH
    forget_last_commit(checkpoint)
    metrics = write(3 * ROWS_PER_BATCH)
    assert postgres.query("SELECT * FROM drawn ORDER BY id") == before
    assert metrics[-1]["differingRepetitions"] == "1"
    write(4 * ROWS_PER_BATCH)
    assert len(postgres.query("SELECT * FROM drawn")) == 4 * ROWS_PER_BATCH


def test_prepared_transactions_of_a_schema_are_found(postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE t (id INT)")
    assert prepared(postgres) == []
    gid = f"seen_{postgres.schema}"
    with postgres.connect() as connection:
        connection.autocommit = True
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute(f"PREPARE TRANSACTION '{gid}'".encode())
        try:
            assert prepared(postgres) == [gid]
        finally:
            connection.execute(f"ROLLBACK PREPARED '{gid}'".encode())


@pytest.mark.slow
def test_a_stopped_query_leaves_no_prepared_transaction(here: Queries, postgres: Postgres, tmp_path: Path) -> None:
    scene = new_scene(postgres, tmp_path, [case for case in ON_POSTGRES if case.transport == "prepared"])
    for pause in range(6):
        here.start([scene.query(case, trigger=None) for case in scene.cases])
        scene.advance(here, 1)
        time.sleep(0.07 * pause)  # At a random point of an epoch.
        here.stop_queries()
        scene.settle(here)
        until_nothing_is_prepared(postgres)
