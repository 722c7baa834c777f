"""Results do not depend on the JVM's locale, time zone or charset: drivers under unusual ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.api import serve
from support.data import SCHEMA, as_rows, comments, create_comments, stored
from support.databases import Database, Postgres, Sqlite
from support.drivers import Driver
from support.pages import ChainedApi
from support.waiting import until

pytestmark = pytest.mark.slow

#: `İ` and `ı` for I and i; digits that are not ASCII, a calendar that is not Gregorian, and half an hour's offset.
TURKISH = "-Duser.language=tr -Duser.country=TR -Dfile.encoding=ISO-8859-9 -Duser.timezone=America/Caracas"
PERSIAN = "-Duser.language=fa -Duser.country=IR -Dfile.encoding=US-ASCII -Duser.timezone=Asia/Tehran"

READS: dict[str, dict[str, Any]] = {
    "cursor": {"pagination": "cursor", "nextCursor": "/meta/next", "cursorParam": "after"},
    "offset": {"pagination": "offset", "pageSize": 10, "journal": True},
}


@pytest.mark.parametrize(("first", "second"), [(PERSIAN, TURKISH), (TURKISH, PERSIAN)], ids=["fa-tr", "tr-fa"])
def test_journalled_crawls_resume_under_another_locale_with_every_row_once(
    first: str, second: str, postgres: Postgres, sqlite: Sqlite, tmp_path: Path
) -> None:
    databases: dict[str, Database] = {"cursor": postgres, "offset": sqlite}
    for name, database in databases.items():
        create_comments(database, name, key="PRIMARY KEY")

    def query(name: str, url: str) -> dict[str, Any]:
        write: dict[str, Any] = {
            "url": databases[name].url,
            "user": databases[name].user,
            "table": name,
            "sinkId": name,
        }
        write |= {"checkpoint": str(tmp_path / f"checkpoint-{name}"), "mode": "upsert", "keyColumns": ["id"]}
        if name == "cursor":
            write["transport"] = "staged"
        read = READS[name] | {"url": url, "records": "/data", "schema": SCHEMA, "maxRowsPerBatch": 7}
        return {"name": name, "rest": read, "write": write}

    with serve(ChainedApi()) as api:
        for jvm in (first, second):
            api.records += comments(len(api.records) + 1, 25)
            driver = Driver(jvm=jvm)
            try:
                driver.start([query(name, api.url) for name in READS])

                def all_there() -> bool:
                    driver.assert_all_active()  # noqa: B023
                    return all(stored(database, name) == as_rows(api.records) for name, database in databases.items())

                until(all_there, f"every row once under {jvm}")
            finally:
                driver.kill()
