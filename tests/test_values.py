"""Values that group options: validated at construction, printed without secrets."""

from __future__ import annotations

import doctest
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from types import ModuleType
from typing import Any

import pytest

import epochal
from epochal import Budget, Http, Limits, Proxy, Retry, Secret, Tls, jdbc, rest
from epochal._declarations import JDBC, RANDOM, REST, REST_SINK
from epochal._trigger import triggered
from epochal._values import auth, http, pages, records, rows, secret, table
from epochal._values.value import Value

HIDDEN = "s3cret"
CLASSES = [
    value
    for module in (epochal, rest, jdbc)
    for value in (getattr(module, name) for name in module.__all__)
    if isinstance(value, type) and issubclass(value, Value)
]


def options(**given: Any) -> dict[str, str]:
    """Options for arguments of ``epochal.read.rest``."""
    return REST.options(given, None)


@pytest.mark.parametrize("module", [auth, http, pages, records, rows, secret, table, rest, jdbc])
def test_doctest_examples_are_correct(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


@pytest.mark.parametrize("kind", CLASSES)
def test_values_are_frozen_with_keyword_only_fields_except_the_first(kind: type[Value]) -> None:
    assert is_dataclass(kind)
    positional = [one.name for one in fields(kind) if not one.kw_only]
    assert positional in ([], ["token"], ["key"], ["pointer"], ["query"], ["url"], ["field"], ["secret"])
    with pytest.raises(FrozenInstanceError):
        Limits(rows=1).rows = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"pages": rest.NoPages(key="/id")}, {"pagination": "none", "keyField": "/id"}),
        (
            {"pages": rest.Offset(size=100, verify_position="always")},
            {"pagination": "offset", "pageSize": "100", "verifyPosition": "always"},
        ),
        (
            {"pages": rest.Page(size=50, first=0, total_header="X-Total")},
            {"pagination": "page", "pageSize": "50", "firstPage": "0", "totalCountHeader": "X-Total"},
        ),
        (
            {"pages": rest.Cursor(next="/paging/next", param="after", max_pages=5)},
            {"pagination": "cursor", "nextCursor": "/paging/next", "cursorParam": "after", "maxPages": "5"},
        ),
        (
            {"pages": rest.Keyset(key="/id", has_more="/more")},
            {"pagination": "keyset", "keyField": "/id", "hasMore": "/more"},
        ),
        ({"pages": rest.Link(end_of_list="assumed")}, {"pagination": "link", "endOfList": "assumed"}),
        ({"pages": rest.NextUrl(next="/links/next")}, {"pagination": "next-url", "nextUrl": "/links/next"}),
        (
            {"pages": rest.Cursor(next=["/a", "/b"], body="/search_after", first="null", method="QUERY")},
            {
                "pagination": "cursor",
                "nextCursor": "/a,/b",
                "cursorBody": "/search_after",
                "firstCursor": "null",
                "method": "QUERY",
            },
        ),
        (
            {"pages": rest.Offset(offset_body="/from", limit_body="/size")},
            {"pagination": "offset", "offsetBody": "/from", "limitBody": "/size"},
        ),
        (
            {"pages": rest.GraphQL("query { a }", variables={"owner": "a", "n": [1]}, connection="/data/a")},
            {
                "pagination": "graphql",
                "query": "query { a }",
                "variables": '{"owner": "a", "n": [1]}',
                "connection": "/data/a",
            },
        ),
        (
            {
                "records": rest.Json(
                    ["/a", "/b"],
                    shape="map",
                    map_key_column="k",
                    path="/node",
                    error_pointer="/error",
                    retry_errors=["a", "b"],
                )
            },
            {
                "bodyFormat": "json",
                "records": "/a,/b",
                "recordShape": "map",
                "mapKeyColumn": "k",
                "recordPath": "/node",
                "errorPointer": "/error",
                "retryErrors": "a,b",
            },
        ),
        (
            {
                "pages": rest.TimeWindow(
                    start=datetime(2026, 1, 1, tzinfo=timezone.utc),
                    length=timedelta(minutes=15),
                    overlap="1h",
                    key_columns=["id"],
                    pages=rest.Page(size=10),
                    last_page="/end",
                )
            },
            {
                "pagination": "time-window",
                "windowStart": "2026-01-01T00:00:00Z",
                "windowLength": "900000ms",
                "overlap": "1h",
                "keyColumns": "id",
                "windowPagination": "page",
                "pageSize": "10",
                "lastPage": "/end",
            },
        ),
        ({"records": rest.Json("/data")}, {"bodyFormat": "json", "records": "/data"}),
        ({"records": rest.Csv(sep=";", header=False)}, {"bodyFormat": "csv", "sep": ";", "header": "false"}),
        ({"auth": rest.Bearer(HIDDEN)}, {"bearerToken": HIDDEN}),
        ({"auth": rest.Bearer(Secret.env("TOKEN"))}, {"bearerTokenEnv": "TOKEN"}),
        (
            {"auth": [rest.Basic(user="me"), rest.ApiKey(Secret.file("/key"), param="key")]},
            {"user": "me", "apiKeyFile": "/key", "apiKeyParam": "key"},
        ),
        (
            {"auth": rest.OAuth2(token_url="u", client_id="i", client_secret=HIDDEN, params={"audience": "a"})},
            {"oauth.tokenUrl": "u", "oauth.clientId": "i", "oauth.clientSecret": HIDDEN, "oauth.params.audience": "a"},
        ),
        ({"auth": rest.Signer(class_name="c", settings={"key": "k"})}, {"signerClass": "c", "signer.key": "k"}),
        (
            {
                "http": Http(
                    timeout="20s",
                    retry_statuses=[429, "5xx"],
                    retry=Retry(attempts=5),
                    budget=Budget(requests_per_second=0.5, name="shop"),
                    tls=Tls(ca_file="/ca"),
                    proxy=Proxy(url="http://p:1", user="me", password=Secret.env("P")),
                )
            },
            {
                "timeout": "20s",
                "retry.statuses": "429,5xx",
                "retry.maxAttempts": "5",
                "requestsPerSecond": "0.5",
                "budgetName": "shop",
                "tls.caFile": "/ca",
                "proxy": "http://p:1",
                "proxyUser": "me",
                "proxyPasswordEnv": "P",
            },
        ),
        ({"limits": Limits(rows=10_000)}, {"maxRowsPerBatch": "10000"}),
        (
            {"poll": rest.Poll(interval="30s", conditional=False)},
            {"refreshInterval": "30s", "conditionalRequests": "false"},
        ),
        ({"headers": {"X": "y"}, "params": None}, {"headers.X": "y"}),
    ],
)
def test_a_value_sets_its_options_and_no_others(given: dict[str, Any], expected: dict[str, str]) -> None:
    assert options(**given) == expected


