"""Contents of the packaged jar, and the names of its classes."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).resolve().parent.parent
VERSION = (ROOT / "version.txt").read_text("utf-8").strip()
JAR = ROOT / "dist" / f"epochal-spark_2.13-{VERSION}.jar"
JAVA_17 = 61  # The major version in class files.

# Package of each library, and the names of its licences.
SHADED = {
    "dev/failsafe": ("failsafe",),
    "org/apache/hc": ("httpclient5", "httpcore5", "httpcore5-h2"),
    "com/zaxxer/hikari": ("HikariCP",),
    "org/eclipse/jetty": ("jetty-http", "jetty-io", "jetty-server", "jetty-util"),
}
DRIVERS = ("postgresql", "sqlite-jdbc")
BOM = "META-INF/sbom/epochal-spark.cdx.json"
# A phrase of each licence, by its SPDX identifier.
PHRASES = {
    "Apache-2.0": b"Apache License",
    "BSD-2-Clause": b"Redistribution and use in source and binary forms",
    "MPL-2.0": b"Mozilla Public",
    "blessing": b"SQLite itself, which is in the public domain",
}
NATIVE = {f"{system}/{cpu}" for system in ("Linux", "Linux-Musl", "Mac", "Windows") for cpu in ("x86_64", "aarch64")}


@pytest.fixture(scope="module")
def jar() -> Iterator[zipfile.ZipFile]:
    if not JAR.is_file():
        pytest.fail(f"{JAR} is missing: run 'make jar' first")
    with zipfile.ZipFile(JAR) as opened:
        yield opened


@pytest.fixture(scope="module")
def names(jar: zipfile.ZipFile) -> list[str]:
    return [name for name in jar.namelist() if not name.endswith("/")]


def services(jar: zipfile.ZipFile) -> dict[str, list[str]]:
    """Interface → implementations, from the service files."""
    prefix = "META-INF/services/"
    files = [name for name in jar.namelist() if name.startswith(prefix) and not name.endswith("/")]
    texts = {name.removeprefix(prefix): jar.read(name).decode() for name in files}
    return {
        interface: [line for raw in text.splitlines() if (line := raw.partition("#")[0].strip())]
        for interface, text in texts.items()
    }


def test_no_name_appears_twice(names: list[str]) -> None:
    assert sorted(names) == sorted(set(names))


def test_only_our_code_and_the_two_drivers_are_not_shaded(names: list[str]) -> None:
    owners = ("io/epochal/", "org/postgresql/", "org/sqlite/")
    assert [name for name in names if name.endswith(".class") and not name.startswith(owners)] == []


def test_every_other_file_is_expected(names: list[str]) -> None:
    known = re.compile(
        r"META-INF/(MANIFEST\.MF|LICENSE|NOTICE|(licenses|services|native-image|sbom)/.+)"
        r"|io/epochal/(version\.txt|core/error/conditions\.json|kit/database/driver-properties\.txt|shaded/org/apache/hc/\w+/version\.properties"
        r"|shaded/org/eclipse/jetty/(http/((encoding|mime)\.properties|useragents)|version/build\.properties))"
        r"|org/publicsuffix/list/effective_tld_names\.dat|org/sqlite/native/.+|sqlite-jdbc\.properties"
    )
    assert [name for name in names if not name.endswith(".class") and not known.fullmatch(name)] == []


def test_shaded_libraries_are_included_and_used_by_shaded_names_only(jar: zipfile.ZipFile, names: list[str]) -> None:
    for package in SHADED:
        assert any(name.startswith(f"io/epochal/shaded/{package}/") for name in names), package
    either = "|".join(package.replace("/", "[./]") for package in SHADED)
    unshaded = re.compile(rf"(?<!epochal[./]shaded[./])(?:{either})[./]".encode())
    assert [name for name in names if name.endswith(".class") and unshaded.search(jar.read(name))] == []


def test_every_service_is_a_class_of_the_jar(jar: zipfile.ZipFile, names: list[str]) -> None:
    implementations = [name for listed in services(jar).values() for name in listed]
    assert [name for name in implementations if f"{name.replace('.', '/')}.class" not in names] == []


def test_spark_finds_the_formats_and_the_driver_manager_both_drivers(jar: zipfile.ZipFile) -> None:
    found = services(jar)
    assert found["java.sql.Driver"] == ["org.postgresql.Driver", "org.sqlite.JDBC"]
    formats = found["org.apache.spark.sql.sources.DataSourceRegister"]
    assert len(formats) >= 3
    # Spark instantiates them in this order, and this one refuses a Spark that is too old for the others.
    assert formats[0] == "io.epochal.formats.SupportedSpark"
    assert all(name.startswith("io.epochal.") for name in formats)


def test_there_are_no_module_descriptors_and_signatures(names: list[str]) -> None:
    unwanted = re.compile(r"(.*/)?module-info\.class|META-INF/(versions/.*|.*\.(SF|RSA|DSA|EC|LIST))")
    assert [name for name in names if unwanted.fullmatch(name)] == []


def test_sqlite_has_native_libraries_for_exactly_eight_platforms(names: list[str]) -> None:
    libraries = [name.removeprefix("org/sqlite/native/") for name in names if name.startswith("org/sqlite/native/")]
    assert sorted(name.rpartition("/")[0] for name in libraries) == sorted(NATIVE)


def test_all_classes_run_on_java_17_and_ours_target_it(jar: zipfile.ZipFile, names: list[str]) -> None:
    classes = [name for name in names if name.endswith(".class")]
    majors = {name: int.from_bytes(jar.read(name)[6:8], "big") for name in classes}
    assert [name for name, major in majors.items() if major > JAVA_17] == []
    ours = {
        name: major
        for name, major in majors.items()
        if name.startswith("io/epochal/") and not name.startswith("io/epochal/shaded/")
    }
    assert ours
    assert set(ours.values()) == {JAVA_17}


def test_the_jar_contains_its_version(jar: zipfile.ZipFile) -> None:
    assert jar.read("io/epochal/version.txt").decode().strip() == VERSION
    assert f"Implementation-Version: {VERSION}" in jar.read("META-INF/MANIFEST.MF").decode()


def test_licences_are_in_the_jar(jar: zipfile.ZipFile, names: list[str]) -> None:
    for name in ("LICENSE", "NOTICE"):
        assert jar.read(f"META-INF/{name}") == (ROOT / name).read_bytes()
    for library in (*DRIVERS, *(library for libraries in SHADED.values() for library in libraries)):
        assert len(jar.read(f"META-INF/licenses/{library}/LICENSE")) > 1000, library
    shaded = {name.removeprefix("io/epochal/shaded/") for name in names if name.startswith("io/epochal/shaded/")}
    assert [name for name in shaded if not name.startswith(tuple(SHADED))] == []


def components(of: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All components of a bill of materials, including nested ones."""
    for component in of.get("components", []):
        yield component
        yield from components(component)


