"""The command line: ``epochal``, or ``python -m epochal``."""

from __future__ import annotations

import sys

from epochal.tools.cli import main, parser

__all__ = ["main", "parser"]

if __name__ == "__main__":
    sys.exit(main())
