"""A snapshot as static HTML. Rows, names and messages are escaped."""

from __future__ import annotations

from html import escape

from epochal.tools.display.snapshot import Column, Snapshot

_TABLE = "border-collapse:collapse;font-size:90%"
_CELL = "border:1px solid #8884;padding:2px 8px;white-space:pre-wrap;unicode-bidi:isolate;vertical-align:top"


def html(snapshot: Snapshot) -> str:
    """A heading, a table, and the notice."""
    columns = snapshot.columns
    head = "".join(f'<th style="{_style(one)}" title="{escape(one.kind)}">{escape(one.name)}</th>' for one in columns)
    body = "".join(
        "<tr>" + "".join(_cell(one, value) for one, value in zip(columns, row, strict=True)) + "</tr>"
        for row in snapshot.rows
    )
    notice = f"<div><small>{escape(snapshot.notice)}</small></div>" if snapshot.notice else ""
    return (
        f'<div class="epochal-display"><div><small>{escape(snapshot.head())}</small></div>'
        f'<div style="max-height:28em;overflow:auto"><table style="{_TABLE}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notice}</div>"
    )


def _cell(column: Column, value: str | None) -> str:
    if value is None:
        return f'<td style="{_style(column)};opacity:.5"><i>null</i></td>'
    return f'<td style="{_style(column)}">{escape(value)}</td>'


def _style(column: Column) -> str:
    return f"{_CELL};text-align:{'right' if column.is_number else 'left'}"
