"""The commands ``ledger list|show|forget|set``."""

from __future__ import annotations

import argparse
import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from epochal.errors import CheckpointError
from epochal.tools.checkpoint.repair import QUIET, refused
from epochal.tools.cli import shared
from epochal.tools.ledger import Change, LedgerRow
from epochal.tools.ledger.model import Applied

_FENCED = "A run of the query that is still active can no longer commit: it fails, and writes nothing."


def add(commands: Any) -> None:
    """Adds the commands to the parser's own."""
    group = commands.add_parser("ledger", help="inspect and repair a sink's ledger")
    inner = group.add_subparsers(dest="ledger_command", metavar="command", required=True)
    list_parser = shared.command(inner, "list", "list the sinks of a ledger", _list)
    show_parser = shared.command(inner, "show", "show the ledger's row of a sink", _show)
    forget_parser = shared.command(
        inner, "forget", "remove a sink from the ledger: its next query starts over", _forget
    )
    set_parser = shared.command(inner, "set", "set the last epoch in the table", _set)
    set_parser.add_argument("--epoch", type=int, required=True, help="the last epoch whose rows are in the table")
    set_parser.add_argument("--checkpoint", required=True, help="the query's checkpoint, which must have that epoch")
    for parser in (show_parser, forget_parser, set_parser):
        parser.add_argument("sink", help="sink id: the option sinkId, else the query's id")
    for parser in (list_parser, show_parser, forget_parser, set_parser):
        shared.database_arguments(parser, required=True)
    for parser in (forget_parser, set_parser):
        shared.repair_arguments(parser)
        parser.add_argument(
            "--backup",
            type=Path,
            default=Path(),
            metavar="DIR",
            help="directory for a backup of the rows (default: here)",
        )


def _list(options: argparse.Namespace) -> int:
    rows = shared.read_ledger(options)
    shared.show(options, rows, rows.to_dict())
    return shared.FINE


def _show(options: argparse.Namespace) -> int:
    row = shared.read_ledger(options).sink(options.sink)
    lines = [str(row)]
    for line in row.history:
        lines.append(f"  epoch {line.epoch:<6}  {line.rows:>10,} rows  {line.committed_at:%Y-%m-%d %H:%M:%S} UTC")
    shared.show(options, "\n".join(lines), row.to_dict())
    return shared.FINE


def _forget(options: argparse.Namespace) -> int:
    row = _row(options)
    steps = [
        f"remove sink '{row.sink_id}' from the ledger, and {len(row.retired)} queries that it has replaced; "
        "the history stays"
    ]
    warnings = [
        f"The table {row.target} keeps its rows. Empty it first, if the next query is to load everything again.",
        "A query that resumes from its checkpoint is refused afterwards: LEDGER_EMPTY.",
        _FENCED,
    ]
    return _repair(options, Change(row=row, applied=None), steps, warnings)


def _set(options: argparse.Namespace) -> int:
    row = _row(options)
    checkpoint = shared.read_checkpoint(options)
    if checkpoint.query_id != row.query_id:
        raise refused(
            f"The checkpoint {options.checkpoint} is of query {checkpoint.query_id}, but sink '{row.sink_id}' belongs "
            f"to query {row.query_id}",
            "Name the checkpoint of the query that writes to this sink.",
        )
    epoch = checkpoint.epoch(options.epoch)
    if epoch.offsets_hash is None:
        raise CheckpointError(
            "EPOCH_NOT_FOUND",
            f"The offsets of epoch {epoch.number} cannot be read in {options.checkpoint}. Nothing was changed.",
            "Without them a replay of the epoch could not be recognised. Restore the file from a backup.",
        )
    before = "none" if row.last_epoch is None else str(row.last_epoch)
    steps = [
        f"set the last epoch of sink '{row.sink_id}' from {before} to {epoch.number}, "
        f"with the offsets of {checkpoint.path}"
    ]
    warnings = [
        f"The rows of all epochs up to {epoch.number} must be in {row.target}, and none of later ones.",
        _FENCED,
    ]
    change = Change(row=row, applied=Applied(epoch=epoch.number, offsets_hash=epoch.offsets_hash))
    return _repair(options, change, steps, warnings)


def _row(options: argparse.Namespace) -> LedgerRow:
    """The sink's row; refuses a row that was written a moment ago, since its query seems to run."""
    row = shared.read_ledger(options).sink(options.sink)
    age = datetime.now(timezone.utc) - row.updated_at
    if abs(age) < QUIET and not options.stopped:
        raise refused(
            f"A query seems to write to sink '{row.sink_id}': the ledger was updated {abs(age).total_seconds():.0f} s "
            "ago",
            "Stop the query. If it is stopped, wait for a minute, or pass --stopped.",
        )
    return row


def _repair(options: argparse.Namespace, change: Change, steps: list[str], warnings: list[str]) -> int:
    row = change.row
    name = re.sub(r"[^\w.-]", "_", row.sink_id)
    backup = options.backup / f"epochal-ledger-{name}-{datetime.now(timezone.utc):%Y%m%dT%H%M%S%f}.json"
    shared.confirm(options, [f"write a backup of the rows to {backup}", *steps], warnings)
    backup.write_text(json.dumps(row.to_dict(), indent=2), "utf-8")
    shared.change_ledger(options, change)
    shared.show(options, f"Done. The previous rows are in {backup}", {"sink_id": row.sink_id, "backup": str(backup)})
    return shared.FINE