def test_a_subclass_sets_the_options_of_its_value() -> None:
    class Comments(rest.Offset):
        pass

    assert options(pages=Comments(size=10)) == options(pages=rest.Offset(size=10))


def test_values_of_the_sinks_set_their_options() -> None:
    assert REST_SINK.options(
        {
            "mode": rest.Changes(op_column="op", delete_template="{}"),
            "body": rest.Body(format="array"),
            "batch": rest.Batch(rows=10, flush_interval="1s"),
            "results": rest.Results(pointer="/items", success=["created"]),
            "dead_letters": rest.DeadLetters(path="/d", max_rows=0),
        },
        None,
    ) == {
        "mode": "changes",
        "opColumn": "op",
        "deleteTemplate": "{}",
        "body": "array",
        "batchSize": "10",
        "flushInterval": "1s",
        "results": "/items",
        "resultSuccess": "created",
        "deadLetterPath": "/d",
        "maxBadRows": "0",
    }
    assert JDBC.options(
        {
            "mode": jdbc.Changes(key_columns=["id"], op_column="op"),
            "columns": jdbc.Columns(map={"a": "b"}, add=True),
            "password": Secret.file("/p"),
            "connection": jdbc.Connection(properties={"sslmode": "require"}),
            "ledger": jdbc.Ledger(on_empty="skip:17"),
            "transport": jdbc.Transport(kind="staged"),
            "retry": Retry(deadline=timedelta(minutes=1)),
        },
        None,
    ) == {
        "mode": "changes",
        "keyColumns": "id",
        "opColumn": "op",
        "columnMap": "a:b",
        "addColumns": "true",
        "passwordFile": "/p",
        "connection.sslmode": "require",
        "onLedgerEmpty": "skip:17",
        "transport": "staged",
        "retry.deadline": "60000ms",
    }


