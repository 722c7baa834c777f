"""``rest.probe`` without Spark: secrets are sent and never printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import epochal
from epochal import Http, OptionError, Proxy, Secret, Tls, rest
from epochal.tools.probe.address import is_secret, variable
from support import lists
from support.api import Answer, Request
from support.lists import Lists, json_of
from support.probing import HIDDEN, guarded, probed, run_helper, run_plain, serving_body

ENVIRONMENT = {"TOKEN": "one", "API_KEY": "two", "PASSWORD": "three", "API_USER": "four", "TENANT": "five"}


@pytest.mark.parametrize(
    ("given", "query", "printed"),
    [
        ({"auth": rest.Bearer(HIDDEN)}, "", 'auth=rest.Bearer(Secret.env("TOKEN"))'),
        (
            {"auth": rest.Basic(user="me", password=HIDDEN), "headers": {"X-Tenant": HIDDEN}},
            "",
            'os.environ["API_USER"]',
        ),
        ({"auth": rest.ApiKey(HIDDEN)}, "", 'auth=rest.ApiKey(Secret.env("API_KEY"))'),
        ({"auth": rest.ApiKey(HIDDEN, param="key")}, "", 'auth=rest.ApiKey(Secret.env("KEY"), param="key")'),
        ({"headers": {"Authorization": f"Bearer {HIDDEN}"}}, "", 'auth=rest.Bearer(Secret.env("TOKEN"))'),
        ({"headers": {"X-Api-Key": HIDDEN}}, "", 'auth=rest.ApiKey(Secret.env("API_KEY"), header="X-Api-Key")'),
        ({"headers": {"X-Tenant": HIDDEN}}, "", 'headers={"X-Tenant": os.environ["TENANT"]}'),
        ({"params": {"api_key": HIDDEN}}, "", 'auth=rest.ApiKey(Secret.env("API_KEY"), param="api_key")'),
        ({}, f"?access_token={HIDDEN}", 'auth=rest.ApiKey(Secret.env("ACCESS_TOKEN"), param="access_token")'),
        ({}, f"?key={HIDDEN}&sig={HIDDEN}x", 'params={"sig": os.environ["SIG"]}'),
        (
            {"auth": [rest.Bearer("other"), rest.ApiKey(HIDDEN)]},
            "",
            'auth=[rest.Bearer(Secret.env("TOKEN")), rest.ApiKey(',
        ),
    ],
)
def test_secrets_are_sent_and_never_printed(given: dict[str, Any], query: str, printed: str) -> None:
    with lists.serving(guarded) as api:
        found = probed(api.url + query, **given)
    assert found.complete
    assert printed in found.call
    texts = [str(found), repr(found), json.dumps(found.as_dict()), found._repr_html_(), repr(dict(found.options))]
    assert [text for text in texts if HIDDEN in text or "bWU6" in text] == []


def test_a_program_with_variables_of_the_environment_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with lists.serving(guarded) as api:
        given = {"auth": rest.Basic(user="me", password=HIDDEN), "headers": {"X-Tenant": HIDDEN, "X-Api-Version": "2"}}
        found = probed(api.url, **given)
    for name, text in ENVIRONMENT.items():
        monkeypatch.setenv(name, text)
    _, named = run_helper(found.call)
    assert named["headers"] == {"X-Api-Version": "2", "X-Tenant": "five"} or named["headers"] == {
        "X-Tenant": "five",
        "X-Api-Version": "2",
    }
    assert named["auth"] == rest.Basic(user="four", password=Secret.env("PASSWORD"))
    plain = run_plain(found.plain).options
    assert plain["headers.X-Tenant"] == "five"
    assert plain["user"] == "four"
    assert plain["passwordEnv"] == "PASSWORD"
    assert found.options["user"] == "$API_USER"


def test_secrets_are_read_from_files_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_TOKEN", HIDDEN)
    (tmp_path / "key").write_text(f"{HIDDEN}\n", "utf-8")
    with lists.serving(guarded) as api:
        found = probed(
            api.url, auth=[rest.Bearer(Secret.env("PROBE_TOKEN")), rest.ApiKey(Secret.file(tmp_path / "key"))]
        )
        assert api.requests[0].headers["authorization"] == f"Bearer {HIDDEN}"
        assert api.requests[0].headers["x-api-key"] == HIDDEN
    assert 'Secret.env("PROBE_TOKEN")' in found.call
    assert f'Secret.file("{tmp_path}/key")' in found.call
    assert HIDDEN not in str(found)
    monkeypatch.delenv("PROBE_TOKEN")
    with pytest.raises(OptionError, match=r"PROBE_TOKEN.*no such variable"):
        probed(api.url, auth=rest.Bearer(Secret.env("PROBE_TOKEN")))
    with pytest.raises(OptionError, match="cannot be read from"):
        probed(api.url, auth=rest.Bearer(Secret.file(tmp_path / "none")))


def test_a_secret_of_several_lines_is_refused_without_showing_it(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{HIDDEN}\n\n", "utf-8")
    with lists.serving(guarded) as api:
        with pytest.raises(OptionError, match=r"SECRET_UNREADABLE.*more than one line"):
            probed(api.url, auth=rest.Bearer(Secret.file(tmp_path / "key")))
        with pytest.raises(epochal.HttpError, match="a character that is not allowed") as caught:
            probed(api.url, auth=rest.Bearer(f"{HIDDEN}\n"))
    assert HIDDEN not in str(caught.value)


def test_an_error_that_repeats_a_secret_does_not_show_it() -> None:
    echo: Callable[[Lists, Request], Answer] = lambda api, request: json_of(request.headers, status=403)  # noqa: E731
    with lists.serving(echo) as api, pytest.raises(epochal.HttpError) as caught:
        probed(f"{api.url}?token={HIDDEN}q", headers={"X-Tenant": HIDDEN}, auth=rest.Bearer(f"{HIDDEN}-bearer"))
    assert HIDDEN not in str(caught.value)
    assert "does not accept these credentials" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", f"<html><title>No {HIDDEN}</title></html>"),
        ("application/json", json.dumps({HIDDEN: 1})),
        ("application/json", f'{{"{HIDDEN}"'),
    ],
)
def test_a_body_that_repeats_a_secret_does_not_show_it(kind: str, body: str) -> None:
    with serving_body(body.encode(), Content_Type=kind) as api, pytest.raises(epochal.EpochalError) as caught:
        probed(api.url, headers={"X-Tenant": HIDDEN})
    assert HIDDEN not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_key_is_sent_with_links_that_do_not_contain_it() -> None:
    def keyed(api: Lists, request: Request) -> Answer:
        if request.params.get("key") != HIDDEN:
            return json_of({}, status=401)
        start = int(request.params.get("start_at", 0))
        more = start + 10 < len(api.records)
        return json_of({"data": api.part(start), "next": f"{api.url}?start_at={start + 10}" if more else None})

    with lists.serving(keyed) as api:
        assert probed(api.url, auth=rest.ApiKey(HIDDEN, param="key")).options["nextUrl"] == "/next"


def test_request_settings_are_in_the_program_without_secrets() -> None:
    with lists.serving(lists.whole) as api:
        proxy = Proxy(url=api.url.removesuffix("/comments"), user="me", password=HIDDEN)
        found = probed("http://api.example.com/people", http=Http(timeout="3s", proxy=proxy))
        assert api.requests[0].headers["proxy-authorization"].startswith("Basic ")
        assert api.requests[0].headers["host"] == "api.example.com"
    assert 'http=Http(timeout="3s", proxy=Proxy(url=' in found.call
    assert 'user=os.environ["PROXY_USER"], password=Secret.env("PROXY_PASSWORD")' in found.call
    assert "from epochal import Http, Proxy, Secret, rest" in found.call
    assert HIDDEN not in str(found)


def test_unusable_tls_files_are_named_errors(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", "utf-8")
    with pytest.raises(OptionError, match="tls=Tls") as caught:
        probed("https://127.0.0.1:1/", http=Http(tls=Tls(ca_file=tmp_path / "ca.pem")))
    assert caught.value.condition == "TLS_INVALID"


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "X-API-Key", "access_token", "sig", "password", "X-Auth-Token", "key"]
)
def test_names_that_suggest_a_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["page", "page_token", "pageToken", "sort_key", "monkey", "limit", "keyword", "sort"])
def test_names_that_suggest_no_secret(name: str) -> None:
    assert not is_secret(name)


def test_variables_are_named_after_headers_and_parameters() -> None:
    assert [variable(name) for name in ("X-Api-Key", "apiKey", "X", "2fa", "x-tenant-id")] == [
        "API_KEY",
        "API_KEY",
        "X",
        "API_2FA",
        "TENANT_ID",
    ]
