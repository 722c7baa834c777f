"""The packaged wheel is complete: it is installed offline into an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "version.txt").read_text("utf-8").strip()
JAR = ROOT / "dist" / f"epochal-spark_2.13-{VERSION}.jar"


@pytest.fixture(scope="module")
def wheel() -> Path:
    path = ROOT / "dist" / f"epochal-{VERSION}-py3-none-any.whl"
    if not path.is_file():
        pytest.fail(f"{path} is missing: run 'make wheel' first")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Interpreter of an environment with only this wheel."""
    directory = tmp_path_factory.mktemp("wheel")
    venv.create(directory, with_pip=False, symlinks=True)
    python = directory / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", str(wheel))
    return python


def run(*command: str, directory: Path | None = None) -> str:
    """Standard output of a command, which must succeed, without Epochal's environment variables of this process."""
    unset = {"EPOCHAL_JAR", "PYTHONPATH"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wheel_contains_the_jar_of_its_version(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        jars = [name for name in opened.namelist() if name.endswith(".jar")]
        assert jars == [f"epochal/jars/{JAR.name}"]
        assert opened.read(jars[0]) == JAR.read_bytes()
        with zipfile.ZipFile(JAR) as jar:
            assert opened.read("epochal/conditions.json") == jar.read("io/epochal/core/error/conditions.json")


def test_the_wheel_documents_each_field_of_a_value(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        source = opened.read("epochal/_values/pages.py").decode()
        assert len(opened.namelist()) == len(set(opened.namelist()))
    assert "        offset_param: Parameter for the number of records to skip." in source


@pytest.mark.slow
def test_the_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    hatch = (sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path))
    run(*hatch, "-t", "sdist", directory=ROOT / "python")
    with tarfile.open(tmp_path / f"epochal-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    run(*hatch, "-t", "wheel", directory=tmp_path / f"epochal-{VERSION}")
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_wheel_is_imported_as_it_is_as_spark_submit_does_with_py_files(wheel: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(wheel)!r}); import epochal.errors, epochal.tools.display.widget as last"
    )
    assert run(sys.executable, "-c", f"{program}; print(last.__file__)").startswith(f"{wheel}{os.sep}")


def test_the_wheel_is_typed_and_licensed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        metadata = Parser().parsestr(opened.read(f"epochal-{VERSION}.dist-info/METADATA").decode())
    assert "epochal/py.typed" in names
    assert {f"epochal-{VERSION}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")} <= set(names)
    assert metadata["License-Expression"] == "Apache-2.0"


def test_spark_is_an_extra_and_no_import_needs_it(installed: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        metadata = Parser().parsestr(opened.read(f"epochal-{VERSION}.dist-info/METADATA").decode())
    needed = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert not any("pyspark" in text for text in needed)
    assert run(str(installed), "-I", "-c", "import epochal; print(epochal.__version__)") == VERSION


def test_the_library_has_no_dependencies_and_info_says_what_to_install(installed: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        metadata = Parser().parsestr(opened.read(f"epochal-{VERSION}.dist-info/METADATA").decode())
    assert [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text] == []
    assert any("rich" in text and "cli" in text for text in metadata.get_all("Requires-Dist", []))
    assert VERSION in run(str(installed), "-I", "-m", "epochal", "--version")
    done = subprocess.run([str(installed), "-I", "-m", "epochal", "info"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "rich: For the demo: pip install rich" in done.stdout


def test_the_installed_package_finds_its_jar(installed: Path) -> None:
    path = Path(run(str(installed), "-I", "-c", "import epochal; print(epochal.jar_path())"))
    assert path.name == JAR.name
    assert path.read_bytes() == JAR.read_bytes()
