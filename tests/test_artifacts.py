"""Artifacts of ``make publish-local``: POMs, jars, and projects that use them."""

from __future__ import annotations

import re
import shutil
import sqlite3
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from support import consumers
from support.consumers import REPOSITORY, SCALA, run, write
from support.places import ROOT, VERSION

pytestmark = pytest.mark.slow

ARTIFACTS = ("epochal-spark", "epochal-kit", "epochal-testkit", "epochal-core")
POM = "{*}"  # any namespace

SPARK = {f"spark-sql_{SCALA}": "provided"}
LANGUAGE = {"scala-library": "compile"}
CORE = {f"epochal-core_{SCALA}": "compile"}
DEPENDENCIES = {
    "epochal-spark": SPARK,
    "epochal-kit": LANGUAGE | CORE | SPARK,
    "epochal-testkit": LANGUAGE
    | CORE
    | SPARK
    | {f"{name}_{SCALA}": "compile" for name in ("scalatest", "scalacheck", "scalacheck-1-18")}
    | {"junit-jupiter-api": "provided"},
    "epochal-core": LANGUAGE | {"failsafe": "compile", "jackson-databind": "provided"},
}


def published(artifact: str, ending: str) -> Path:
    name = f"{artifact}_{SCALA}"
    path = REPOSITORY / "io" / "epochal" / name / VERSION / f"{name}-{VERSION}{ending}"
    if not path.is_file():
        pytest.fail(f"{path} is missing: run 'make publish-local REPOSITORY={REPOSITORY.relative_to(ROOT)}' first")
    return path


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as opened:
        return [name for name in opened.namelist() if not name.endswith("/")]


def pom(artifact: str) -> ElementTree.Element:
    return ElementTree.parse(published(artifact, ".pom")).getroot()


def text(element: ElementTree.Element, *path: str) -> str:
    return (element.findtext("/".join(POM + name for name in path)) or "").strip()


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_a_pom_has_name_developers_and_licence(artifact: str) -> None:
    said = pom(artifact)
    assert text(said, "groupId") == "io.epochal"
    assert text(said, "version") == VERSION
    assert text(said, "name") == artifact
    assert len(text(said, "description")) > 40
    assert text(said, "licenses", "license", "name") == "Apache-2.0"
    wanted = ("url", "organization/name", "scm/url", "scm/connection", "developers/developer/name")
    assert [path for path in wanted if not text(said, *path.split("/"))] == []


def test_descriptions_differ() -> None:
    assert len({text(pom(artifact), "description") for artifact in ARTIFACTS}) == len(ARTIFACTS)


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_a_pom_lists_dependencies_outside_the_jar_and_no_repository(artifact: str) -> None:
    said = pom(artifact)
    found = {
        text(dependency, "artifactId"): text(dependency, "scope") or "compile"
        for dependency in said.findall(f".//{POM}dependency")
    }
    assert {name: scope for name, scope in found.items() if scope != "test"} == DEPENDENCIES[artifact]
    assert said.findall(f".//{POM}repository") == []


def test_the_published_jar_is_the_tested_one() -> None:
    built = ROOT / "dist" / f"epochal-spark_{SCALA}-{VERSION}.jar"
    assert published("epochal-spark", ".jar").read_bytes() == built.read_bytes()


def test_the_published_bill_of_materials_equals_the_one_in_the_jar() -> None:
    with zipfile.ZipFile(published("epochal-spark", ".jar")) as jar:
        inside = jar.read("META-INF/sbom/epochal-spark.cdx.json")
    assert published("epochal-spark", "-cyclonedx.json").read_bytes() == inside


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_the_sources_jar_covers_every_package(artifact: str) -> None:
    ours = re.compile(r"(io/epochal/(?!shaded/).+)/[^/]+\.(?:class|scala|java)")
    classes, sources = (
        {match[1] for name in names(published(artifact, ending)) if (match := ours.fullmatch(name))}
        for ending in (".jar", "-sources.jar")
    )
    assert classes
    assert classes == sources


@pytest.mark.parametrize(
    ("artifact", "documented"),
    [
        ("epochal-spark", "io/epochal/kit/RequestSigner.html"),
        ("epochal-kit", "io/epochal/kit/RequestSigner.html"),
        ("epochal-testkit", "io/epochal/testkit/SourceChecks.html"),
        ("epochal-core", "io/epochal/core/offset/OffsetFormat.html"),
    ],
)
def test_the_documentation_jar_is_complete(artifact: str, documented: str) -> None:
    assert {"index.html", documented} <= set(names(published(artifact, "-javadoc.jar")))


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_a_jar_contains_the_licence(artifact: str) -> None:
    with zipfile.ZipFile(published(artifact, ".jar")) as jar:
        assert jar.read("META-INF/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert jar.read("META-INF/NOTICE") == (ROOT / "NOTICE").read_bytes()


def test_a_java_project_is_built_with_maven(tmp_path: Path) -> None:
    jar = published("epochal-spark", ".jar")
    if not shutil.which("mvn"):
        pytest.skip("mvn is not installed")
    write(tmp_path, {"pom.xml": consumers.MAVEN, "src/main/java/Signer.java": consumers.SIGNER})
    run(["mvn", "-q", "-B", f"-Dmaven.repo.local={REPOSITORY}", "compile"], tmp_path)
    classes = f"{tmp_path}/target/classes:{jar}"
    assert run([consumers.java(), "-cp", classes, "Signer"], tmp_path) == "{X-Signed=GET}\n"


def test_a_scala_project_is_built_and_tested_with_sbt(tmp_path: Path) -> None:
    published("epochal-kit", ".jar")
    files = {
        "build.sbt": consumers.SBT,
        "project/build.properties": f"sbt.version={consumers.SBT_VERSION}\n",
        "src/main/scala/Connector.scala": consumers.CONNECTOR,
        "src/test/scala/ConnectorSuite.scala": consumers.SUITE,
    }
    said = run([*consumers.sbt(), "test"], write(tmp_path, files))
    assert "Tests: succeeded 4, failed 0" in said


def test_spark_finds_the_connectors_by_their_coordinates(tmp_path: Path) -> None:
    published("epochal-spark", ".jar")
    write(tmp_path, {"job.py": consumers.QUERY, "ivysettings.xml": consumers.ONLY_OURS})
    coordinates = f"io.epochal:epochal-spark_{SCALA}:{VERSION}"
    ivy: list[str | Path] = [
        "--conf",
        f"spark.jars.ivy={tmp_path}/ivy",
        "--conf",
        f"spark.jars.ivySettings={tmp_path}/ivysettings.xml",
    ]
    job: list[str | Path] = [tmp_path / "job.py", f"jdbc:sqlite:{tmp_path}/strings.db", tmp_path / "checkpoint"]
    run(consumers.spark_submit("--packages", coordinates, *ivy, *job), tmp_path)
    resolved = [path.name for path in (tmp_path / "ivy" / "jars").iterdir()]
    assert resolved == [f"io.epochal_epochal-spark_{SCALA}-{VERSION}.jar"]
    with sqlite3.connect(tmp_path / "strings.db") as database:
        assert database.execute("SELECT count(*) FROM strings").fetchone() == (300,)
