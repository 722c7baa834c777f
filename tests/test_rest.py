"""``epochal-rest`` through Python, against an API that misbehaves on command."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import Budget, Http, Limits, Retry, Secret, jdbc, rest
from epochal.errors import from_spark
from support.api import Answer, Api, Request, serve
from support.data import SCHEMA, as_rows, comments, stored
from support.databases import Sqlite
from support.streams import drain, finish, rows_by_batch

pytestmark = pytest.mark.line


def read(spark: SparkSession, api: Api, **options: Any) -> DataFrame:
    defaults: dict[str, Any] = {"schema": SCHEMA, "pages": rest.Offset(size=10)}
    return epochal.read.rest(spark, api.url, **(defaults | options))


def copy(frame: DataFrame, database: Sqlite, checkpoint: Path, **options: Any) -> list[int]:
    """Writes all records into ``comments``; returns the rows of each batch."""
    given: dict[str, Any] = {"create_table": True, "sink_id": "comments", "trigger": "availableNow"} | options
    query = epochal.write.jdbc(frame, database.url, table="comments", checkpoint=checkpoint, **given)
    finish(query)
    return rows_by_batch(query)


def test_a_batch_read_has_all_pages_in_the_order_of_the_api(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 57)
    found = read(spark, api, streaming=False, num_partitions=3).collect()
    assert [tuple(row) for row in found] == as_rows(api.records)


def test_pages_are_counted_from_the_first_page(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 25)
    found = read(spark, api, pages=rest.Page(size=10), streaming=False).collect()
    assert [row.id for row in found] == list(range(1, 26))
    assert {"1", "2", "3"} <= {request.params["page"] for request in api.requests}


def test_without_pagination_one_response_has_all_records(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 25)
    found = read(spark, api, pages=rest.NoPages(), streaming=False).collect()
    assert [row.id for row in found] == list(range(1, 26))
    assert all(request.params == {} for request in api.requests)


def test_records_are_found_by_a_json_pointer(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 12)
    api.wrap = lambda page: {"data": {"items": page}, "total": 12}
    assert read(spark, api, records=rest.Json("/data/items"), streaming=False).count() == 12


def test_headers_and_parameters_are_sent_with_every_request(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 12)
    read(spark, api, headers={"X-Key": "k"}, params={"lang": "en"}, streaming=False).collect()
    assert api.requests
    assert all(r.headers["x-key"] == "k" and r.params["lang"] == "en" for r in api.requests)


def test_a_stream_resumes_from_the_checkpoint_and_reads_only_new_records(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 35)
    assert copy(read(spark, api, limits=Limits(rows=10)), sqlite, checkpoint) == [10, 10, 10, 5]
    api.records += comments(36, 20)
    api.requests.clear()
    assert copy(read(spark, api, limits=Limits(rows=10)), sqlite, checkpoint) == [10, 10]
    assert stored(sqlite) == as_rows(api.records)
    assert min(int(request.params["_start"]) for request in api.requests) >= 30


def test_a_running_stream_follows_a_growing_api(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 5)
    frame = read(spark, api, poll=rest.Poll(interval="0s"))
    query = epochal.write.jdbc(frame, sqlite.url, table="comments", checkpoint=checkpoint, create_table=True)
    query.processAllAvailable()
    api.records += comments(6, 40)
    drain(query)
    assert stored(sqlite) == as_rows(api.records)


def test_a_request_to_a_busy_api_is_retried(spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path) -> None:
    api.records = comments(1, 20)
    api.failures.extend([503, 429, 500])
    copy(read(spark, api, http=Http(retry=Retry(initial_delay=timedelta(milliseconds=1)))), sqlite, checkpoint)
    assert stored(sqlite) == as_rows(api.records)


def test_an_api_that_stays_down_fails_the_query_with_a_named_error(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.failures.extend([503] * 100)
    frame = read(spark, api, http=Http(retry=Retry(attempts=2, initial_delay="1ms")))
    with pytest.raises(epochal.HttpError, match=r"HTTP_STATUS.*503.*2 attempts"), epochal.errors.named():
        copy(frame, sqlite, checkpoint)


def test_the_hints_of_an_invalid_record_lead_to_a_table_with_it(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 5)
    copy(read(spark, api), sqlite, checkpoint)
    api.records += [{**comments(6, 1)[0], "postId": "none"}]
    with pytest.raises(epochal.RecordError, match="RECORD_INVALID") as caught, epochal.errors.named():
        copy(read(spark, api), sqlite, checkpoint)
    kept, added = 'records=rest.Json(mode="PERMISSIVE")', "columns=jdbc.Columns(add=True)"
    assert kept in caught.value.hint
    assert added in caught.value.hint
    records, columns = (eval(hint.partition("=")[2], {"rest": rest, "jdbc": jdbc}) for hint in (kept, added))
    copy(read(spark, api, records=records), sqlite, checkpoint, columns=columns)
    (invalid,) = sqlite.query("SELECT _corrupt_record FROM comments WHERE _corrupt_record IS NOT NULL")
    assert '"none"' in invalid[0]


def test_a_refused_request_is_not_retried(spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path) -> None:
    api.failures.extend([403] * 100)
    with pytest.raises(epochal.HttpError, match=r"HTTP_STATUS.*403.*1 attempt"), epochal.errors.named():
        copy(read(spark, api), sqlite, checkpoint)


@pytest.mark.slow
def test_an_api_that_shrank_below_the_offset_is_data_loss(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 30)
    copy(read(spark, api), sqlite, checkpoint)
    api.records = comments(1, 20)
    with pytest.raises(epochal.DataLossError, match=r"DATA_LOSS.*20.*30"), epochal.errors.named():
        copy(read(spark, api), sqlite, checkpoint)
    assert len(stored(sqlite)) == 30


def test_a_record_that_does_not_fit_the_schema_fails_the_query_with_a_named_error(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = [*comments(1, 5), {"id": "not a number"}]
    with pytest.raises(epochal.RecordError, match="RECORD_INVALID"), epochal.errors.named():
        copy(read(spark, api), sqlite, checkpoint)


def test_a_record_that_does_not_fit_is_kept_or_dropped_as_the_mode_says(spark: SparkSession, api: Api) -> None:
    api.records = [*comments(1, 5), {"id": "none", "more": [1]}]
    kept = read(spark, api, records=rest.Json(mode="PERMISSIVE", rescued_column="rest"), streaming=False).collect()
    assert [row.id for row in kept] == [1, 2, 3, 4, 5, None]
    assert kept[-1]["_corrupt_record"] == '{"id": "none", "more": [1]}'
    assert kept[-1].rest == '{"more":[1]}'
    assert read(spark, api, records=rest.Json(mode="DROPMALFORMED"), streaming=False).count() == 5


def test_rows_contain_their_origin(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 12)
    records = rest.Json(metadata_columns=["_url", "_status", "_fetchedAt"])
    found = read(spark, api, records=records, params={"key": "s3cret"}, streaming=False).collect()
    assert {row["_url"] for row in found} == {f"{api.url}?_start=0&_limit=10", f"{api.url}?_start=10&_limit=10"}
    assert all(row["_status"] == 200 and row["_fetchedAt"] for row in found)


def test_the_schema_is_inferred_on_request(spark: SparkSession, api: Api) -> None:
    api.records = comments(1, 12)
    found = read(spark, api, schema="infer", streaming=False)
    assert set(found.columns) == set(api.records[0])
    assert found.count() == 12
    with pytest.raises(epochal.SchemaError, match="SCHEMA_REQUIRED"):
        read(spark, api, schema=None)


@pytest.mark.slow
def test_a_checkpoint_of_another_url_is_refused(
    spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path
) -> None:
    api.records = comments(1, 5)
    copy(read(spark, api), sqlite, checkpoint)
    api.url += "/other"
    with pytest.raises(epochal.CheckpointError, match=r"SOURCE_CHANGED.*other"), epochal.errors.named():
        copy(read(spark, api), sqlite, checkpoint)


@pytest.mark.parametrize(
    "secrets",
    [
        {"headers": {"Authorization": "Bearer s3cret"}, "params": {"api_key": "s3cret"}},
        pytest.param({"auth": [rest.Bearer("s3cret"), rest.ApiKey("s3cret", param="key")]}, marks=pytest.mark.slow),
        pytest.param({"auth": rest.Basic(user="s3cret", password="s3cret")}, marks=pytest.mark.slow),
        {
            "auth": rest.OAuth2(
                token_url="http://127.0.0.1:9/token",
                client_id="me",
                client_secret="s3cret",
                refresh_token="s3cret",
                params={"audience": "s3cret"},
            )
        },
    ],
    ids=["headers", "keys", "basic", "oauth"],
)
def test_secrets_are_neither_in_the_plan_nor_in_progress_nor_in_errors(
    secrets: dict[str, Any],
    spark: SparkSession,
    api: Api,
    sqlite: Sqlite,
    checkpoint: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    api.failures.extend([401] * 100)
    frame = read(spark, api, http=Http(retry=Retry(attempts=1)), **secrets)
    frame.explain(extended=True)
    query = epochal.write.jdbc(
        frame, sqlite.url, table="comments", checkpoint=checkpoint, create_table=True, password="s3cret"
    )
    failed = "HTTP_UNREACHABLE" if isinstance(secrets.get("auth"), rest.OAuth2) else "HTTP_STATUS"
    with pytest.raises(Exception, match=failed) as caught:
        query.awaitTermination(60)
    said = capsys.readouterr().out + str(caught.value) + str(from_spark(caught.value)) + str(query.recentProgress)
    assert failed in said
    assert "s3cret" not in said


def test_a_token_from_a_file_is_sent_with_every_request(spark: SparkSession, api: Api, tmp_path: Path) -> None:
    api.records = comments(1, 25)
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    found = read(
        spark,
        api,
        auth=rest.Bearer(Secret.file(token)),
        http=Http(budget=Budget(max_concurrency=3, requests_per_second=200.5)),
        streaming=False,
    )
    assert [row.id for row in found.collect()] == list(range(1, 26))
    assert {request.headers["authorization"] for request in api.requests} == {"Bearer s3cret"}


class DigestApi(Api):
    """Asks for RFC 7616's response with SHA-256, and accepts each number of a nonce once. Compresses with zstd."""

    def __init__(self) -> None:
        super().__init__(comments(1, 25))
        self.used: list[tuple[str, str]] = []
        self.nonces = 0

    def answer(self, request: Request) -> Answer:
        given = dict(re.findall(r'(\w+)="?([^",]+)', request.headers.get("authorization", "")))
        number = (given.get("nonce", ""), given.get("nc", ""))
        if not given or number in self.used or given["response"] != self.response(given):
            self.nonces += 1
            challenge = f'Digest realm="books", qop="auth", algorithm=SHA-256, nonce="n{self.nonces}"'
            return 401, b"", {"WWW-Authenticate": challenge}
        self.used.append(number)
        status, body, more = super().answer(request)
        return status, pyarrow.compress(body, codec="zstd", asbytes=True), {**more, "Content-Encoding": "zstd"}

    def response(self, given: dict[str, str]) -> str:
        def digest(*parts: str) -> str:
            return hashlib.sha256(":".join(parts).encode()).hexdigest()

        who, what = digest("me", "books", "s3cret"), digest("GET", given["uri"])
        return digest(who, given["nonce"], given["nc"], given["cnonce"], "auth", what)


