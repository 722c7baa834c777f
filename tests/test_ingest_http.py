"""``epochal-ingest`` over HTTP: each acknowledged record becomes one row."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import epochal
from support.databases import Sqlite
from support.http_writers import Client, await_listener, free_port
from support.variants import variants
from support.waiting import until

PASSWORD = "changeit"
SECRET = "It's a Secret to Everybody"


@contextmanager
def listening(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, *, columns: tuple[str, ...] = ("value",), **options: Any
) -> Iterator[tuple[Client, StreamingQuery]]:
    """A query from a listener into the table ``t``."""
    port = options.pop("port", None) or free_port()
    given = {"protocol": "http", "port": port} | {name.replace("__", "."): value for name, value in options.items()}
    frame = spark.readStream.format("epochal-ingest").options(**given).load().selectExpr(*columns)
    query = epochal.write.jdbc(
        frame, sqlite.url, table="t", checkpoint=str(checkpoint), create_table=True, sink_id="ingest"
    )
    try:
        await_listener(port)
        yield Client(port), query
    finally:
        query.stop()


def rows(sqlite: Sqlite, count: int, what: str = "value") -> list[Any]:
    """All rows, as soon as there are ``count``."""
    until(
        lambda: "t" in sqlite.tables() and sqlite.query("SELECT count(*) FROM t")[0][0] >= count,
        f"{count} rows",
        timeout=90,
    )
    found = sqlite.query(f"SELECT {what} FROM t")
    return sorted(row[0] if len(row) == 1 else row for row in found)


@pytest.mark.slow
def test_records_of_every_format_become_rows(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    columns = ("value", "stream", "headers['X-Event'] AS event", "remote LIKE '127.0.0.1:%' AS here")
    with listening(spark, sqlite, checkpoint, columns=columns, headers="X-Event") as (client, _):
        assert client.send("one\ntwo\n", X_Event="push")[:2] == (200, {"records": 2})
        assert client.send('{"a": 1}\n{"a": 2}\n', "application/x-ndjson", "/clicks")[1] == {"records": 2}
        assert client.send('[{"b":1},{"b":[2]}]', "application/json", method="PUT")[1] == {"records": 2}
        assert client.send("payload=%7B%22c%22%3A1%7D", "application/x-www-form-urlencoded")[1] == {"records": 1}
        packed = client.send(gzip.compress("ä\n".encode()), Content_Encoding="gzip")
        assert packed[1] == {"records": 1}
        assert client.send('[{"d":1},{"d":]', "application/json")[0] == 400
        assert client.send("big", X_Big="x" * 17000)[0] == 431
        assert client.send("long", path="/" + "x" * 17000)[0] == 414
        found = rows(sqlite, 8, "value, stream, coalesce(event, ''), here")
    assert found == sorted(
        [
            ("one", "", "push", 1),
            ("two", "", "push", 1),
            ('{"a": 1}', "clicks", "", 1),
            ('{"a": 2}', "clicks", "", 1),
            ('{"b":1}', "", "", 1),
            ('{"b":[2]}', "", "", 1),
            ('{"c":1}', "", "", 1),
            ("ä", "", "", 1),
        ]
    )


@pytest.mark.slow
def test_records_have_typed_columns_and_malformed_ones_their_own_column(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    options: dict[str, Any] = {"format": "json", "schema": "id INT, name STRING", "malformed": "keep"}
    columns = ("id", "name", "_corrupt_record AS corrupt")
    with listening(spark, sqlite, checkpoint, columns=columns, **options) as (client, _):
        assert client.send('[{"id":1,"name":"a"},\n {"name":"b",\n  "id":2}]', "application/json")[0] == 200
        assert client.send('{"id":3}\n{"id":\n', "application/x-ndjson")[1] == {"records": 2}
        found = rows(sqlite, 4, "coalesce(id, 0), coalesce(name, ''), coalesce(corrupt, '')")
    assert found == [(0, "", '{"id":'), (1, "a", ""), (2, "b", ""), (3, "", "")]


def test_a_repeated_request_is_stored_once_across_a_restart(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    port = free_port()
    for start in range(2):
        with listening(spark, sqlite, checkpoint, port=port) as (client, _):
            status, response, _ = client.send("one\ntwo", Idempotency_Key="k")
            assert (status, response) == (200, {"records": 2} | ({"duplicate": True} if start else {}))
            assert client.send("one\ntwo", Idempotency_Key="k")[1] == {"records": 2, "duplicate": True}
            assert client.send(f"start {start}")[0] == 200
            rows(sqlite, 3 + start)
    assert rows(sqlite, 4) == ["one", "start 0", "start 1", "two"]


@pytest.mark.slow
def test_a_full_journal_refuses_requests_until_rows_are_delivered(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    line = "x" * 1000
    options: dict[str, Any] = {"maxJournalBytes": "200k", "maxRowsPerBatch": 20}
    with listening(spark, sqlite, checkpoint, **options) as (client, _):
        sent = refused = 0
        while not refused or sent < 600:
            status, _, headers = client.send("\n".join(f"{sent + i:06d}{line}" for i in range(20)))
            assert status in (200, 429)
            if status == 429:
                assert int(headers["Retry-After"]) >= 1
                assert refused or client.pool.request("GET", f"http://127.0.0.1:{client.port}/health").status in (
                    200,
                    503,
                )
                refused += 1
                time.sleep(0.05)
            else:
                sent += 20
        found = rows(sqlite, sent, "substr(value, 1, 6)")
    assert found == [f"{i:06d}" for i in range(sent)]


def signed(secret: str, text: bytes) -> str:
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


def github(body: bytes) -> dict[str, str]:
    """GitHub's signature, as in "Validating webhook deliveries"."""
    return {"X-Hub-Signature-256": f"sha256={signed(SECRET, body)}", "X-GitHub-Delivery": "72d3162e-cc78"}