def test_the_bill_of_materials_is_cyclonedx(jar: zipfile.ZipFile) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(jar.read(BOM).decode()) is None


def test_the_bill_of_materials_lists_the_libraries_of_the_jar_and_embedded_ones(jar: zipfile.ZipFile) -> None:
    bom = json.loads(jar.read(BOM))
    assert bom["metadata"]["component"]["purl"] == f"pkg:maven/io.epochal/epochal-spark_2.13@{VERSION}"
    listed = {component["name"] for component in bom["components"]}
    assert listed == {*DRIVERS, *(library for libraries in SHADED.values() for library in libraries)}
    inside = {component["name"] for component in components(bom)} - listed
    assert inside == {"scram-client", "scram-common", "saslprep", "stringprep", "sqlite", "public-suffix-list"}
    named = [component for component in components(bom) if component["name"] != "public-suffix-list"]
    assert [c["purl"] for c in named if not c["purl"].endswith(f"/{c['name']}@{c['version']}")] == []


def test_each_licence_of_the_bill_of_materials_has_its_text_in_the_jar(jar: zipfile.ZipFile) -> None:
    bom = json.loads(jar.read(BOM))
    for component in [bom["metadata"]["component"], *components(bom)]:
        assert component["licenses"], component["name"]
        for licence in (choice["license"] for choice in component["licenses"]):
            assert PHRASES[licence["id"]] in jar.read(licence["url"]), f"{component['name']}: {licence}"


def test_the_jar_is_small_enough_to_be_sent_to_executors() -> None:
    assert JAR.stat().st_size < 18 * 1024 * 1024
