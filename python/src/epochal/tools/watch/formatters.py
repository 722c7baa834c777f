"""IPython formatters that show the state of a ``StreamingQuery`` instead of its address."""

from __future__ import annotations

from typing import Any

from epochal.tools.watch import words
from epochal.tools.watch.state import Query, WatchedQuery
from epochal.tools.watch.views import running_shell

#: The classes, for classic and Connect sessions. They are registered by name, without importing them.
_CLASSES = (
    ("pyspark.sql.streaming.query", "StreamingQuery"),
    ("pyspark.sql.connect.streaming.query", "StreamingQuery"),
    ("epochal._replication", "Replication"),
)


def install() -> None:
    """Registers the formatters if IPython runs. Existing formatters for the class are kept."""
    formatter = getattr(running_shell(), "display_formatter", None)
    if formatter is None:
        return
    for module, name in _CLASSES:
        for kind, show in (("text/html", as_html), ("text/plain", _as_text)):
            printers = formatter.formatters[kind]
            if (module, name) not in printers.deferred_printers:
                printers.for_type_by_name(module, name, show)


def as_html(query: Query) -> str | None:
    """The state as an HTML block; None, which selects Spark's own text, if the query cannot be polled."""
    from epochal.tools.watch.notebook import block

    try:
        return block(WatchedQuery(query).poll())
    except Exception:
        return None


def _as_text(query: Query, printer: Any, cycle: bool) -> None:
    try:
        state = WatchedQuery(query).poll()
        printer.text(f"<StreamingQuery {state.phase}, {words.line(state)}>")
    except Exception:
        printer.text(object.__repr__(query))
