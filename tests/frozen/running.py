"""``frozen/writing.py``, and databases that are reached through it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frozen.scenario import Place
from support.databases import Row
from support.places import ROOT
from support.programs import Program
from support.waiting import until

#: Of MariaDB, MySQL and H2: ``make test-python`` gets them.
DRIVERS = [jar for jar in sorted((ROOT / "build" / "drivers").glob("*.jar")) if not jar.name.startswith("testing-")]


class Writer(Program):
    """A driver that can be killed."""

    def __init__(self, jvm: str = "") -> None:
        super().__init__("frozen.writing")
        self._answers = 0
        self.send(json.dumps({"arguments": jvm, "jars": [str(jar) for jar in DRIVERS]}))

    def start(self, places: Mapping[str, Place], wait: bool) -> None:
        """Starts queries, by name of their scenarios."""
        self._ask(start={name: vars(place) for name, place in places.items()}, wait=wait)

    def query(self, database: Remote, sql: str) -> list[Row]:
        found = self._ask(query=sql, url=database.url, user=database.user)
        return [tuple(row) for row in found]

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Waits for something that the driver does."""

        def there() -> bool:
            self.assert_runs()
            return bool(condition())

        until(there, what, 180)

    def _ask(self, **asked: Any) -> Any:
        self.send(json.dumps(asked))
        self._answers += 1
        self.until(lambda: len(self._said()) >= self._answers, f"an answer to {asked}")
        return json.loads(self._said()[self._answers - 1])

    def _said(self) -> list[str]:
        return re.findall(r"^answer (.*)\n", self.all_output().decode("utf-8", "replace"), re.MULTILINE)


@dataclass
class Remote:
    """A database that a driver looks into."""

    url: str
    user: str | None = None
    through: Writer | None = None

    def query(self, sql: str) -> list[Row]:
        assert self.through
        return self.through.query(self, sql)

    def together(self, *queries: str) -> list[list[Row]]:
        return [self.query(sql) for sql in queries]

    def execute(self, *statements: str) -> None:
        raise NotImplementedError

    def tables(self) -> set[str]:
        return {name for (name,) in self.query("SELECT table_name FROM information_schema.tables")}


def h2(directory: Path) -> Remote:
    """A file."""
    return Remote(f"jdbc:h2:file:{directory / 'h2'};DATABASE_TO_LOWER=TRUE;CASE_INSENSITIVE_IDENTIFIERS=TRUE", "sa")


def h2_tool(database: Remote, tool: str, *arguments: str) -> None:
    """Runs ``Script``, which writes a dump, or ``RunScript``."""
    (jar,) = (jar for jar in DRIVERS if jar.name.startswith("h2-"))
    command = ["java", "-cp", str(jar), f"org.h2.tools.{tool}", "-url", database.url, "-user", "sa"]
    subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=60)
