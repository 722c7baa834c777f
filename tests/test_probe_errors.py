"""``rest.probe`` without Spark: unreadable responses and invalid arguments."""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import epochal
from epochal import Http, OptionError, rest
from epochal.tools.probe import client
from support import lists, shapes
from support.api import Answer, Api, Request, serve
from support.lists import Lists, json_of
from support.probing import HIDDEN, probed, run_helper, serving_body

PAGE = b"<!doctype html><html><head><title>Sign in</title></head><form><input type='password'></form></html>"


@pytest.mark.parametrize(
    ("body", "status", "kind", "condition", "said"),
    [
        (b"", 401, "application/json", "HTTP_STATUS", "status 401.*--auth"),
        (b'{"message": "no"}', 403, "application/json", "HTTP_STATUS", 'status 403: {"message": "no"}.*--auth'),
        (b"", 404, "application/json", "HTTP_STATUS", "Check the path"),
        (b"", 500, "application/json", "HTTP_STATUS", "The server failed"),
        (b"", 400, "application/json", "HTTP_STATUS", "documentation lists required parameters"),
        (PAGE, 200, "text/html", "HTTP_BODY_INVALID", "HTML page titled 'Sign in'.*login page"),
        (b"<html><body>Hi</body></html>", 200, "text/html", "HTTP_BODY_INVALID", "address is for browsers"),
        (b"<?xml version='1.0'?><a/>", 200, "application/xml", "HTTP_BODY_INVALID", "XML"),
        (b'[{"id": 1}, {"id"', 200, "application/json", "HTTP_BODY_INVALID", "it is not JSON"),
        (b"[" * 100_000, 200, "application/json", "HTTP_BODY_INVALID", "nested too deeply"),
        (b'[{"id": ' + b"9" * 5000 + b"}]", 200, "application/json", "HTTP_BODY_INVALID", "it is not JSON"),
        (b'[{"id": NaN}]', 200, "application/json", "HTTP_BODY_INVALID", "NaN is no JSON"),
        (b"", 200, "application/json", "RECORDS_NOT_FOUND", "is empty"),
        (b'{"id": 1, "name": "x"}', 200, "application/json", "RECORDS_NOT_FOUND", "its fields are id, name"),
        (b'{"items": []}', 200, "application/json", "RECORDS_NOT_FOUND", "an empty array at '/items'"),
        (b'{"1": {"a": 1}, "2": {"b": 2}}', 200, "application/json", "RECORDS_NOT_FOUND", "objects under names"),
        (b"[1, 2]", 200, "application/json", "RECORDS_NOT_FOUND", "array of int"),
        (b"true", 200, "application/json", "RECORDS_NOT_FOUND", "is bool"),
        (b"just words\nof text", 200, "text/plain", "HTTP_BODY_INVALID", "CSV"),
        (b"a,b\n1,2,3\n", 200, "text/csv", "HTTP_BODY_INVALID", "different numbers of fields"),
        (b"a,b\n", 200, "text/csv", "RECORDS_NOT_FOUND", "CSV without records"),
    ],
)
def test_an_unreadable_response_is_a_named_error(
    body: bytes, status: int, kind: str, condition: str, said: str
) -> None:
    with (
        serving_body(body, status, Content_Type=kind) as api,
        pytest.raises(epochal.EpochalError, match=said) as caught,
    ):
        probed(api.url)
    assert caught.value.condition == condition
    assert caught.value.hint
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("stub", "path", "pages"),
    [
        (shapes.notion, "v1/search", r"rest\.Cursor\(next=…, body=…\)"),
        (shapes.github_graphql, "graphql", r"rest\.GraphQL"),
    ],
)
def test_an_api_that_expects_a_post_is_named_as_one(stub: shapes.Shape, path: str, pages: str) -> None:
    with (
        shapes.serving(stub) as api,
        pytest.raises(epochal.HttpError, match=f"status 400.*{pages}"),
    ):
        probed(api.url.replace("comments", path))


@pytest.mark.parametrize("depth", [100, 900])
def test_deeply_nested_records_are_read_or_refused(depth: int) -> None:
    body = b'[{"id": 1, "a": ' + b'{"a": ' * depth + b"1" + b"}" * depth + b"}]"
    with serving_body(body) as api:
        try:
            said = probed(api.url).doubts[0]
        except epochal.HttpError as error:
            said = error.problem
    assert "nested too deeply" in said


def test_an_unreachable_api_is_a_named_error() -> None:
    with pytest.raises(epochal.HttpError, match=r"127\.0\.0\.1:1/x could not be reached: Connection refused") as caught:
        probed("http://127.0.0.1:1/x")
    assert caught.value.condition == "HTTP_UNREACHABLE"
    with pytest.raises(epochal.HttpError, match=r"host name nowhere\.invalid cannot be resolved"):
        probed("http://nowhere.invalid/x")


def test_a_server_that_does_not_respond_is_a_named_error() -> None:
    with serve(Api()) as api:
        api.hold.clear()
        with pytest.raises(epochal.HttpError, match=r"did not respond within 0\.2 s") as caught:
            probed(api.url, http=Http(timeout="200ms"))
    assert caught.value.condition == "HTTP_TIMEOUT"


