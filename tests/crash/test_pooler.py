"""pgbouncer in transaction mode, where every transaction may run in another session of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.cases import ON_POSTGRES, Step
from crash.scene import Scene, running
from support import pooler
from support.databases import Postgres
from support.drivers import Gate
from support.places import is_required

pytestmark = [
    pytest.mark.slow,
    pytest.mark.crash,
    pytest.mark.skipif(
        pooler.program() is None and not is_required("pgbouncer"),
        reason="pgbouncer is not installed (Debian's package pgbouncer)",
    ),
]


def test_a_killed_query_behind_a_transaction_pooler_resumes_with_each_row_once(
    postgres_server: str, postgres: Postgres, tmp_path: Path
) -> None:
    step = Step("commit.after")
    gate = Gate(tmp_path / "gates", [step.name])
    with pooler.pooler(postgres_server, connections=4) as url:
        scene = Scene(ON_POSTGRES, postgres, tmp_path, url, postgres.schema)
        with running(scene, gate) as runner:
            scene.advance(runner.begin(), 4)
            gate.close(step.name)
            runner.wait_for(step)
            runner.kill()
            gate.open(step.name)
            scene.check_all(killed=True)
            scene.advance(runner.begin(), 4)
            runner.now.stop_queries()
            scene.check_all()
