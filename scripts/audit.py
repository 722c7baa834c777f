"""Checks the libraries in the jar and the pinned Python packages against OSV, a database of known vulnerabilities.

Exits with 1 if there is a known vulnerability. If the database cannot be reached, prints a message and exits with 0.
The list in docs/dependencies.md is maintained by hand. Usage: audit.py LIBRARIES (lines of `group:artifact:version`).
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


def osv_queries(libraries: list[str]) -> list[dict[str, Any]]:
    """The queries for OSV's `querybatch`, one for each library and package."""
    maven = [line.rsplit(":", 1) for line in libraries]
    return [
        *({"package": {"ecosystem": "Maven", "name": name}, "version": version} for name, version in maven),
        *({"package": {"ecosystem": "PyPI", "name": name}, "version": v} for name, v in pinned(ROOT).items()),
    ]


def known(queries: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The identifiers of known vulnerabilities, by `name version`."""
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(f"{DATABASE}/v1/querybatch", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        results = json.load(response)["results"]
    return {
        f"{query['package']['name']} {query['version']}": [found["id"] for found in result.get("vulns", [])]
        for query, result in zip(queries, results, strict=True)
        if result.get("vulns")
    }


def main(libraries: Path) -> int:
    queries = osv_queries(libraries.read_text(encoding="utf-8").split())
    try:
        found = known(queries)
    except (urllib.error.URLError, TimeoutError) as unreachable:
        print(f"nothing was audited: {DATABASE} cannot be reached ({unreachable}); see docs/dependencies.md")
        return 0
    for name, identifiers in found.items():
        print(f"{name}: {', '.join(identifiers)}")
    print(f"{len(queries)} libraries and packages were audited, {len(found)} have known vulnerabilities")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
