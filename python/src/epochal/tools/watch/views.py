"""The front ends of a watch."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from epochal.tools.watch import words
from epochal.tools.watch.state import QueryState

#: Seconds after which a plain line is printed even if nothing has changed.
_SILENCE = 60.0


class View(Protocol):
    """Shows queries until it is closed. ``pace`` is the default number of seconds between two polls."""

    pace: float

    def show(self, states: Sequence[QueryState]) -> None:
        """Shows the queries as they are now."""

    def close(self, states: Sequence[QueryState], summary: Sequence[str]) -> None:
        """Shows the final states, with the lines of the summary."""


class Plain:
    """A line for each query that has changed or ended, for logs and pipes."""

    pace = 10.0

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._last_lines: dict[str, tuple[object, float]] = {}

    def show(self, states: Sequence[QueryState]) -> None:
        if all(state.has_ended for state in states):
            return  # the summary follows
        for state in states:
            before, when = self._last_lines.get(state.run_id, (None, 0.0))
            now = (state.has_ended, state.tally.batches, state.tally.rows_read, state.last is None and state.message)
            if now != before or (not state.has_ended and state.elapsed - when >= _SILENCE):
                self._last_lines[state.run_id] = now, state.elapsed
                text = words.ending(state) if state.has_ended else words.line(state)
                self._print(f"{words.clock(state.elapsed)} {text}")

    def close(self, states: Sequence[QueryState], summary: Sequence[str]) -> None:
        for line in summary:
            self._print(line)

    def _print(self, line: str) -> None:
        print(line, file=self._file, flush=True)


def view_of(file: TextIO | None) -> View:
    """Chooses a view: one that updates in place in a notebook, or on a terminal with rich; else plain lines.

    Args:
        file: where to write; None stands for the notebook or standard output.
    """
    if file is None and (shell := notebook_shell()) is not None:
        from epochal.tools.watch.notebook import Notebook

        return Notebook(shell)
    stream = sys.stdout if file is None else file
    if stream.isatty() and os.environ.get("TERM") != "dumb" and importlib.util.find_spec("rich") is not None:
        from epochal.tools.watch.terminal import Terminal

        return Terminal(stream)
    return Plain(stream)


def notebook_shell() -> Any:
    """The IPython shell of a notebook (Jupyter, VS Code, Colab); None on a terminal and without IPython."""
    shell = running_shell()
    return shell if getattr(shell, "kernel", None) is not None else None


def running_shell() -> Any:
    """The IPython shell; None if there is none, or if IPython is not imported."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
