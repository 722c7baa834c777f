"""The commands ``status`` and ``checkpoint show|diff|rewind|fork``. For local files they need no JVM."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from epochal import _cli
from epochal._checkpoint import Checkpoint, checkpoint
from epochal._checkpoint.comparison import Comparison
from epochal._checkpoint.reading import local_path
from epochal._checkpoint.repair import START, Repair, fork, rewind
from epochal.errors import RepairError


def add(commands: Any) -> None:
    """Adds the commands to the parser's own."""
    status = _cli.command(
        commands, "status", "what a query's checkpoint, and its ledger, say of the next start", _status
    )
    status.add_argument("checkpoint", help="the query's checkpoint")
    status.add_argument("--sink", help="sink id in the ledger (default: the sink of this query)")
    _cli.database_arguments(status, required=False)
    group = commands.add_parser("checkpoint", help="look into a checkpoint, and repair it")
    inner = group.add_subparsers(dest="checkpoint_command", required=True)
    shown = _cli.command(inner, "show", "list the epochs of a checkpoint, or show one", _show)
    shown.add_argument("checkpoint")
    shown.add_argument("--epoch", type=int, help="this one alone, with its offsets as Spark wrote them")
    differing = _cli.command(inner, "diff", "show what was delivered between the ends of two epochs", _diff)
    differing.add_argument("checkpoint")
    differing.add_argument("first", type=int)
    differing.add_argument("second", type=int)
    back = _cli.command(inner, "rewind", "go back to the end of an epoch: later ones are planned anew", _rewind)
    back.add_argument("checkpoint")
    back.add_argument(
        "--to", type=_epoch, required=True, metavar="EPOCH", help="the last epoch that stays, or: start (none stays)"
    )
    _cli.repair_arguments(back)
    _cli.database_arguments(back, required=False)
    copied = _cli.command(inner, "fork", "copy a checkpoint, as another query", _fork)
    copied.add_argument("checkpoint")
    copied.add_argument("copy", type=Path, help="a directory that does not exist")
    copied.add_argument("--same-query", action="store_true", help="keep the query's id: start only one of the two")
    _cli.repair_arguments(copied)


def _epoch(text: str) -> int:
    return START if text == "start" else int(text)


def _read(options: argparse.Namespace) -> Checkpoint:
    """By Spark where the path is not of this machine."""
    local = local_path(options.checkpoint)
    return checkpoint(options.checkpoint, spark=_cli.session() if local is None else None)


def _status(options: argparse.Namespace) -> int:
    found = _read(options)
    compared = _compared(options, found) if options.url else None
    values = {"checkpoint": {**found.to_dict(), "epochs": len(found.epochs)}}
    values |= {"ledger": compared.to_dict()} if compared else {}
    _cli.show(options, f"{found}\n{compared}" if compared else found, values)
    healthy = compared.healthy if compared else found.next_start.epoch is not None
    return _cli.FINE if healthy else _cli.ATTENTION


def _compared(options: argparse.Namespace, found: Checkpoint) -> Comparison:
    ledger = _cli.read_ledger(options)
    return found.compare(ledger.sink(options.sink) if options.sink else ledger.find(found.query_id))


def _show(options: argparse.Namespace) -> int:
    found = _read(options)
    if options.epoch is None:
        lines = [str(found), ""]
        for epoch in found.epochs:
            state = "committed" if epoch.committed else "logged"
            said = epoch.problem or "; ".join(str(source) for source in epoch.sources)
            lines.append(f"  {epoch.number:>8}  {state:<9}  {said}")
        _cli.show(options, "\n".join(lines), found.to_dict())
        return _cli.FINE
    epoch = found.epoch(options.epoch)
    values = next(one for one in found.to_dict()["epochs"] if one["number"] == epoch.number)
    lines = [f"Epoch {epoch.number} of {found.path}"]
    lines += [f"  {name:<14} {values[name]}" for name in ("committed", "logged_at", "committed_at", "offsets_hash")]
    lines += [f"  {name:<14} {values[name]}" for name in ("watermark", "next_watermark") if values[name]]
    lines += [f"  problem        {epoch.problem}"] if epoch.problem else []
    lines += [f"  source {source.name:<7} {source}\n    {source.offset}" for source in epoch.sources]
    _cli.show(options, "\n".join(lines), values)
    return _cli.FINE


def _diff(options: argparse.Namespace) -> int:
    difference = _read(options).diff(options.first, options.second)
    _cli.show(options, difference, difference.to_dict())
    return _cli.FINE


def _rewind(options: argparse.Namespace) -> int:
    found = _read(options)
    plan = rewind(found, options.to, stopped=options.stopped)
    if options.url:
        _check_ledger(options, found)
    _confirm(options, plan)
    plan.run()
    values = {"epoch": plan.epoch, "backup": str(plan.backup)}
    _cli.show(options, f"Done. The logs as they were are in {plan.backup}", values)
    return _cli.FINE


def _check_ledger(options: argparse.Namespace, found: Checkpoint) -> None:
    """Refuses to go back behind what the sink has."""
    row = _cli.read_ledger(options).find(found.query_id)
    last = row.last_epoch if row else None
    if row and last is not None and last > options.to:
        raise RepairError(
            "REPAIR_REFUSED",
            f"The ledger of sink '{row.sink_id}' ends with epoch {last}: after this rewind it would refuse epoch "
            f"{options.to + 1} (EPOCH_REGRESSED, or EPOCH_OFFSETS_CHANGED). Nothing was changed.",
            f"Rewind to epoch {last} or a later one. To write epochs again: remove their rows from the table, then "
            f"epochal ledger set {row.sink_id} --epoch {options.to} --checkpoint {options.checkpoint} --url …",
        )


def _fork(options: argparse.Namespace) -> int:
    plan = fork(_read(options), options.copy, same_query=options.same_query, stopped=options.stopped)
    _confirm(options, plan)
    plan.run()
    _cli.show(options, f"Done: {plan.copy}", {"copy": str(plan.copy), "query_id": plan.query_id})
    return _cli.FINE


def _confirm(options: argparse.Namespace, plan: Repair) -> None:
    _cli.confirm(options, plan.steps, plan.warnings)
