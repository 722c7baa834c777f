"""Asks OSV, a database of known vulnerabilities, for the libraries in the jar and the pinned Python packages.

Exits with 1 when one is known. Where the database cannot be reached it says so and exits with 0:
the list in docs/dependencies.md is kept by hand. Usage: audit.py LIBRARIES (lines of `group:artifact:version`).
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from requirements import pinned

ROOT = Path(__file__).resolve().parent.parent
DATABASE = os.environ.get("EPOCHAL_OSV", "https://api.osv.dev")
SECONDS = 30


def questions(libraries: list[str]) -> list[dict[str, Any]]:
    """One for each library, in the form of OSV's `querybatch`."""
    maven = [line.rsplit(":", 1) for line in libraries]
    return [
        *({"package": {"ecosystem": "Maven", "name": name}, "version": version} for name, version in maven),
        *({"package": {"ecosystem": "PyPI", "name": name}, "version": v} for name, v in pinned(ROOT).items()),
    ]


def known(asked: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The identifiers of what is known, by `name version`."""
    body = json.dumps({"queries": asked}).encode()
    request = urllib.request.Request(f"{DATABASE}/v1/querybatch", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        results = json.load(response)["results"]
    return {
        f"{question['package']['name']} {question['version']}": [found["id"] for found in result.get("vulns", [])]
        for question, result in zip(asked, results, strict=True)
        if result.get("vulns")
    }


def main(libraries: Path) -> int:
    asked = questions(libraries.read_text(encoding="utf-8").split())
    try:
        found = known(asked)
    except (urllib.error.URLError, TimeoutError) as unreachable:
        print(f"nothing was audited: {DATABASE} cannot be reached ({unreachable}); see docs/dependencies.md")
        return 0
    for name, identifiers in found.items():
        print(f"{name}: {', '.join(identifiers)}")
    print(f"{len(asked)} libraries and packages were audited, {len(found)} have known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
