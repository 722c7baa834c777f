"""Triggers or row security in the database drop or hide rows; then nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.cases import ON_POSTGRES, Case
from crash.queries import Queries
from crash.scene import Scene
from support.databases import Postgres

pytestmark = [pytest.mark.crash]


@pytest.fixture
def scene(here: Queries, postgres: Postgres, tmp_path: Path) -> Scene:
    """Stopped queries that have written a few epochs."""
    scene = Scene(ON_POSTGRES, postgres, tmp_path)
    scene.create()
    here.start(scene.queries())
    scene.advance(here)
    here.stop_queries()
    return scene


def last_epochs(scene: Scene) -> dict[Case, int]:
    """The ledger's last epochs; asserts that every table has exactly their rows."""
    for case in scene.cases:
        assert scene.problems(case)[1] == ""
    return scene.epochs()


@pytest.mark.slow
def test_rows_that_a_trigger_swallows_fail_the_epoch_in_every_mode(
    scene: Scene, here: Queries, postgres: Postgres
) -> None:
    postgres.execute("CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    for case in scene.cases:
        key = case.shape.columns.split()[0]
        postgres.execute(
            f"CREATE TRIGGER swallow BEFORE INSERT OR UPDATE ON {case.name} FOR EACH ROW WHEN (NEW.{key} % 7 = 3)"
            " EXECUTE FUNCTION swallow()"
        )
    before = last_epochs(scene)
    here.start(scene.queries())
    for case in scene.cases:
        assert "EPOCHAL.ROWS_DROPPED" in here.error_of(case.name)
    assert last_epochs(scene) == before


@pytest.mark.slow
def test_row_security_that_hides_rows_fails_the_epoch_and_the_next_start_in_every_mode(
    scene: Scene, here: Queries, postgres: Postgres
) -> None:
    role = f"limited_{postgres.schema}"
    postgres.execute(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE, CREATE ON SCHEMA {postgres.schema} TO {role}",
        f"GRANT ALL ON ALL TABLES IN SCHEMA {postgres.schema} TO {role}",
    )
    limited = [scene.query(case, user=role) for case in scene.cases]
    here.start(limited)
    scene.advance(here)
    for case in scene.cases:
        key = case.shape.columns.split()[0]
        postgres.execute(
            f"ALTER TABLE {case.name} ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY hides ON {case.name} USING ({key} % 7 <> 3) WITH CHECK (true)",
        )
    for case in scene.cases:
        assert f"ALTER ROLE {role} BYPASSRLS" in here.error_of(case.name)
    before = last_epochs(scene)
    refused = here.try_start(limited)
    for case in scene.cases:
        assert f"ALTER ROLE {role} BYPASSRLS" in refused[case.name]
    assert last_epochs(scene) == before
