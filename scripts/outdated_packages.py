"""Prints the pinned Python packages with a newer release. `make outdated` runs it in the tests' environment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from requirements import pinned

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    listing = [sys.executable, "-m", "pip", "list", "--outdated", "--format=json", "--disable-pip-version-check"]
    found = json.loads(subprocess.run(listing, capture_output=True, text=True, check=True).stdout)
    names = pinned(ROOT)
    for package in found:
        if package["name"].lower() in names:
            print(f"{package['name']}: {package['version']} -> {package['latest_version']}")


if __name__ == "__main__":
    main()
