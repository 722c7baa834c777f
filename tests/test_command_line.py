"""Errors of all commands, which have one format, and ``epochal info``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from epochal import DatabaseError
from epochal.__main__ import main, parser
from epochal._calls import Call, calling
from epochal._declarations import LEDGER
from epochal.errors import named
from epochal.tools import cli
from epochal.tools.cli import info, shared
from support.checkpoints import of_kind

#: A command line of each command that fails before it needs anything, and its condition.
FAILING = {
    "probe": ("probe http://127.0.0.1:1/", "HTTP_UNREACHABLE"),
    "cdc check": ("cdc check postgresql://127.0.0.1/x --table t", "OPTION_INVALID"),
    "status": ("status {missing}", "CHECKPOINT_NOT_FOUND"),
    "checkpoint show": ("checkpoint show {missing}", "CHECKPOINT_NOT_FOUND"),
    "checkpoint diff": ("checkpoint diff {place} 0 7", "EPOCH_NOT_FOUND"),
    "checkpoint rewind": ("checkpoint rewind {place} --to 7", "EPOCH_NOT_FOUND"),
    "checkpoint restore": ("checkpoint restore {place} --epoch 1", "REPAIR_REFUSED"),
    "checkpoint fork": ("checkpoint fork {place} {place}", "REPAIR_REFUSED"),
    "ledger list": ("ledger list --url jdbc:sqlite:{missing}", "DATABASE_UNREACHABLE"),
    "ledger show": ("ledger show s --url jdbc:sqlite:{missing}", "DATABASE_UNREACHABLE"),
    "ledger forget": ("ledger forget s --url jdbc:sqlite:{missing}", "DATABASE_UNREACHABLE"),
    "ledger set": ("ledger set s --epoch 1 --checkpoint x --url jdbc:sqlite:{missing}", "DATABASE_UNREACHABLE"),
    "demo": ("demo --database-url jdbc:oracle:x", "DATABASE_UNSUPPORTED"),
    "replicate": ("replicate jdbc:postgresql://x jdbc:sqlite:x --tables public.*", "OPTION_REQUIRED"),
}
#: Commands without ``--json``.
PLAIN = ("demo", "replicate")


@pytest.mark.parametrize("command", FAILING)
def test_an_error_of_each_command_has_one_format(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(info, "require", lambda: None)
    line, condition = FAILING[command]
    arguments = line.format(missing=tmp_path / "missing", place=of_kind(tmp_path / "place", "files")).split()
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err.startswith(f"{condition}: ")) == ("", True), shown
    if command not in PLAIN:
        assert main([*arguments, "--json"]) == 1
        shown = capsys.readouterr()
        error = json.loads(shown.out)["error"]
        assert (error["condition"], error["problem"] in shown.err) == (condition, True)


@pytest.mark.parametrize("command", [*FAILING, "info"])
def test_an_invalid_command_line_has_the_format_of_an_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = FAILING.get(command, (command, ""))[0].format(missing="x", place="y").split()
    assert main([*line, "--colour", "hunter2", "--json"][: None if command not in PLAIN else -1]) == 2
    shown = capsys.readouterr()
    assert "hunter2" not in shown.out + shown.err
    assert shown.err.startswith(f"OPTION_UNKNOWN: epochal {command} has no argument --colour.\n")
    assert command in PLAIN or json.loads(shown.out)["error"]["condition"] == "OPTION_UNKNOWN"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "OPTION_REQUIRED: epochal needs command."),
        ("statsu x", "OPTION_INVALID: epochal: argument command: invalid choice: 'statsu'"),
        ("status", "OPTION_REQUIRED: epochal status needs checkpoint.\nSee the arguments: epochal status --help."),
        ("status x --ulr y", "OPTION_UNKNOWN: epochal status has no argument --ulr.\nDid you mean --url?"),
        ("status x --u y", "has no argument --u.\nDid you mean --url or --user?"),
        ("status x --pass y", "has no argument --pass.\nOther users can see arguments: set PGPASSWORD, or use --pass"),
        ("info --password y", "has no argument --password.\nSee the arguments: epochal info --help."),
        ("status x y", "OPTION_INVALID: epochal status: unexpected argument: y."),
        ("checkpoint rewind x --to end", "it is neither the number of an epoch nor 'start'"),
        ("checkpoint diff x 0 b", "OPTION_INVALID: epochal checkpoint diff: argument second: invalid int value: 'b'."),
    ],
)
def test_an_invalid_command_line_names_the_argument(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("line", ["status x --url u", "ledger list --url u", "demo"])
@pytest.mark.parametrize("form", ["--password hunter2", "--password=hunter2"])
def test_a_password_is_no_argument_and_is_not_shown(line: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*line.split(), *form.split()]) == 2
    shown = capsys.readouterr().err
    assert "hunter2" not in shown
    assert "PGPASSWORD" in shown


def test_the_demo_takes_the_password_from_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEMO", "one")
    monkeypatch.setenv("PGPASSWORD", "two")
    (tmp_path / "file").write_text("three\n")
    for arguments, found in (
        (["--password-env", "DEMO"], "one"),
        ([], "two"),
        (["--password-file", str(tmp_path / "file")], "three"),
    ):
        password = shared.password(parser().parse_args(["demo", *arguments]))
        assert password is not None
        assert password.here().value == found


def test_info_prints_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = [info.Finding("Python", "3.12.1"), info.Finding("Java", "not found", "Install a JDK")]
    monkeypatch.setattr(info, "findings", lambda: found)
    assert main(["info", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == [
        {"name": "Python", "found": "3.12.1", "ok": True, "needed": True, "remedy": ""},
        {"name": "Java", "found": "not found", "ok": False, "needed": True, "remedy": "Install a JDK"},
    ]
    assert main(["info"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ok       Python  3.12.1",
        "missing  Java    not found",
        "Java: Install a JDK",
    ]


def test_only_the_demo_needs_rich(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "require", lambda: None)
    monkeypatch.delitem(sys.modules, "epochal.tools.cli.terminal", raising=False)
    monkeypatch.delattr(cli, "terminal", raising=False)
    for name in ("rich", "rich.console"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == (
        "EXTRA_MISSING: epochal demo needs rich, which is not installed.\npip install rich\n"
    )
    monkeypatch.setattr(info, "findings", lambda: [info.Finding("Python", "3.12.1")])
    assert main(["info"]) == 0


class SparkError(Exception):
    """An error as Py4J prints it."""

    __module__ = "py4j.protocol"

    def __str__(self) -> str:
        return "An error occurred while calling o1.load.\n: java.io.IOException: no such host\n\tat java.base"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SparkError(), "SPARK_FAILED: java.io.IOException: no such host\n"),
        (PermissionError(13, "Permission denied", "/data"), "FILE_ERROR: /data cannot be used: Permission denied.\n"),
    ],
)
def test_errors_of_files_and_of_spark_have_the_same_format(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> list[Any]:
        raise error

    monkeypatch.setattr(info, "findings", fails)
    assert main(["info"]) == 1
    assert capsys.readouterr().err.startswith(said)


class JarError(Exception):
    """An error of the jar as PySpark passes it on."""

    _markup = (
        "[EPOCHAL.LOGIN_REFUSED] The database x refused the login: no. Hint: Check {option:user} and "
        "{option:password} (or {option:passwordFile}, {option:passwordEnv}), or {option:lockTimeout=1m}."
    )

    def __str__(self) -> str:
        return "[EPOCHAL.LOGIN_REFUSED] The database x refused the login: no. Hint: Check user and password."


def test_an_error_of_the_jar_names_the_arguments_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **given: Any) -> list[Any]:
        with calling([Call(LEDGER, ())]), named():
            raise JarError

    monkeypatch.setattr(info, "findings", fails)
    assert main(["info"]) == 1
    assert capsys.readouterr().err == (
        "LOGIN_REFUSED: The database x refused the login: no.\n"
        "Check --user and PGPASSWORD (or --password-file, --password-env), or lockTimeout=1m.\n"
    )
    with pytest.raises(DatabaseError, match=r'Check user and password \(or password=Secret.file\("…"\), '):
        fails()


def test_a_dependency_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "java", lambda: info.Finding("Java", "not found", "Install a JDK"))
    with pytest.raises(Exception, match=r"DEPENDENCY_MISSING.*Java: not found\. Hint: Install a JDK"):
        info.require()
