"""Output of the demo: a progress bar on a terminal, else plain lines."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from epochal.tools.demo.story import Outcome


class Screen:
    """A progress bar for the rows in the table, with the events above it."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        columns = (TextColumn("rows in the table"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, expand=True, disable=not console.is_terminal)
        self._bar = self._progress.add_task("rows", total=total)

    def __enter__(self) -> Screen:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def says(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def rows(self, count: int) -> None:
        self._progress.update(self._bar, completed=count)


def show(console: Console, outcome: Outcome) -> None:
    """The final table and the verdict."""
    table = Table(title="Exactly once" if outcome.exactly_once else "NOT exactly once", title_justify="left")
    table.add_column("")
    table.add_column("rows", justify="right")
    table.add_column("epochs", justify="right")
    for run in outcome.runs:
        table.add_row(f"run {run.number} ({run.ending})", str(run.rows), str(run.epochs))
    table.add_section()
    table.add_row("in the table", str(outcome.stored), str(sum(run.epochs for run in outcome.runs)))
    table.add_row("served by the API", str(outcome.served), "")
    table.add_section()
    for name in ("duplicates", "missing", "different"):
        count: int = getattr(outcome, name)
        table.add_row(name, str(count), "", style="red" if count else "green")
    console.print(table)
    ledger = Table(title="The ledger, in the same database", title_justify="left", show_header=False)
    for name, value in outcome.ledger.items():
        ledger.add_row(name, str(value))
    console.print(ledger)
