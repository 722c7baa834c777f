"""``epochal-rest`` as a sink through Python."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import epochal
from epochal import Http, Retry, rest
from support.orders import Orders, Sent, serve
from support.streams import finish, forget_last_commit

pytestmark = pytest.mark.line

NAMESPACE = uuid.UUID("2f0a2a1e-6d1b-5c55-9d0e-8f6b1c7e4a90")
ONCE: dict[str, dict[str, Any]] = {
    "by place": {},
    "by place, batches": {"batch": rest.Batch(rows=4)},
    "by columns": {"key_columns": ["id"]},
    "by columns, batches": {"key_columns": ["id"], "batch": rest.Batch(rows=4, num_partitions=2)},
}


@pytest.fixture
def orders() -> Iterator[Orders]:
    with serve(Orders()) as served:
        yield served


def numbers(spark: SparkSession, count: int) -> DataFrame:
    rows = epochal.read.random(spark, rows_per_batch=10, max_rows=count, num_partitions=2)
    return rows.select("id", "value")


def send(frame: DataFrame, orders: Orders, checkpoint: Path, **options: Any) -> str:
    """Sends all rows; returns the query's id."""
    url = options.pop("url", orders.url)
    http = Http(retry=Retry(initial_delay="1ms"))
    given: dict[str, Any] = {"trigger": "availableNow", "http": http, "sink_id": "orders"} | options
    with epochal.errors.named():
        query = epochal.write.rest(frame, url, checkpoint=checkpoint, **given)
        finish(query)
    return str(query.id)


@pytest.mark.slow
@pytest.mark.parametrize("way", ONCE)
@pytest.mark.parametrize("honours", [True, False])
def test_a_replay_sends_the_same_keys(
    way: str, honours: bool, spark: SparkSession, orders: Orders, checkpoint: Path
) -> None:
    orders.honours = honours
    for count in (25, 40):
        send(numbers(spark, count), orders, checkpoint, **ONCE[way])
        forget_last_commit(checkpoint)
    send(numbers(spark, 40), orders, checkpoint, **ONCE[way])
    if honours:
        assert orders.applied == Counter(range(40))
    else:
        assert set(orders.applied) == set(range(40))
        assert max(orders.applied.values()) > 1


def test_every_request_is_signed_with_its_body(spark: SparkSession, orders: Orders, checkpoint: Path) -> None:
    orders.refuse = [503]
    key = rest.Hmac("hunter2", header="X-Hub-Signature-256", prefix="sha256=", text="${method} ${body}")
    aws = rest.AwsSigV4(access_key_id="AKID", secret_access_key="hunter2", region="eu-central-1", service="lambda")
    send(numbers(spark, 10), orders, checkpoint, auth=[key, aws])
    assert orders.applied == Counter(range(10))
    assert len(orders.requests) == 11
    for sent in orders.requests:
        signed = hmac.new(b"hunter2", f"POST {sent.body}".encode(), "sha256").hexdigest()
        assert sent.headers["x-hub-signature-256"] == f"sha256={signed}"
        assert sent.headers["x-amz-content-sha256"] == hashlib.sha256(sent.body.encode()).hexdigest()
        assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKID/")


@pytest.mark.slow
def test_an_idempotency_key_can_be_computed(spark: SparkSession, orders: Orders, checkpoint: Path) -> None:
    send(numbers(spark, 10), orders, checkpoint / "a", key_columns=["id"])
    for sent in orders.requests:
        name = '["columns","orders",null]\n' + json.dumps({"id": sent.rows[0]["id"]}, separators=(",", ":"))
        assert sent.key == str(uuid.uuid5(NAMESPACE, name))
    orders.requests.clear()
    query = send(numbers(spark, 10), orders, checkpoint / "b")
    keys = {sent.key for sent in orders.requests}
    rows = {sent.rows[0]["id"]: sent.body for sent in orders.requests}
    for partition in (0, 1):
        for place in range(5):
            possible = {
                str(uuid.uuid5(NAMESPACE, f'["place","{query}","0",{partition},{place},1,[]]\n{body}'))
                for body in rows.values()
            }
            assert len(keys & possible) == 1


def test_templates_urls_and_results(spark: SparkSession, orders: Orders, checkpoint: Path) -> None:
    send(
        numbers(spark, 1),
        orders,
        checkpoint / "a",
        url=orders.url + "/{id}",
        method="PUT",
        body=rest.Body(row_template='{"id": ${id}, "text": "no. ${id}: ${value}"}'),
        headers={"X-Token": "t"},
        params={"v": "1 2"},
    )
    (sent,) = orders.requests
    assert (sent.method, sent.path, sent.headers["x-token"]) == ("PUT", "/orders/0?v=1%202", "t")
    assert json.loads(sent.body)["text"].startswith("no. 0: ")

    def each(sent: Sent) -> tuple[int, Any]:
        return 200, {"items": [{"ok": row["id"] != 3} for row in sent.rows]}

    orders.reply = each
    letters = checkpoint / "letters"
    for _ in range(2):
        send(
            numbers(spark, 10),
            orders,
            checkpoint / "b",
            batch=rest.Batch(rows=3),
            body=rest.Body(format="array"),
            results=rest.Results(pointer="/items", status="/ok"),
            dead_letters=rest.DeadLetters(path=letters),
        )
        forget_last_commit(checkpoint / "b")
    (letter,) = spark.read.json(str(letters)).collect()
    assert (letter.sink, letter.epoch, letter.value.id) == ("orders", "0", 3)


def test_errors_have_names(spark: SparkSession, orders: Orders, checkpoint: Path) -> None:
    frame = numbers(spark, 10)
    with pytest.raises(epochal.OptionError, match=r"OPTION_UNKNOWN.*pageSize"), epochal.errors.named():
        frame.writeStream.format("epochal-rest").option("url", orders.url).option("pageSize", 5).option(
            "checkpointLocation", str(checkpoint)
        ).start()
    with pytest.raises(epochal.ModeError, match=r"ORDER_NOT_REPEATABLE.*Repartition"):
        send(frame.repartition(3), orders, checkpoint / "a")
    orders.refuse.append(422)
    with pytest.raises(epochal.HttpError, match=r"HTTP_STATUS.*422"):
        send(frame, orders, checkpoint / "b")
    with pytest.raises(epochal.OptionError, match="needs 'checkpoint'"):
        epochal.write.rest(frame, orders.url)
    with pytest.raises(epochal.OptionError, match=r"batch.*checkpoint"):
        epochal.write.rest(spark.range(3), orders.url, checkpoint=checkpoint)


def test_a_batch_is_sent(spark: SparkSession, orders: Orders) -> None:
    epochal.write.rest(spark.range(25), orders.url, batch=rest.Batch(rows=10))
    assert orders.applied == Counter(range(25))
