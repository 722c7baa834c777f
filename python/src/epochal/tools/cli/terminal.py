"""The commands ``info`` and ``demo``, on a terminal. They need rich."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from epochal.errors import EpochalError
from epochal.tools.cli import info as installed


def run(options: argparse.Namespace) -> int:
    """Runs a command; returns the exit code."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        if options.command == "info":
            return info(console)
        return play(console, options.dir, options.database_url, options.user, options.password, options.rows)
    except EpochalError as error:
        console.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
        return 1


def info(console: Console) -> int:
    """Prints the findings; 1 when Epochal cannot run here."""
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


def play(console: Console, directory: Path, url: str | None, user: str | None, password: str | None, count: int) -> int:
    """Plays the demo; 0 only if every comment is in the table once and as it was served."""
    found = installed.findings()
    if not installed.runs(found):
        info(console)
        return 1

    from epochal.tools.demo import database, screen, story

    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    target = database.target(url or f"jdbc:sqlite:{directory / 'comments.db'}", user, password)
    shutil.rmtree(directory / "checkpoint", ignore_errors=True)
    try:
        with screen.Screen(console, count) as shown:
            outcome = story.play(target, directory, shown, count=count)
    except story.DemoFailedError as error:
        console.print(str(error), style="red", highlight=False, markup=False, soft_wrap=True)
        return 1
    screen.show(console, outcome)
    return 0 if outcome.exactly_once else 1
