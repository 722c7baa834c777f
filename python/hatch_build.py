"""Puts the jar of the same version, which ``make jar`` leaves in ``dist/``, into the wheel as ``epochal/jars/``.

The source distribution carries the jar as ``jars/``: a wheel is built from it without a JVM, and is the same wheel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        name = f"epochal-spark_2.13-{self.metadata.version}.jar"
        jars = [root / "jars" / name, root.parent / "dist" / name]
        jar = next((path for path in jars if path.is_file()), None)
        if jar is None:
            raise FileNotFoundError(f"{jars[-1]} is missing: run 'make jar' first")
        if self.target_name == "sdist":
            # Links would lead nowhere in the archive.
            found = {str(Path(path).resolve()): to for path, to in build_data["force_include"].items()}
            texts = "src/epochal/conditions.json"
            links = {str((root / texts).resolve()): texts}
            build_data["force_include"] = {**found, **links, str(jar): f"jars/{name}"}
        else:
            build_data["force_include"][str(jar)] = f"epochal/jars/{name}"
