"""Every program of ``docs/rest-recipes.md``, against a stub of the API's shape."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import Limits, Secret, rest
from epochal._options import instant
from support import shapes
from support.databases import Sqlite
from support.documents import page
from support.streams import finish, rows_by_batch

#: By stub, from ``<!-- needs: github -->``.
RECIPES = {block.needs[0]: block.text for block in page("docs/rest-recipes.md").blocks("python") if block.needs}

#: Windows begin a few seconds ago and are short, because they must have ended when a recipe is read.
START = instant(datetime.now(timezone.utc).replace(microsecond=0) - timedelta(seconds=10))


class Environment:
    """Replaces an environment variable that the driver does not have."""

    @staticmethod
    def env(name: str) -> Secret:
        assert name == "TOKEN"
        return Secret("secret")


def frame(spark: SparkSession, recipe: str, server: shapes.Server) -> DataFrame:
    """The rows that a recipe reads from ``server`` in place of the API's host, seven per batch."""
    there = f"http://{server.url.split('/')[2]}/"
    program = re.sub(r"https://[^/\"]+/", there, recipe).replace("\n)", "\n    limits=Limits(rows=7),\n)", 1)
    program = re.sub(r'start="2026[^"]*"', f'start="{START}"', program)
    program = program.replace('"15m"', '"1s"').replace('"5m"', '"1s"').replace('"1h"', '"1m"')
    names: dict[str, Any] = {"epochal": epochal, "spark": spark, "Secret": Environment, "rest": rest, "Limits": Limits}
    exec(program, names)
    (found,) = [value for value in names.values() if isinstance(value, DataFrame)]
    return found


def test_there_are_ten_recipes_and_one_by_time() -> None:
    assert len(RECIPES) == 11


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in {"github", "stripe"} else [pytest.mark.slow]) for name in RECIPES]
)
def test_a_recipe_reads_each_record_once_and_resumes(
    name: str, spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    def copy() -> list[int]:
        query = epochal.write.jdbc(
            frame(spark, RECIPES[name], server),
            sqlite.url,
            table="records",
            checkpoint=checkpoint,
            create_table=True,
            sink_id="recipe",
            trigger="availableNow",
        )
        finish(query)
        return rows_by_batch(query)

    with shapes.serving(getattr(shapes, name)) as server:
        server.records = [{"id": n, "name": f"name {n}"} for n in range(1, 25)]
        assert copy() == [7, 7, 7, 3]
        server.records += [{"id": n, "name": f"name {n}"} for n in range(25, 42)]
        assert copy() == [7, 7, 3]
        assert copy() == []
        expected = [(record["id"], record["name"]) for record in server.records]
    assert sqlite.query("SELECT id, name FROM records ORDER BY id, name") == expected
