"""Blocks that update in place on a terminal. The only module here that needs rich."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from epochal.tools.watch import words
from epochal.tools.watch.state import Phase, QueryState

STYLES: dict[Phase, str] = {
    "starting": "cyan",
    "running": "green",
    "waiting": "cyan",
    "stopping": "yellow",
    "ended": "green",
    "stopped": "yellow",
    "failed": "red",
}
_BAR = 40


class Terminal:
    """A block for each query, or a line if the terminal is too small. Only the summary remains at the end.

    It draws only when ``show`` is called: there is no thread.
    """

    pace = 1.0

    def __init__(self, file: TextIO) -> None:
        self._console = Console(file=file, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._live.start()

    def show(self, states: Sequence[QueryState]) -> None:
        self._live.update(self._table(states), refresh=True)

    def close(self, states: Sequence[QueryState], summary: Sequence[str]) -> None:
        self._live.stop()
        for line in summary:
            self._console.print(line, markup=False, soft_wrap=True)

    def _table(self, states: Sequence[QueryState]) -> RenderableType:
        blocks = Group(*(block(state) for state in states), "")  # Spark's own progress bar is drawn on the last line
        height = len(self._console.render_lines(blocks, pad=False))
        if height < self._console.height:
            return blocks
        return Group(*(Text(words.line(state), overflow="ellipsis", no_wrap=True) for state in states))


def block(state: QueryState) -> RenderableType:
    """A query as a heading with its facts below."""
    now = (words.clock(state.elapsed), words.doing(state))
    head = Text(state.name, style="bold", no_wrap=True, overflow="ellipsis")
    head.append(f"  {state.phase}", style=f"not bold {STYLES[state.phase]}")
    head.append("".join(f"  {part}" for part in now), style="not bold dim")
    table = Table.grid(padding=(0, 2, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    if bar := words.progress_bar(state, _BAR):
        table.add_row("", Text(bar, style=STYLES[state.phase]))
    for label, text in words.facts(state):
        table.add_row(label, Text(text))
    return Group(head, table)
