"""Puts the jar of the same version, which ``make jar`` leaves in ``dist/``, into the wheel as ``epochal/jars/``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        name = f"epochal-spark_2.13-{self.metadata.version}.jar"
        jar = Path(self.root).parent / "dist" / name
        if not jar.is_file():
            raise FileNotFoundError(f"{jar} is missing: run 'make jar' first")
        build_data["force_include"][str(jar)] = f"epochal/jars/{name}"
