"""Installed and missing dependencies."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from epochal._session import jar_path
from epochal._version import SPARK_LINES, VERSION
from epochal.errors import ConfigurationError
from epochal.tools.output import aligned

#: Minimum Java version.
JAVA = 17
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)([^"]*)"')


@dataclass(frozen=True)
class Finding:
    """A dependency of Epochal, and whether it is installed.

    Attributes:
        remedy: how to install it; empty if it is installed.
        needed: whether it is required.
    """

    name: str
    found: str
    remedy: str = ""
    needed: bool = True

    @property
    def ok(self) -> bool:
        return not self.remedy

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        return {"name": self.name, "found": self.found, "ok": self.ok, "needed": self.needed, "remedy": self.remedy}


def findings() -> list[Finding]:
    """All dependencies, in the order of installation."""
    return [
        Finding("Python", platform.python_version()),
        java(),
        spark(_installed_version("pyspark")),
        Finding("Epochal (Python)", VERSION),
        jar(),
        _optional("psycopg", "ledgers in PostgreSQL without Spark", "pip install 'psycopg[binary]'"),
        _optional("rich", "the demo", "pip install rich"),
    ]


def runs(findings: list[Finding]) -> bool:
    """Whether all required dependencies are installed."""
    return all(finding.ok for finding in findings if finding.needed)


def require() -> None:
    """Checks that all required dependencies are installed.

    Raises:
        ConfigurationError: one is not (``DEPENDENCY_MISSING``).
    """
    for finding in (java(), spark(_installed_version("pyspark")), jar()):
        if not finding.ok:
            raise ConfigurationError("DEPENDENCY_MISSING", f"{finding.name}: {finding.found}.", finding.remedy)


def table(findings: Sequence[Finding]) -> str:
    """The findings as text, with the remedies below."""
    marks = ["ok" if one.ok else "missing" if one.needed else "optional" for one in findings]
    lines = aligned([(mark, one.name, one.found) for mark, one in zip(marks, findings, strict=True)])
    return "\n".join([*lines, *(f"{one.name}: {one.remedy}" for one in findings if not one.ok)])


def java() -> Finding:
    """The Java that pyspark starts."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    remedy = f"Install a JDK, {JAVA} or newer, and set JAVA_HOME or put java on the PATH."
    if program is None:
        return Finding("Java", "not found", remedy)
    try:
        output = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("Java", f"{program} does not run: {error}", remedy)
    match = _JAVA_VERSION.search(output)
    if match is None:
        return Finding("Java", f"{program}, of unknown version", remedy)
    version = f"{match[1]}{match[2]} ({program})"
    return Finding("Java", version, "" if int(match[1]) >= JAVA else remedy)


def spark(version: str | None) -> Finding:
    """Whether the jar is tested with a version of pyspark."""
    newest = SPARK_LINES[-1]
    if version is None:
        remote = _installed_version("pyspark-client") or _installed_version("pyspark-connect")
        if remote:
            return Finding("Spark", f"Connect client {remote}: the jar belongs to the server")
        return Finding("Spark", "not found", f"pip install 'pyspark~={newest}.0'")
    line = ".".join(version.split(".")[:2])
    if line in SPARK_LINES:
        return Finding("Spark", f"{version} (supported)")
    lines = f"{SPARK_LINES[0]} to {newest}"
    return Finding("Spark", f"{version} (not supported: {lines} are)", f"pip install 'pyspark~={newest}.0'")


def jar() -> Finding:
    """The jar, and whether it is from the package's release."""
    try:
        path = jar_path()
    except ConfigurationError as error:
        return Finding("Epochal (jar)", "not found", f"{error.problem} {error.hint}")
    version = _jar_version(path)
    if version != VERSION:
        return Finding("Epochal (jar)", f"{version} ({path})", f"The jar must be of the package's release, {VERSION}.")
    return Finding("Epochal (jar)", f"{version} ({path})")


def _jar_version(path: Path) -> str:
    """The version in the jar's manifest."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = archive.read("META-INF/MANIFEST.MF").decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        return f"unreadable: {error}"
    match = re.search(r"^Implementation-Version: (.*?)\s*$", manifest, re.MULTILINE)
    return match[1] if match else "unknown"


def _installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _optional(distribution: str, purpose: str, remedy: str) -> Finding:
    version = _installed_version(distribution)
    if version:
        return Finding(distribution, version, needed=False)
    return Finding(distribution, "not found", f"For {purpose}: {remedy}", needed=False)
