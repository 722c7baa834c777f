"""How IPython shows a ``StreamingQuery``: what it does, instead of its address. The class itself stays as it is."""

from __future__ import annotations

from typing import Any

from epochal.tools.watch import words
from epochal.tools.watch.state import Query, Watched
from epochal.tools.watch.views import running_shell

#: Of classic and of Connect sessions. By name: neither is imported for it.
_CLASSES = ("pyspark.sql.streaming.query", "pyspark.sql.connect.streaming.query")


def install() -> None:
    """Registers with IPython, where it runs; a formatter that somebody else has registered stays."""
    formatter = getattr(running_shell(), "display_formatter", None)
    if formatter is None:
        return
    for module in _CLASSES:
        for kind, show in (("text/html", as_html), ("text/plain", _as_text)):
            known = formatter.formatters[kind]
            if (module, "StreamingQuery") not in known.deferred_printers:
                known.for_type_by_name(module, "StreamingQuery", show)


def as_html(query: Query) -> str | None:
    """A block; None, and so Spark's own text, where the query cannot be asked."""
    from epochal.tools.watch.notebook import block

    try:
        return block(Watched(query).ask())
    except Exception:
        return None


def _as_text(query: Query, printer: Any, cycle: bool) -> None:
    try:
        state = Watched(query).ask()
        printer.text(f"<StreamingQuery {state.phase}, {words.line(state)}>")
    except Exception:
        printer.text(object.__repr__(query))
