"""The server fails and comes back, and answers to COMMIT are lost, in the middle of queries of many epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.cases import CASES
from crash.queries import Queries
from crash.scene import Scene
from support.databases import Postgres, new_postgres
from support.postgres import Server
from support.proxy import Proxy, proxy
from support.waiting import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

ON_POSTGRES = [case for case in CASES if case.database == "postgres"]
#: Their rows wait in the driver until they are committed: nothing in the server can be lost with it.
IN_THE_DRIVER = [case for case in ON_POSTGRES if case.transport == "inline"]


def behind(through: Proxy, postgres: Postgres, tmp_path: Path) -> Scene:
    scene = Scene(
        ON_POSTGRES,
        postgres,
        tmp_path,
        url=f"jdbc:postgresql://127.0.0.1:{through.port}/postgres",
        schema=postgres.schema,
    )
    scene.create()
    return scene


def retries(here: Queries) -> int:
    return sum(int(query["metrics"].get("retries", 0)) for query in here.status().values())


@pytest.mark.parametrize("lost", ["after", "before"])
def test_a_commit_whose_answer_is_lost_is_applied_once(
    lost: str, here: Queries, postgres: Postgres, tmp_path: Path
) -> None:
    port = int(postgres.url.split(":")[3].partition("/")[0])
    with proxy(port) as through:
        scene = behind(through, postgres, tmp_path)
        here.start(scene.queries())
        scene.advance(here)
        for cuts in range(4, 17, 4):
            setattr(through, lost, 4)
            until(lambda cuts=cuts: through.cuts >= cuts, "connections that were cut")  # type: ignore[misc]
            scene.advance(here, 1)
        here.stop_queries()
        assert retries(here) >= 12
        scene.check_all()


def test_a_server_that_fails_and_comes_back_is_seen_in_metrics_only(
    here: Queries, own_server: Server, tmp_path: Path
) -> None:
    postgres = new_postgres(own_server.dsn, "sink")
    scene = Scene(IN_THE_DRIVER, postgres, tmp_path)
    scene.create()
    here.start(scene.queries())
    for _ in range(3):
        scene.advance(here)
        own_server.stop()
        own_server.start()
    scene.advance(here)
    here.stop_queries()
    assert retries(here) >= 1
    scene.check_all()