def test_a_digest_is_sent_to_an_api_that_asks_for_one_and_zstd_is_decoded(spark: SparkSession) -> None:
    with serve(DigestApi()) as api:
        found = read(spark, api, auth=rest.Digest(user="me", password="s3cret"), streaming=False)
        assert [row.id for row in found.collect()] == list(range(1, 26))
        assert len(api.requests) > api.nonces
        wrong = read(spark, api, auth=rest.Digest(user="me", password="s3creT"), streaming=False)
        with pytest.raises(epochal.HttpError, match=r"status 401"), epochal.errors.named():
            wrong.collect()


def test_an_ignored_status_ends_the_list(spark: SparkSession, api: Api) -> None:
    api.failures.extend([404] * 10)
    assert read(spark, api, http=Http(ignore_statuses=[404]), streaming=False).count() == 0


def test_progress_contains_the_lag(spark: SparkSession, api: Api, sqlite: Sqlite, checkpoint: Path) -> None:
    api.records = comments(1, 30)
    query = epochal.write.jdbc(
        read(spark, api, limits=Limits(rows=10)),
        sqlite.url,
        table="comments",
        checkpoint=checkpoint,
        create_table=True,
        trigger="availableNow",
    )
    finish(query)
    sources = [dict(progress)["sources"][0] for progress in query.recentProgress]
    assert any(source["metrics"] for source in sources)