def wrong(value: Any) -> Any:
    """Untyped, for arguments that a type checker would refuse."""
    return value


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: rest.Offset(size=0), r"'size' of rest.Offset is 0, which is not a whole number.*size=1"),
        (lambda: rest.Offset(size=True), r"'size' of rest.Offset is True"),
        (lambda: rest.Offset(on_drift=wrong("wran")), r"'on_drift'.*one of fail, warn, restart.*on_drift=\"warn\""),
        (lambda: rest.Cursor(next="paging"), r"'next' of rest.Cursor is 'paging', which is not a JSON Pointer"),
        (lambda: rest.Cursor(param="after"), r"'next' of rest.Cursor is not given, nor is next_header"),
        (lambda: rest.Cursor(next=["/a", "b"]), r"'next' of rest.Cursor is \['/a', 'b'\], which is not a JSON Pointer"),
        (lambda: rest.Json(columns="/c"), r"exclude each other: columns without shape=\"rows\""),
        (lambda: rest.Json(map_key_column="c"), r"exclude each other: map_key_column without shape=\"map\""),
        (
            lambda: rest.GraphQL("a", variables=wrong("b"), connection="/c"),
            r"'variables' of rest.GraphQL is of type str",
        ),
        (
            lambda: rest.Cursor(next="/a", next_header="B"),
            r"rest.Cursor was given.*exclude each other: next, next_header",
        ),
        (lambda: rest.Link(has_more="/a", last_page="/b"), r"has_more, last_page"),
        (lambda: rest.Page(total="/a", total_header="b"), r"total, total_header"),
        (lambda: rest.TimeWindow(start="x", length="1 parsec"), r"'length'.*\"30 seconds\""),
        (
            lambda: rest.TimeWindow(start="x", length="1h", overlap="1h"),
            r"overlap without key_columns.*Set key_columns too",
        ),
        (
            lambda: rest.TimeWindow(start="x", length="1h", key_columns="id"),
            r"'key_columns'.*a list of names.*\[\"id\"\]",
        ),
        (
            lambda: rest.TimeWindow(start="x", length="1h", pages=rest.Offset(total="/n")),
            r"rest.Offset\(total=…\).*a window is read once",
        ),
        (
            lambda: rest.TimeWindow(start="x", length="1h", max_pages=1, pages=rest.Link(max_pages=2)),
            r"max_pages, rest.Link\(max_pages=…\).*within pages",
        ),
        (lambda: rest.TimeWindow(start="x", length="1h", pages=wrong("page")), r"'pages'.* is of type str"),
        (lambda: rest.Json(corrupt_column="c"), r"corrupt_column without mode=\"PERMISSIVE\""),
        (lambda: rest.ApiKey("k", header="h", param="p"), r"header, param"),
        (lambda: rest.OAuth2(token_url="u", client_id="i"), r"'client_secret'.*is not given, nor is refresh_token"),
        (lambda: Limits(max_delay="1m"), r"max_delay without min_rows"),
        (lambda: Limits(rows=1, min_rows=2), r"rows=1, min_rows=2"),
        (lambda: Retry(deadline=timedelta(-1)), r"'deadline'"),
        (lambda: Http(retry=wrong(5)), r"'retry' of Http is of type int, which is not Retry"),
        (lambda: Http(ignore_statuses=[200]), r"'ignore_statuses'.*statuses from 300 on"),
        (lambda: Http(max_response_bytes="64x"), r"'max_response_bytes'.*\"64m\""),
        (lambda: Tls(key_file="/k"), r"key_file without cert_file"),
        (lambda: epochal.ingest.Tcp(wrong("9999x")), r"'port' of ingest.Tcp is '9999x'.*Set it like this: port=9999\."),
        (
            lambda: epochal.ingest.HttpServer(1, headers=wrong("Date")),
            r"'headers' of ingest.HttpServer.*: headers=\[.User-Agent.\]",
        ),
        (lambda: epochal.ingest.Tls(), r"'cert_file' of ingest.Tls is not given, nor is key_store_file"),
        (lambda: Proxy(url="http://p", password=HIDDEN), r"password without user"),
        (lambda: Secret(""), r"Secret\.env\(\"TOKEN\"\)"),
    ],
)
def test_invalid_values_are_refused_at_construction_with_a_suggestion(made: Callable[[], object], says: str) -> None:
    with pytest.raises(epochal.OptionError, match=says):
        made()


