"""The public API, and nothing else."""

from __future__ import annotations

import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import epochal
from epochal import cdc, errors, jdbc, read, rest, testing, write
from support.places import ROOT, VERSION


@pytest.mark.parametrize("module", [epochal, errors, jdbc, read, rest, testing, write])
def test_every_name_that_a_module_lists_exists_and_is_listed_once(module: ModuleType) -> None:
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("module", [epochal, errors, jdbc, read, rest, testing, write])
def test_all_lists_exactly_the_public_names(module: ModuleType) -> None:
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.startswith("epochal")
    }
    assert module.__dir__() == sorted(module.__all__)
    assert dir(module) == sorted(module.__all__)
    assert {name for name in own if vars(module)[name].__module__ == module.__name__} - {"own_kind"} <= {
        *module.__all__
    }


def test_modules_are_private_except_eight_and_the_tools() -> None:
    names = {module.name for module in pkgutil.iter_modules(epochal.__path__)}
    public = {name for name in names if not name.startswith("_")}
    assert public == {"cdc", "errors", "ingest", "jdbc", "read", "rest", "testing", "write"} | {"tools"}


def test_tools_are_imported_when_they_are_used() -> None:
    code = (
        "import sys, epochal; assert not any(name.startswith('epochal.tools') for name in sys.modules); "
        "assert epochal.watch and epochal.testing.check_source and epochal.rest.probe; "
        "assert {'epochal.tools.watch', 'epochal.tools.testing', 'epochal.tools.probe'} <= {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_documented() -> None:
    for module in (cdc, errors, jdbc, read, rest, testing, write, epochal):
        assert module.__doc__
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert value.__doc__, name


def test_the_api_reference_has_every_public_name() -> None:
    parts = re.split(r"^::: ", (ROOT / "docs/api.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    modules = {module.__name__ for module in (epochal, cdc, errors, epochal.ingest, jdbc, read, rest, testing, write)}
    assert {part.split()[0] for part in parts} == modules
    listed = re.findall(r"\w+", parts[0].partition("members:")[2])
    shown_with_its_module = {"__version__", *errors.__all__, *(name.removeprefix("epochal.") for name in modules)}
    assert sorted(listed) == sorted(set(epochal.__all__) - shown_with_its_module)


#: Global state that ``epochal`` may change: how PySpark, Python and IPython show errors and queries.
BEFORE = """
import sys
from unittest.mock import MagicMock
from IPython.core.interactiveshell import InteractiveShell
from pyspark.errors.exceptions import captured, connect
from pyspark.sql import SparkSession

shell = InteractiveShell.instance()

def state():
    printers = [sorted(one.deferred_printers) for one in shell.display_formatter.formatters.values()]
    return [sys.excepthook, captured.convert_exception, connect.convert_exception, printers]

before = state()
import epochal
from epochal import cdc, errors, ingest, jdbc, read, rest, testing, write
epochal.watch, epochal.display, epochal.checkpoint, epochal.ledger, rest.probe
"""


def in_a_new_process(code: str, place: Path) -> None:
    environment = {**os.environ, "IPYTHONDIR": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_an_import_does_not_change_global_state(tmp_path: Path) -> None:
    in_a_new_process("assert state() == before", tmp_path)


@pytest.mark.parametrize(
    "call",
    [
        'epochal.configure(SparkSession.builder.remote("sc://127.0.0.1:1"))',
        pytest.param("epochal.read.random(MagicMock())", marks=pytest.mark.slow),
        pytest.param(
            "epochal.write.jdbc(MagicMock(isStreaming=False), 'jdbc:sqlite:x.db', table='t')", marks=pytest.mark.slow
        ),
        pytest.param("epochal.queries(MagicMock())", marks=pytest.mark.slow),
    ],
)
def test_the_first_call_for_a_session_installs_error_and_query_display_once(call: str, tmp_path: Path) -> None:
    in_a_new_process(
        f"""
{call}
after = state()
assert [new == old for new, old in zip(after, before)] == [False] * 4
{call}
epochal.configure(SparkSession.builder.remote("sc://127.0.0.1:1"))
assert state() == after
""",
        tmp_path,
    )


def test_the_version_is_the_repositorys() -> None:
    assert epochal.__version__ == VERSION


def test_the_package_is_typed() -> None:
    assert (Path(epochal.__file__).parent / "py.typed").is_file()


def test_every_error_is_exported_flat_and_shown_in_the_tree() -> None:
    for name in errors.__all__:
        value = getattr(errors, name)
        if inspect.isclass(value):
            assert issubclass(value, epochal.EpochalError)
            assert getattr(epochal, name) is value
            assert errors.__doc__
            assert name in errors.__doc__


def test_readers_and_writers_do_not_touch_the_jvm() -> None:
    source = ROOT / "python" / "src" / "epochal"
    for name in ("read.py", "write.py", "_options.py", "errors.py"):
        text = (source / name).read_text("utf-8")
        assert "_jvm" not in text, name
        assert "import py4j" not in text, name
        assert "from py4j" not in text, name