def stripe(body: bytes) -> dict[str, str]:
    """Stripe's signature, as in "Verify webhook signatures manually"."""
    now = str(int(time.time()))
    return {"Stripe-Signature": f"t={now},v1={signed(SECRET, now.encode() + b'.' + body)}"}


def slack(body: bytes) -> dict[str, str]:
    """Slack's signature, as in "Verifying requests from Slack"."""
    now = str(int(time.time()))
    text = b"v0:" + now.encode() + b":" + body
    return {"X-Slack-Request-Timestamp": now, "X-Slack-Signature": f"v0={signed(SECRET, text)}"}


@pytest.mark.parametrize("sender", variants([github, stripe, slack], {github}))
def test_signed_webhooks_are_accepted_and_redeliveries_stored_once(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, sender: Any
) -> None:
    body = b'{"id":"evt_1","event_id":"Ev1","n":1}'
    with listening(spark, sqlite, checkpoint, signature=sender.__name__, signatureSecret=SECRET) as (client, _):
        assert client.send(body, "application/json", **sender(body))[:2] == (200, {"records": 1})
        assert client.send(body, "application/json", **sender(body))[1] == {"records": 1, "duplicate": True}
        assert client.send(body + b" ", "application/json", **sender(body))[:2] == (403, {"error": "forbidden"})
        assert client.send(body, "application/json")[0] == 403
        assert rows(sqlite, 1) == [body.decode()]


def test_a_token_is_in_no_plan_and_no_error(spark: SparkSession, sqlite: Sqlite, checkpoint: Path) -> None:
    with listening(spark, sqlite, checkpoint, bearerToken="hunter2") as (client, query):
        assert client.send("a")[0] == 401
        assert client.send("a", Authorization="Bearer hunter2")[0] == 200
        assert rows(sqlite, 1) == ["a"]
        progress = until(lambda: query.lastProgress, "a progress")
        assert "hunter2" not in json.dumps(progress, default=str)
        assert dict(progress["sources"][0]["metrics"])["port"] == str(client.port)
    frame = spark.readStream.format("epochal-ingest").options(protocol="http", port=0, bearerToken="hunter2").load()
    plan: str = frame._jdf.queryExecution().toString()  # pyright: ignore[reportOptionalCall]
    assert "hunter2" not in plan


@pytest.mark.slow
def test_records_are_received_over_tls_with_basic_authorization(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path, tmp_path: Path
) -> None:
    store, certificate = make_certificate(tmp_path)
    options: dict[str, Any] = {"tls__keyStoreFile": str(store), "tls__keyStorePassword": PASSWORD}
    with listening(spark, sqlite, checkpoint, user="me", password="pw", host="0.0.0.0", **options) as (client, _):
        pool = urllib3.PoolManager(ssl_context=ssl.create_default_context(cafile=certificate), retries=False)
        login = base64.b64encode(b"me:pw").decode()
        sent = pool.request(
            "POST",
            f"https://127.0.0.1:{client.port}/",
            body=b"a",
            headers={"Content-Type": "text/plain", "Authorization": f"Basic {login}"},
        )
        assert sent.status == 200
        assert rows(sqlite, 1) == ["a"]


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """The listener's key store, and its certificate in PEM."""
    store, certificate = directory / "server.p12", directory / "server.pem"
    place = ["-alias", "s", "-storepass", PASSWORD, "-keystore", str(store)]
    made = "-genkeypair -keyalg EC -dname CN=s -ext san=ip:127.0.0.1 -validity 2 -storetype PKCS12"
    subprocess.run(["keytool", *made.split(), *place], check=True, capture_output=True)
    subprocess.run(
        ["keytool", "-exportcert", "-rfc", "-file", str(certificate), *place], check=True, capture_output=True
    )
    return store, certificate


@pytest.mark.parametrize(
    ("options", "condition", "named"),
    [
        ({"host": "0.0.0.0"}, "LISTENER_EXPOSED", "user and password"),
        ({"ack": True}, "OPTION_CONFLICT", "protocol=tcp"),
        ({"mode": "connect"}, "OPTION_CONFLICT", "epochal-rest"),
        ({"signature": "github"}, "OPTION_CONFLICT", "signatureSecret"),
        ({"headers": "Cookie"}, "OPTION_INVALID", "Cookie"),
        ({"protocol": "tcp", "bearerToken": "hunter2"}, "OPTION_CONFLICT", "protocol=http"),
    ],
)
def test_options_that_cannot_work_are_refused_before_the_query_starts(
    spark: SparkSession, options: dict[str, Any], condition: str, named: str
) -> None:
    given: dict[str, Any] = {"protocol": "http", "port": 0} | options
    with pytest.raises(Exception, match=condition) as error:
        spark.readStream.format("epochal-ingest").options(**given).load()
    assert named in str(error.value)
    assert "hunter2" not in str(error.value)


def test_health_and_metrics_cover_the_listener_and_the_journal(
    spark: SparkSession, sqlite: Sqlite, checkpoint: Path
) -> None:
    with listening(spark, sqlite, checkpoint) as (client, _):
        client.send("a\nb")
        assert rows(sqlite, 2) == ["a", "b"]
        url = f"http://127.0.0.1:{client.port}"
        assert client.pool.request("GET", f"{url}/health").status == 200
        lines = client.pool.request("GET", f"{url}/metrics").data.decode().splitlines()
        assert "epochal_ingest_http_records_total 2" in lines
        assert "epochal_ingest_journal_rows 2" in lines
