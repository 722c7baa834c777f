"""The command line: commands, their arguments, and the functions that run them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from epochal._version import VERSION
from epochal.errors import ConfigurationError
from epochal.tools.cli import cdc, checkpoint, info, ledger, probe, replicate, shared


def parser() -> shared.Parser:
    """The parser with all commands."""
    parser = shared.Parser(prog="epochal", description="Exactly-once connectors for Spark.")
    parser.add_argument("--version", action="version", version=f"epochal {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    demo = shared.command(
        commands, "demo", "stream an API into a table, kill the job half way, resume it", _demo, json=False
    )
    demo.add_argument("--dir", type=Path, default=Path("build/demo"), help="directory for files (default: build/demo)")
    demo.add_argument("--database-url", help="write to this PostgreSQL (jdbc:postgresql://host:port/database)")
    shared.login_arguments(demo)
    demo.add_argument("--rows", type=int, default=500, help="comments to serve (default: 500)")
    shared.command(commands, "info", "show installed and missing dependencies", _info)
    probe.add(commands)
    cdc.add(commands)
    replicate.add(commands)
    checkpoint.add(commands)
    ledger.add(commands)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        options = parser().parse_args(words)
    except shared.UsageError as wrong:
        shared.report(wrong.error, as_json="--json" in words)
        return 2
    return shared.run(options)


def _info(options: argparse.Namespace) -> int:
    points = info.findings()
    shared.show(options, info.table(points), [finding.to_dict() for finding in points])
    return shared.FINE if info.runs(points) else shared.FAILED


def _demo(options: argparse.Namespace) -> int:
    info.require()
    try:
        from epochal.tools.cli import terminal
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "rich":
            raise
        problem = "epochal demo needs rich, which is not installed."
        raise ConfigurationError("EXTRA_MISSING", problem, "pip install rich") from missing
    return terminal.demo(options)
