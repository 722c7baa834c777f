"""Change feeds into APIs: every program of *Changes* in ``docs/rest-sink.md``, against a stub of its API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import Budget, Http, Retry, rest
from support import targets
from support.documents import page
from support.orders import serve
from support.streams import finish, forget_last_commit
from support.targets import Store

pytestmark = pytest.mark.line

#: By stub, from ``<!-- needs: bulk -->``.
RECIPES = {block.needs[0]: block.text for block in page("docs/rest-sink.md").blocks("python") if block.needs}
SCHEMA = (
    "id STRING, note STRING, total DOUBLE, "
    "_unchanged_columns ARRAY<STRING>, _change_type STRING, _commit_version STRING"
)
ONE, TWO, THREE, NINE = (f"order{n:010}" for n in (1, 2, 3, 9))


def change(operation: str, key: str, version: int, **columns: Any) -> dict[str, Any]:
    return {"id": key, "_change_type": operation, "_commit_version": f"{version:08}"} | columns


#: By epoch. An update of THREE lacks its note, which did not change.
FEED = [
    [change("insert", key, n, note=f"note {n}", total=n + 0.5) for n, key in enumerate((ONE, TWO, THREE))],
    [
        change("update_preimage", ONE, 3, note="note 0", total=0.5),
        change("update_postimage", ONE, 3, note="new", total=10.0),
        change("delete", TWO, 4),
        change("insert", TWO, 5, note="again", total=20.0),
        change("update_postimage", THREE, 6, total=30.0, _unchanged_columns=["note"]),
        change("delete", NINE, 7),
    ],
    [change("delete", ONE, 8)],
]
TABLE = {
    TWO: {"id": TWO, "note": "again", "total": 20.0},
    THREE: {"id": THREE, "note": "note 2", "total": 30.0},
}


@pytest.fixture
def store() -> Iterator[Store]:
    with serve(Store(honours=False)) as served:
        assert isinstance(served, Store)
        yield served


def feed(directory: Path, epochs: list[list[dict[str, Any]]]) -> None:
    """A file for each epoch."""
    directory.mkdir(exist_ok=True)
    for n, rows in enumerate(epochs):
        if not (file := directory / f"{n}.json").exists():
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def run(spark: SparkSession, recipe: str, store: Store, place: Path) -> None:
    """Sends what there is of the feed, an epoch per file."""
    program = re.sub(r"https://[\w.]+(?=/)", store.url.removesuffix("/orders"), RECIPES[recipe])
    program = re.sub(r'checkpoint="[\w-]+"', f'checkpoint="{place}/checkpoint", trigger="availableNow"', program)
    program = program.replace("\n)", "\n    http=Http(retry=Retry(initial_delay='1ms')),\n)", 1)
    changes = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(place / "feed"))
    names: dict[str, Any] = {"epochal": epochal, "rest": rest, "changes": changes, "Http": Http, "Retry": Retry}
    exec(program, names)
    # Over Connect it is of another class of this name.
    (query,) = [value for value in names.values() if type(value).__name__ == "StreamingQuery"]
    finish(query)


def taken(store: Store) -> list[tuple[str | None, ...]]:
    """The requests since the last call."""
    requests: list[tuple[str | None, ...]] = [(r.method, r.path, r.key, r.body) for r in store.requests]
    store.requests.clear()
    return requests


def test_the_recipes_have_stubs() -> None:
    assert RECIPES.keys() == {"resources", "bulk", "kinto", "pocketbase"}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_api_has_the_rows_of_the_table_after_replays_of_every_epoch(
    recipe: str, spark: SparkSession, store: Store, tmp_path: Path
) -> None:
    store.shape = getattr(targets, recipe)
    store.busy = {TWO} if recipe == "bulk" else set()
    epochs = FEED
    if recipe == "kinto":  # PUT replaces: the feed has whole rows.
        whole = change("update_postimage", THREE, 6, note="note 2", total=30.0)
        epochs = [[whole if "_unchanged_columns" in row else row for row in rows] for rows in FEED]
    for n in range(1, len(epochs) + 1):
        feed(tmp_path / "feed", epochs[:n])
        run(spark, recipe, store, tmp_path)
        sent, after = taken(store), {key: dict(row) for key, row in store.stored.items()}
        forget_last_commit(tmp_path / "checkpoint")
        run(spark, recipe, store, tmp_path)
        again = taken(store)
        assert store.stored == after
        if recipe == "resources":  # A row that is there now is not created again.
            sent, again = ([one for one in requests if one[0] != "POST"] for requests in (sent, again))
        assert sent[: len(again)] == again
    assert store.stored == TABLE
    assert not store.busy


def test_the_error_of_a_row_within_a_successful_response_is_seen(
    spark: SparkSession, store: Store, tmp_path: Path
) -> None:
    store.shape = targets.bulk
    feed(tmp_path / "feed", [[change("insert", ONE, 1), change("insert", TWO, 2, note="x" * 2000)]])
    with pytest.raises(epochal.RowError, match=r"ROW_REFUSED.*Row 2 .*400: failed to parse"), epochal.errors.named():
        run(spark, "bulk", store, tmp_path)


def test_arguments_of_changes_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(epochal.OptionError, match=r"rest\.Changes.*delete_url, delete_template"):
        rest.Changes(delete_url="https://h/{id}", delete_template="{}")
    with pytest.raises(epochal.OptionError, match=r"create_url without upsert_status"):
        rest.Changes(delete_url="https://h/{id}", create_url="https://h")
    options = epochal.write.rest_options(
        "https://h/{id}",
        mode=rest.Changes(delete_url="https://h/{id}", upsert_status=404),
        http=Http(budget=Budget(name="shop", requests_per_second=5)),
    )
    assert (options["mode"], options["upsertStatus"], options["budgetName"]) == ("changes", "404", "shop")
