"""A table that updates in place in a notebook.

Only the thread that runs the cell updates it: front ends drop or misplace the output of other threads.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from epochal.tools.watch import words
from epochal.tools.watch.state import Phase, QueryState

_COLOURS: dict[Phase, str] = {
    "starting": "#17829c",
    "running": "#2a7d2e",
    "waiting": "#17829c",
    "stopping": "#a86400",
    "ended": "#2a7d2e",
    "stopped": "#a86400",
    "failed": "#c0282d",
}
_CELL = 'style="text-align:left;vertical-align:top;padding:0.1em 1em 0.1em 0"'


class Notebook:
    """A block for each query in one output of the cell.

    Args:
        shell: the IPython shell.
    """

    pace = 1.0

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._handle: Any = None

    def show(self, states: Sequence[QueryState]) -> None:
        self._display(states, [])

    def close(self, states: Sequence[QueryState], summary: Sequence[str]) -> None:
        self._display(states, summary)

    def _display(self, states: Sequence[QueryState], summary: Sequence[str]) -> None:
        from IPython.display import display

        bundle = {"text/html": page(states, summary), "text/plain": text(states, summary)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)


def page(states: Sequence[QueryState], summary: Sequence[str] = ()) -> str:
    """The queries as HTML, with the lines of the summary below."""
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in summary)
    return "".join(block(state) for state in states) + lines


def text(states: Sequence[QueryState], summary: Sequence[str] = ()) -> str:
    """The queries and the summary as plain text."""
    return "\n".join([*(words.line(state) for state in states), *summary])


def block(state: QueryState) -> str:
    """A query as HTML: a heading, a progress bar if the end is known, and a row for each fact."""
    head = (
        f"<strong>{html.escape(state.name)}</strong> "
        f'<span style="color:{_COLOURS[state.phase]}">{state.phase}</span> {words.clock(state.elapsed)} '
        f'<span style="opacity:0.6">{html.escape(words.doing(state))}</span>'
    )
    fraction = state.tally.fraction
    bar = "" if fraction is None else f' <progress value="{fraction:.3f}" max="1"></progress> {fraction:.0%}'
    rows = "".join(
        f"<tr><td {_CELL}>{html.escape(label)}</td><td {_CELL}>{html.escape(fact)}</td></tr>"
        for label, fact in words.facts(state)
    )
    return f"<div>{head}{bar}<table>{rows}</table></div>"
