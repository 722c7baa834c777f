"""``epochal-rest`` against APIs whose pages link to the next one, through Python and into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import Limits, rest
from support.api import serve
from support.data import SCHEMA, as_rows, comments, stored
from support.databases import Sqlite
from support.pages import ChainedApi
from support.streams import finish, forget_last_commit, rows_by_batch
from support.variants import variants

pytestmark = pytest.mark.line

KINDS: dict[str, Any] = {
    "cursor": rest.Cursor(next="/meta/next", param="after", has_more="/meta/more"),
    "keyset": rest.Keyset(key="/id", param="since"),
    "next-url": rest.NextUrl(next="/meta/url"),
}


@pytest.fixture
def pages() -> Iterator[ChainedApi]:
    """An API without records."""
    api = ChainedApi()
    with serve(api):
        yield api


@pytest.fixture
def copy(spark: SparkSession, pages: ChainedApi, sqlite: Sqlite, checkpoint: Path) -> Callable[..., Any]:
    """Writes all records of the API into a table; returns the query after its end."""

    def copy(kind: str, **options: Any) -> Any:
        frame: DataFrame = epochal.read.rest(
            spark,
            pages.url,
            schema=SCHEMA,
            records=rest.Json("/data"),
            **({"pages": KINDS[kind], "limits": Limits(rows=7)} | options),
        )
        query = epochal.write.jdbc(
            frame,
            sqlite.url,
            table="comments",
            checkpoint=checkpoint,
            sink_id="comments",
            create_table=True,
            trigger="availableNow",
        )
        with epochal.errors.named():
            finish(query)
        return query

    return copy


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_followed_into_a_table_each_record_once(
    kind: str, copy: Callable[..., Any], pages: ChainedApi, sqlite: Sqlite
) -> None:
    for count in (0, 3, 10, 35):
        pages.records = comments(1, count)
        copy(kind)
        if count:
            assert stored(sqlite) == as_rows(pages.records)
    assert rows_by_batch(copy(kind)) == []


@pytest.mark.parametrize("kind", variants(KINDS, {"cursor"}))
def test_a_replay_is_read_from_the_journal_and_writes_nothing_twice(
    kind: str, copy: Callable[..., Any], pages: ChainedApi, sqlite: Sqlite, checkpoint: Path
) -> None:
    pages.records = comments(1, 25)
    copy(kind)
    forget_last_commit(checkpoint)
    pages.asked()
    pages.records[20:] = [{"id": "changed since"}] * 5
    copy(kind)
    assert pages.asked() == ["c25" if kind == "keyset" else "c20"]
    assert stored(sqlite) == as_rows(comments(1, 25))


@pytest.mark.slow
def test_a_loop_is_a_named_error(copy: Callable[..., Any], pages: ChainedApi) -> None:
    pages.records = comments(1, 25)
    with pytest.raises(epochal.RecordError, match="PAGINATION_LOOP"):
        copy("cursor", pages=rest.Cursor(next="/meta/next", has_more="/meta/more"))


@pytest.mark.slow
def test_more_pages_than_max_pages_are_a_named_error(copy: Callable[..., Any], pages: ChainedApi) -> None:
    pages.records = comments(1, 25)
    with pytest.raises(epochal.RecordError, match=r"TOO_MANY_PAGES.*more than 2 pages"):
        copy("next-url", pages=rest.NextUrl(next="/meta/url", max_pages=2))


@pytest.mark.slow
def test_a_link_to_another_host_is_refused(copy: Callable[..., Any], pages: ChainedApi) -> None:
    pages.records = comments(1, 25)
    with pytest.raises(epochal.RecordError, match=r"LINK_REFUSED.*names https://other.invalid/x as its"):
        copy("next-url", pages=rest.NextUrl(next="/meta/foreign"))
