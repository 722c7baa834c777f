"""The command line: commands, their arguments, and the functions that run them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from epochal._version import VERSION
from epochal.tools.cli import checkpoint, ledger, probe, shared
from epochal.tools.cli.shared import Command


def parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(prog="epochal", description="Exactly-once connectors for Spark.")
    parser.add_argument("--version", action="version", version=f"epochal {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="stream an API into a table, kill the job half way, resume it")
    demo.add_argument("--dir", type=Path, default=Path("build/demo"), help="directory for files (default: build/demo)")
    demo.add_argument("--database-url", help="write to this PostgreSQL (jdbc:postgresql://host:port/database)")
    demo.add_argument("--user", default=os.environ.get("PGUSER"), help="database user (default: PGUSER)")
    demo.add_argument("--password", default=os.environ.get("PGPASSWORD"), help="its password (default: PGPASSWORD)")
    demo.add_argument("--rows", type=int, default=500, help="comments to serve (default: 500)")
    demo.set_defaults(run=_with_rich("demo"))
    info = commands.add_parser("info", help="show installed and missing dependencies")
    info.set_defaults(run=_with_rich("info"))
    probe.add_arguments(commands.add_parser("probe", help="find out with a few requests how to read a REST API"))
    checkpoint.add(commands)
    ledger.add(commands)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    options = parser().parse_args(arguments)
    return shared.run(options)


def _with_rich(name: str) -> Command:
    """A command of ``terminal``, imported when it runs."""

    def run(options: argparse.Namespace) -> int:
        try:
            from epochal.tools.cli import terminal
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] != "rich":
                raise
            print("This command needs rich: pip install rich", file=sys.stderr)
            return 1
        command: Command = getattr(terminal, name)
        return command(options)

    return run
