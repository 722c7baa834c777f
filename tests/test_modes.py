"""All triggers with all output modes, sources and sinks: each works or has a clear error; see ``docs/modes.md``."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support import api as api_support
from support import modes, orders
from support.databases import new_postgres
from support.places import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "modes.md"
SHORTEST = "spark.sql.streaming.realTimeMode.minBatchDuration"


def test_each_mode_works_or_has_a_clear_error_and_the_page_shows_it(
    spark: SparkSession, postgres_server: str, tmp_path: Path
) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "numbers.txt").write_text("".join(f"{n}\n" for n in range(modes.ROWS)))
    api = api_support.Api([{"id": n, "word": f"word {n}"} for n in range(modes.ROWS)])
    database = new_postgres(postgres_server, f"modes_{uuid.uuid4().hex[:12]}")
    database.execute(
        "CREATE TABLE numbers (id BIGINT PRIMARY KEY, word TEXT)",
        f"INSERT INTO numbers SELECT n, 'word ' || n FROM generate_series(1, {modes.ROWS}) n",
    )
    spark.conf.set(SHORTEST, "200")
    try:
        with api_support.serve(api), orders.serve(orders.Orders()) as taking, modes.lines_server() as port:
            found = modes.Place(spark, tmp_path, database, api, taking, port).outcomes()
    finally:
        spark.conf.unset(SHORTEST)
    made = f"{modes.BEGIN}\n\n{modes.page(found)}\n\n{modes.END}"
    text = PAGE.read_text("utf-8")
    written = os.environ.get("EPOCHAL_MODES") == "write"
    if written:
        part = re.compile(f"{re.escape(modes.BEGIN)}.*{re.escape(modes.END)}", re.DOTALL)
        PAGE.write_text(part.sub(lambda _: made, text), "utf-8")
    assert [f"{cell}: {outcome.reason}" for cell, outcome in found.items() if outcome.condition is None] == []
    assert written or made in text, "docs/modes.md differs from what queries do: make modes"
