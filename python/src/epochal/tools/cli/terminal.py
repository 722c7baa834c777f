"""The command ``demo``, on a terminal. It needs rich."""

from __future__ import annotations

import argparse
import shutil
import sys

from rich.console import Console

from epochal.tools.cli import shared
from epochal.tools.demo import database, screen, story


def demo(options: argparse.Namespace) -> int:
    """Runs the demo; returns 0 only if every comment is in the table once and as served."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    directory = options.dir.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    url = options.database_url or f"jdbc:sqlite:{directory / 'comments.db'}"
    password = shared.password(options) if options.database_url else None
    target = database.target(url, options.user, password.here().value if password else None)
    shutil.rmtree(directory / "checkpoint", ignore_errors=True)
    with screen.Screen(console, options.rows) as view:
        outcome = story.play(target, directory, view, count=options.rows)
    screen.show(console, outcome)
    return shared.FINE if outcome.exactly_once else shared.FAILED
