"""APIs that store rows, each of a well-known shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.orders import Orders, Reply, Row, Sent

Shape = Callable[["Store", Sent], Reply]


@dataclass
class Store(Orders):
    """Stores rows by ``id``, as ``shape`` responds.

    Attributes:
        busy: ids of rows that are rejected for a moment, once each.
    """

    shape: Shape = field(default=lambda store, sent: (404, {}))
    stored: dict[str, Row] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)

    def _apply(self, sent: Sent) -> Reply:
        return self.shape(self, sent)

    def merge(self, row: Row) -> int:
        """Creates or updates a row; returns the status."""
        known = row["id"] in self.stored
        self.stored[row["id"]] = self.stored.get(row["id"], {}) | row
        return 200 if known else 201

    def remove(self, key: str) -> int:
        return 404 if self.stored.pop(key, None) is None else 200


def resources(store: Store, sent: Sent) -> Reply:
    """One resource per row: a missing one is not created by an update."""
    collection, _, key = sent.path.removeprefix("/").partition("/")
    assert collection == "orders"
    if sent.method == "DELETE":
        return store.remove(key), {}
    (row,) = sent.rows
    if sent.method == "POST":
        assert key == ""
        return (409, {"error": "it exists"}) if row["id"] in store.stored else (store.merge(row), row)
    assert (sent.method, row["id"]) == ("PATCH", key)
    return (store.merge(row), row) if key in store.stored else (404, {"error": "no such order"})


def bulk(store: Store, sent: Sent) -> Reply:
    """Elasticsearch: lines of actions; a 200 with the status of each."""
    assert (sent.method, sent.path, sent.headers["content-type"]) == ("POST", "/orders/_bulk", "application/x-ndjson")
    assert sent.body.endswith("\n")
    lines = iter([json.loads(line) for line in sent.body.splitlines()])
    items = []
    for action in lines:
        ((kind, target),) = action.items()
        item: dict[str, Any] = {"_index": "orders", "_id": target["_id"]}
        given = next(lines) if kind == "update" else {}
        if target["_id"] in store.busy:
            store.busy.remove(target["_id"])
            item |= {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "the queue is full"}}
        elif kind == "update" and len(given["doc"].get("note") or "") > 1000:
            item |= {"status": 400, "error": {"type": "document_parsing_exception", "reason": "failed to parse"}}
        elif kind == "update":
            assert given.keys() == {"doc", "doc_as_upsert"}
            status = store.merge(given["doc"])
            item |= {"status": status, "result": "created" if status == 201 else "updated", "_seq_no": 1}
        else:
            assert kind == "delete"
            status = store.remove(target["_id"])
            item |= {"status": status, "result": "deleted" if status == 200 else "not_found", "_seq_no": 1}
        items.append({kind: item})
    failed = any("error" in item for each in items for item in each.values())
    return 200, {"took": 3, "errors": failed, "items": items}


def kinto(store: Store, sent: Sent) -> Reply:
    """At most 25 requests, each with a response."""
    assert (sent.method, sent.path) == ("POST", "/v1/batch")
    requests = json.loads(sent.body)["requests"]
    if len(requests) > 25:
        return 400, {"code": 400, "errno": 107, "error": "Invalid parameters"}
    responses = []
    for request in requests:
        base, _, key = request["path"].rpartition("/")
        assert base == "/buckets/shop/collections/orders/records"
        body: dict[str, Any]
        if request["method"] == "PUT":
            row = request["body"]["data"]
            assert row["id"] == key
            status = 200 if key in store.stored else 201
            store.stored[key] = row
            body = {"data": row | {"last_modified": 1}, "permissions": {}}
        else:
            assert request["method"] == "DELETE"
            status = store.remove(key)
            body = {"data": {"id": key, "deleted": True, "last_modified": 1}}
            if status == 404:
                body = {"code": 404, "errno": 110, "error": "Not Found", "message": "The resource was not found."}
        responses.append({"status": status, "path": f"/v1{request['path']}", "body": body, "headers": {}})
    return 200, {"responses": responses}


def pocketbase(store: Store, sent: Sent) -> Reply:
    """A transaction of at most 50 requests: it fails with the first that fails."""
    assert (sent.method, sent.path) == ("POST", "/api/batch")
    requests = json.loads(sent.body)["requests"]
    assert len(requests) <= 50
    before = {key: dict(row) for key, row in store.stored.items()}
    results = []
    for n, request in enumerate(requests):
        if request["method"] == "PUT":
            assert request["url"] == "/api/collections/orders/records"
            store.merge(request["body"])
            results.append({"status": 200, "body": request["body"]})
        else:
            assert request["method"] == "DELETE"
            if store.remove(request["url"].removeprefix("/api/collections/orders/records/")) == 404:
                store.stored = before
                failure = {"code": "batch_request_failed", "message": "Batch request failed."}
                response = {"status": 404, "message": "The requested resource wasn't found.", "data": {}}
                failed = {"requests": {str(n): failure | {"response": response}}}
                return 400, {"status": 400, "message": "Batch transaction failed.", "data": failed}
            results.append({"status": 204, "body": None})
    return 200, results
