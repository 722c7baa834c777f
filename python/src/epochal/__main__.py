"""``epochal``, or ``python -m epochal``: ``info``, ``demo``, ``probe``, ``status``, ``checkpoint …``, ``ledger …``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from epochal import _cli, _cli_checkpoint, _cli_ledger
from epochal._probe import command as probe_command
from epochal._version import VERSION


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    parser = argparse.ArgumentParser(prog="epochal", description="Exactly-once connectors for Spark.")
    parser.add_argument("--version", action="version", version=f"epochal {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="stream an API into a table, kill the job half way, resume it")
    demo.add_argument("--dir", type=Path, default=Path("build/demo"), help="where files go (default: build/demo)")
    demo.add_argument("--database-url", help="write to this PostgreSQL (jdbc:postgresql://host:port/database)")
    demo.add_argument("--user", default=os.environ.get("PGUSER"), help="database user (default: PGUSER)")
    demo.add_argument("--password", default=os.environ.get("PGPASSWORD"), help="its password (default: PGPASSWORD)")
    demo.add_argument("--rows", type=int, default=500, help="comments to serve (default: 500)")
    commands.add_parser("info", help="show what is installed, and what is missing")
    probe_command.add_arguments(commands.add_parser("probe", help="find out by a few requests how a REST API is read"))
    _cli_checkpoint.add(commands)
    _cli_ledger.add(commands)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    options = parser().parse_args(arguments)
    if "run" in options:
        return _cli.run(options)
    try:
        from epochal import _commands
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "rich":
            raise
        print("The command line needs rich: pip install 'epochal[cli]'", file=sys.stderr)
        return 1
    return _commands.run(options)


if __name__ == "__main__":
    sys.exit(main())
