"""``epochal-rest`` over a table of parameters, through Python and into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import Limits, rest
from support.api import serve
from support.data import SCHEMA, as_rows, stored
from support.databases import Sqlite
from support.pages import POSTS, PostsApi, posts
from support.streams import finish, forget_last_commit, numbers

KINDS: dict[str, Any] = {
    "offset": rest.Offset(size=4),
    "cursor": rest.Cursor(next="/meta/next", param="after"),
}


@pytest.fixture
def api() -> Iterator[PostsApi]:
    api = PostsApi()
    with serve(api):
        yield api


@pytest.fixture
def copy(spark: SparkSession, api: PostsApi, sqlite: Sqlite, checkpoint: Path) -> Callable[..., None]:
    """Writes the comments of all posts into a table."""

    def copy(kind: str, of: tuple[int, ...] = POSTS) -> None:
        frame = epochal.read.rest(
            spark,
            api.url,
            schema=SCHEMA,
            records=rest.Json("/data"),
            params={"postId": "${post}"},
            each=rest.Each(table=[{"post": post} for post in of]),
            limits=Limits(rows=7),
            pages=KINDS[kind],
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

    return copy


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_added_and_removed_lists_are_delivered_once_with_lost_commits(
    kind: str, copy: Callable[..., None], api: PostsApi, sqlite: Sqlite, checkpoint: Path
) -> None:
    for first, of in ((1, (1, 2)), (26, (2, 3)), (51, (3,)), (76, POSTS)):
        api.records += posts(first, 25)
        copy(kind, of)
        forget_last_commit(checkpoint)
    copy(kind)
    assert stored(sqlite) == as_rows(api.records)
    assert len(numbers(checkpoint, "commits")) >= 100 // 7


def test_the_parameters_are_a_column_on_request(spark: SparkSession, api: PostsApi) -> None:
    api.records = posts(1, 25)
    frame = epochal.read.rest(
        spark,
        api.url + "?postId=${post}",
        schema=SCHEMA,
        records=rest.Json("/data", metadata_columns=["_params"]),
        each=rest.Each(table=[{"post": post} for post in POSTS], columns=["post"]),
        streaming=False,
        pages=KINDS["cursor"],
    )
    assert frame.count() == 25
    assert frame.where("_params['post'] = CAST(postId AS STRING) AND post = _params['post']").count() == 25


def test_a_table_that_does_not_fit_is_refused(spark: SparkSession, api: PostsApi) -> None:
    with pytest.raises(epochal.OptionError, match=r"no place for any of its names"):
        epochal.read.rest(spark, api.url, schema=SCHEMA, each=rest.Each(table=[{"post": 1}]))