@pytest.mark.parametrize(
    "value",
    [
        Secret(HIDDEN),
        rest.Bearer(HIDDEN),
        rest.Basic(user=HIDDEN, password=HIDDEN),
        rest.ApiKey(HIDDEN),
        rest.OAuth2(token_url="u", client_id="i", client_secret=HIDDEN, refresh_token=HIDDEN, params={"a": HIDDEN}),
        rest.Signer(class_name="c", settings={"key": HIDDEN}),
        rest.Digest(user=HIDDEN, password=HIDDEN),
        rest.Hmac(HIDDEN),
        rest.AwsSigV4(access_key_id=HIDDEN, secret_access_key=HIDDEN, session_token=HIDDEN, region="r", service="s3"),
        Proxy(url=f"http://me:{HIDDEN}@proxy:1"),
        Http(proxy=Proxy(url="http://p", user=HIDDEN, password=HIDDEN), tls=Tls(cert_file="c", key_password=HIDDEN)),
        jdbc.Connection(properties={"password": HIDDEN}),
    ],
)
def test_secrets_are_not_printed_and_survive_pickling(value: object) -> None:
    assert HIDDEN not in repr(value) + str(value) + f"{value}"
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("wrong", [HIDDEN, {"token": HIDDEN}, [HIDDEN]])
def test_an_object_that_is_not_a_value_is_refused_without_showing_it(wrong: object) -> None:
    with pytest.raises(epochal.OptionError, match=r"'auth' of epochal.read.rest.*auth=rest.Bearer") as caught:
        options(auth=wrong)
    assert HIDDEN not in str(caught.value)
    with pytest.raises(epochal.OptionError) as caught:
        rest.Signer(class_name="c", settings={"key": 5, HIDDEN: HIDDEN})  # type: ignore[dict-item]
    assert HIDDEN not in str(caught.value)
    user: Any = [HIDDEN]
    with pytest.raises(epochal.OptionError) as caught:
        rest.Basic(user=user)
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize(("wrong", "right"), [("next-url", "NextUrl"), ("cursor", "Cursor"), (rest.Page, "Page")])
def test_a_word_or_a_class_in_place_of_a_value_names_the_value(wrong: object, right: str) -> None:
    with pytest.raises(epochal.OptionError, match=rf"pages=rest\.{right}\(…\)"):
        options(pages=wrong)


def test_options_by_the_jars_names_are_passed_on_and_conflicts_named() -> None:
    assert RANDOM.options({"seed": 1}, {"maxRows": 10, "failOnDataLoss": False}) == {
        "seed": "1",
        "maxRows": "10",
        "failOnDataLoss": "false",
    }
    with pytest.raises(
        epochal.OptionError, match=r"'PAGESIZE' twice: by rest.Offset\(size=…\) and by options="
    ) as caught:
        REST.options({"pages": rest.Offset(size=10)}, {"PAGESIZE": 5})
    assert caught.value.condition == "OPTION_CONFLICT"
    with pytest.raises(epochal.OptionError, match=r"'bearerToken' twice: by rest.Bearer\(token=…\) and by rest.Bearer"):
        options(auth=[rest.Bearer("a"), rest.Bearer("b")])


class Writer:
    def trigger(self, **given: object) -> dict[str, object]:
        return given


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("availableNow", {"availableNow": True}),
        ("once", {"once": True}),
        ("5 seconds", {"processingTime": "5 seconds"}),
        ("5s", {"processingTime": "5 seconds"}),
        ("500ms", {"processingTime": "500 milliseconds"}),
        ("1 hour 30 minutes", {"processingTime": "1 hour 30 minutes"}),
        (timedelta(seconds=2), {"processingTime": "2000 milliseconds"}),
        ("continuous 1 second", {"continuous": "1 second"}),
    ],
)
def test_a_trigger_is_one_argument(text: Any, expected: dict[str, object]) -> None:
    writer: Any = Writer()
    found: Any = triggered(writer, text)
    assert found == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [("available_now", '"availableNow"'), ("soon", "5 seconds"), (True, "5 seconds"), ("continuous", "5 seconds")],
)
def test_an_invalid_trigger_is_refused_with_the_nearest_valid_one(text: Any, says: str) -> None:
    writer: Any = Writer()
    with pytest.raises(epochal.OptionError, match=says):
        triggered(writer, text)