def test_an_endless_response_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_DEADLINE", 0.3)
    with dripping() as url, pytest.raises(epochal.HttpError, match=r"did not respond within 0\.3 s"):
        probed(url)


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends an endless header."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while not ended.wait(0.02):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        ended.set()
        thread.join(10)


def test_a_response_that_is_too_large_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST", 1000)
    bomb = gzip.compress(json.dumps([{"id": n} for n in range(1000)]).encode())
    with (
        serving_body(b"[" + b" " * 2000 + b"]") as api,
        pytest.raises(epochal.HttpError, match="larger than 1000 bytes"),
    ):
        probed(api.url)
    with serving_body(bomb, Content_Encoding="gzip") as api, pytest.raises(epochal.HttpError, match="larger than 1000"):
        probed(api.url)


def test_gzip_is_read_and_truncated_gzip_is_an_error() -> None:
    packed = gzip.compress(json.dumps(lists.records(5)).encode())
    with serving_body(packed, Content_Encoding="gzip") as api:
        assert probed(api.url).schema == "id BIGINT, name STRING"
    with (
        serving_body(packed[:-9], Content_Encoding="gzip") as api,
        pytest.raises(epochal.HttpError, match="it was cut"),
    ):
        probed(api.url)
    with serving_body(packed, Content_Encoding="br") as api, pytest.raises(epochal.HttpError, match="encoding is br"):
        probed(api.url)


def test_a_body_is_read_in_the_charset_and_coding_that_its_headers_name() -> None:
    text = "id,name\n1,Zoë\n2,Zoé\n"
    for charset in ("ISO-8859-1", "utf-16", "utf-8"):
        headers = {"Content_Type": f'text/csv; Charset="{charset}"', "Content_Encoding": "GZIP, identity"}
        with serving_body(gzip.compress(text.encode(charset)), 200, **headers) as api:
            assert probed(api.url).schema == "id BIGINT, name STRING"
    for charset, said in (("klingon", "its charset klingon is unknown"), ("euc-jp", "it is not in euc-jp")):
        with (
            serving_body(text.encode("latin-1"), Content_Type=f"text/csv; charset={charset}") as api,
            pytest.raises(epochal.HttpError, match=said),
        ):
            probed(api.url)
    with (
        serving_body(gzip.compress(text.encode()), Content_Type="text/csv") as api,
        pytest.raises(epochal.HttpError, match="compressed by gzip"),
    ):
        probed(api.url)


def test_a_redirection_on_the_same_server_is_followed() -> None:
    def slash(api: Lists, request: Request) -> Answer:
        return lists.whole(api, request) if request.path.endswith("/") else (301, b"", {"Location": "/comments/"})

    with lists.serving(slash) as api:
        found = probed(f"{api.url}?sort=id")
    assert found.options["url"].startswith(f"{api.url}/")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("https://other.invalid/x?token=s3cret", "https://other.invalid/x.*set url to that address"),
        ("/login?next=/comments", "login page"),
    ],
)
def test_a_redirection_to_another_server_is_refused(target: str, said: str) -> None:
    with lists.serving(lambda api, request: (302, b"", {"Location": target})) as api:
        with pytest.raises(epochal.HttpError, match=said) as caught:
            probed(api.url, headers={"X-Api-Key": HIDDEN})
        assert len(api.requests) == 1
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://x/y", "comments", "", "http://", "http://x:y/", "http://a b/"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"is '{url}', which is not an HTTP address")):
        probed(url)


def test_an_invalid_address_is_shown_without_its_login_and_parameters() -> None:
    with pytest.raises(OptionError, match=r"is 'ftp://\*\*\*@x/y', which") as caught:
        probed(f"ftp://me:{HIDDEN}@x/y?key={HIDDEN}")
    assert HIDDEN not in str(caught.value)


def test_a_login_in_the_address_is_refused_and_hidden() -> None:
    with pytest.raises(OptionError, match=r"rest\.Basic") as caught:
        probed(f"http://me:{HIDDEN}@api.example.com/x")
    assert HIDDEN not in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"requests": 0}, {"requests": True}, {"delay": -1}, {"delay": 1000}, {"headers": {"a b": "c"}}]
)
def test_invalid_arguments_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        rest.probe("http://127.0.0.1:1/", **given)


def test_arguments_that_need_the_jar_are_refused() -> None:
    auth = rest.OAuth2(token_url="https://x/", client_id="me", client_secret=HIDDEN)
    with pytest.raises(OptionError, match="OAuth2, which only the jar uses") as caught:
        probed("http://127.0.0.1:1/", auth=auth)
    assert HIDDEN not in str(caught.value)


def test_control_characters_of_a_server_are_not_printed() -> None:
    def hostile(api: Lists, request: Request) -> Answer:
        records = [{**record, "\x1b[31mred": 1} for record in api.records]
        return json_of({"\x1b]0;x": records, "next\x1b": None}, {"X-RateLimit-\x7f": "\x1b[2J"})

    with lists.serving(hostile) as api:
        found = probed(api.url)
    assert "\x1b" not in str(found)
    assert "\x7f" not in str(found)
    _, named = run_helper(found.call)
    assert named["schema"] == "id BIGINT, name STRING, `\x1b[31mred` BIGINT"
    assert named["records"] == rest.Json("/\x1b]0;x")
