"""Puts into the wheel the jar of the same version, which ``make jar`` leaves in ``dist/``, as ``epochal/jars/``, and
the values with the docstrings that ``scripts/python_docs.py`` makes from the jar's declarations.

The source distribution carries both: a wheel is built from it without a JVM, and is the same wheel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
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
        modules = self._documented(root)
        if self.target_name == "sdist":
            # Links would lead nowhere in the archive.
            found = {str(Path(path).resolve()): to for path, to in build_data["force_include"].items()}
            texts = "src/epochal/conditions.json"
            links = {str((root / texts).resolve()): texts}
            build_data["force_include"] = {**found, **links, **modules, str(jar): f"jars/{name}"}
        else:
            modules = {path: place.removeprefix("src/") for path, place in modules.items()}
            build_data["force_include"] |= {**modules, str(jar): f"epochal/jars/{name}"}

    def _documented(self, root: Path) -> dict[str, str]:
        """Files of the modules with options, each with its place below ``python``.

        They have whole docstrings; those of a source distribution have them already.
        """
        source = root / "src" / "epochal"
        modules = [source / "read.py", source / "write.py", *sorted((source / "_values").glob("*.py"))]
        files = {str(path): path for path in modules}
        scripts = root.parent / "scripts"
        if (scripts / "python_docs.py").is_file():
            code = "import json, python_docs as docs; print(json.dumps({str(p): t for p, t in docs.sources().items()}))"
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(scripts), str(root / "src")])}
            texts = json.loads(subprocess.check_output([sys.executable, "-c", code], env=environment, encoding="utf-8"))
            self._directory = tempfile.TemporaryDirectory()
            for path, text in texts.items():
                files[path] = Path(self._directory.name, path.replace(os.sep, "_"))
                files[path].write_text(text, "utf-8")
        return {str(file): str(Path(path).relative_to(root)) for path, file in files.items()}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if directory := getattr(self, "_directory", None):
            directory.cleanup()
