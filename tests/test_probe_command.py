"""The result of ``rest.probe``, and ``python -m epochal probe``, without Spark and without rich."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest

from epochal import Secret, rest
from epochal.__main__ import main
from support import documents, example_api, lists
from support.probing import HIDDEN, guarded, probed


def test_a_probe_is_frozen_and_can_be_kept() -> None:
    with lists.serving(lists.limit_offset) as api:
        found = probed(api.url)
    with pytest.raises(FrozenInstanceError):
        found.call = ""  # type: ignore[misc]
    with pytest.raises(TypeError):
        found.options["url"] = ""  # type: ignore[index]
    assert pickle.loads(pickle.dumps(found)) == found
    assert repr(found).startswith("rest.Probe('http://127.0.0.1:")
    assert "pages=\"next URL at '/next'\"" in repr(found)
    assert "<pre>" in found._repr_html_()
    assert "&#x27;" in found._repr_html_()
    assert json.loads(json.dumps(found.as_dict()))["options"]["pagination"] == "next-url"
    assert found.find("nothing") is None
    assert found.call in str(found) + "\n"


def test_the_command_prints_the_findings(capsys: pytest.CaptureFixture[str]) -> None:
    with lists.serving(lists.limit_offset) as api:
        assert main(["probe", api.url, "--delay", "0"]) == 0
        shown = capsys.readouterr().out
        assert 'pages=rest.NextUrl(next="/next")' in shown
        assert '.option("nextUrl", "/next")' in shown
        assert main(["probe", api.url, "--delay", "0", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["options"]["nextUrl"] == "/next"


def test_the_page_shows_the_output_of_a_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    with example_api.serving() as api:
        host = api.url.removesuffix("/comments")
        found = probed(f"{host}/v2/orders", auth=rest.Bearer(Secret.env("TOKEN")))
    (shown,) = documents.page("docs/probe.md").blocks("text")
    printed, _, _ = str(found).replace(host, "https://api.example.com").partition("# Spark alone\n")
    assert printed.rstrip() + "\n" == shown.text


def test_the_exit_code_of_the_command_shows_the_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    with lists.serving(lists.stuck) as api:
        assert main(["probe", api.url, "--delay", "0", "--requests", "20"]) == 3
    assert "# Incomplete" in capsys.readouterr().out
    assert main(["probe", "http://127.0.0.1:1/"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("HTTP_UNREACHABLE: ")
    assert main(["probe", "http://127.0.0.1:1/", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["condition"] == "HTTP_UNREACHABLE"
    assert main(["probe"]) == 2


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (["--auth", f"bearer:{HIDDEN}"], ("authorization", f"Bearer {HIDDEN}")),
        (["--auth", "bearer:env:PROBE_TOKEN"], ("authorization", f"Bearer {HIDDEN}")),
        (["--auth", f"header:X-Key:{HIDDEN}"], ("x-key", HIDDEN)),
        (["--header", f"X-Key: {HIDDEN}"], ("x-key", HIDDEN)),
        (["--auth", "param:key:env:PROBE_TOKEN"], None),
        (["--param", f"key={HIDDEN}"], None),
        (["--auth", f"basic:me:{HIDDEN}", "--header", f"X-Key: {HIDDEN}"], ("x-key", HIDDEN)),
    ],
)
def test_the_command_sends_secrets_and_prints_none(
    arguments: list[str],
    sent: tuple[str, str] | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROBE_TOKEN", HIDDEN)
    with lists.serving(guarded) as api:
        assert main(["probe", api.url, "--delay", "0", *arguments]) == 0
        assert sent is None or api.requests[0].headers[sent[0]] == sent[1]
    assert HIDDEN not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--auth", "bearer"], ["--auth", f"other:{HIDDEN}"], ["--header", HIDDEN], ["--param", HIDDEN]]
)
def test_the_command_refuses_unknown_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "http://127.0.0.1:1/", *arguments]) == 1
    output = capsys.readouterr()
    assert "OPTION_INVALID" in output.err
    assert HIDDEN not in output.out + output.err


@pytest.mark.parametrize(
    ("url", "argument", "said"),
    [
        (
            "http://127.0.0.1:1/",
            "--timeout=soon",
            "The argument --timeout is 'soon'{}like this: --timeout 30s.",
        ),
        ("http://127.0.0.1:1/", "--requests=0", "The argument --requests is not {}Set it like this: --requests 20."),
        ("http://127.0.0.1:1/", "--delay=99", "The argument --delay is not {}Set it like this: --delay 0.2."),
        ("comments", "--delay=0", "The argument url is 'comments', {}Set it like this: \"https://"),
        ("http://a:b@h/", "--delay=0", "The argument url contains a login.{}(--auth on the command line)."),
    ],
)
def test_the_command_names_its_own_arguments(
    url: str, argument: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", url, argument]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("OPTION_INVALID: ")
    assert [part for part in said.split("{}") if part not in shown] == []


def test_a_probe_needs_neither_spark_nor_rich() -> None:
    program = """
import sys
sys.modules |= {name: None for name in ("pyspark", "py4j", "rich")}
from epochal.__main__ import main
sys.exit(main(["probe", sys.argv[1], "--delay", "0", "--timeout", "5s"]))
"""
    with lists.serving(lists.echoing) as api:
        done = subprocess.run(
            [sys.executable, "-c", program, api.url], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr
    assert 'rest.Offset(offset_param="offset", limit_param="limit", size=10, key="/id")' in done.stdout
