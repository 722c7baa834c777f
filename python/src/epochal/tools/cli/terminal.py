"""The commands ``info`` and ``demo``, on a terminal. They need rich."""

from __future__ import annotations

import argparse
import shutil
import sys

from rich.console import Console
from rich.table import Table

from epochal.errors import EpochalError
from epochal.tools.cli import info as installed


def info(options: argparse.Namespace) -> int:
    """Prints the dependencies; returns 1 if a required one is missing."""
    return _show(_console())


def demo(options: argparse.Namespace) -> int:
    """Runs the demo; returns 0 only if every comment is in the table once and as served."""
    console = _console()
    found = installed.findings()
    if not installed.runs(found):
        _show(console)
        return 1

    from epochal.tools.demo import database, screen, story

    directory = options.dir.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    url = options.database_url or f"jdbc:sqlite:{directory / 'comments.db'}"
    try:
        target = database.target(url, options.user, options.password)
        shutil.rmtree(directory / "checkpoint", ignore_errors=True)
        with screen.Screen(console, options.rows) as shown:
            outcome = story.play(target, directory, shown, count=options.rows)
    except (EpochalError, story.DemoFailedError) as error:
        console.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
        return 1
    screen.show(console, outcome)
    return 0 if outcome.exactly_once else 1


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 120)


def _show(console: Console) -> int:
    found = installed.findings()
    table = Table(show_header=False)
    table.add_column()
    table.add_column()
    table.add_column(overflow="fold")
    for finding in found:
        mark = "[green]ok[/]" if finding.ok else "[red]missing[/]" if finding.needed else "[yellow]optional[/]"
        table.add_row(mark, finding.name, finding.found)
    console.print(table, highlight=False)
    for finding in found:
        if not finding.ok:
            console.print(f"{finding.name}: {finding.remedy}", highlight=False, markup=False, soft_wrap=True)
    return 0 if installed.runs(found) else 1
