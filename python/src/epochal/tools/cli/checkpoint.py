"""The commands ``status`` and ``checkpoint show|diff|rewind|restore|fork``. Local files are read without a JVM."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from epochal.errors import SinkIdentityError
from epochal.tools.checkpoint import Checkpoint
from epochal.tools.checkpoint.comparison import Comparison
from epochal.tools.checkpoint.repair import START, fork, refused, restore, rewind
from epochal.tools.checkpoint.slots import slots
from epochal.tools.checkpoint.start import set_command
from epochal.tools.cli import limits, shared
from epochal.tools.output import as_json


def add(commands: Any) -> None:
    """Adds the commands to the parser's own."""
    status = shared.command(
        commands, "status", "predict the next start of a query from its checkpoint and ledger", _status
    )
    status.add_argument("checkpoint", help="the query's checkpoint")
    status.add_argument("--sink", help="sink id in the ledger (default: the sink of this query)")
    limits.add(status)
    shared.database_arguments(status, required=False)
    group = commands.add_parser("checkpoint", help="inspect and repair a checkpoint")
    inner = group.add_subparsers(dest="checkpoint_command", metavar="command", required=True)
    show = shared.command(inner, "show", "list the epochs of a checkpoint, or show one", _show)
    show.add_argument("checkpoint")
    show.add_argument("--epoch", type=int, help="show only this epoch, with its offsets as Spark wrote them")
    differing = shared.command(inner, "diff", "show what was delivered between the ends of two epochs", _diff)
    differing.add_argument("checkpoint")
    differing.add_argument("first", type=int)
    differing.add_argument("second", type=int)
    back = shared.command(inner, "rewind", "go back to the end of an epoch: later ones are planned again", _rewind)
    back.add_argument("checkpoint")
    back.add_argument(
        "--to", type=_epoch, required=True, metavar="EPOCH", help="the last epoch to keep, or: start (keeps none)"
    )
    shared.repair_arguments(back)
    shared.database_arguments(back, required=False)
    restore = shared.command(inner, "restore", "put back offsets that a run has set aside", _restore)
    restore.add_argument("checkpoint")
    restore.add_argument("--epoch", type=int, required=True, help="their epoch")
    restore.add_argument("--entry", metavar="NAME", help="the file in epochal-offsets, if there are several")
    shared.repair_arguments(restore)
    shared.database_arguments(restore, required=False)
    fork = shared.command(inner, "fork", "copy a checkpoint, as another query", _fork)
    fork.add_argument("checkpoint")
    fork.add_argument("copy", type=Path, help="a directory that does not exist")
    fork.add_argument("--same-query", action="store_true", help="keep the query's id: start only one of the two")
    shared.repair_arguments(fork)


def _epoch(text: str) -> int:
    if text != "start" and not text.isdecimal():
        raise argparse.ArgumentTypeError("it is neither the number of an epoch nor 'start'")
    return START if text == "start" else int(text)


def _status(options: argparse.Namespace) -> int:
    checkpoint = shared.read_checkpoint(options)
    slot_states = [*slots(checkpoint, options.url, options.user, shared.password(options))] if options.url else []
    try:
        comparison = _compare(options, checkpoint) if options.url else None
    except SinkIdentityError as error:
        # The URL may be that of the source.
        if error.condition != "LEDGER_NOT_FOUND" or all(slot.status is None for slot in slot_states):
            raise
        comparison = None
    excesses = limits.excesses(options, checkpoint, slot_states)
    values: dict[str, Any] = {"checkpoint": {**checkpoint.to_dict(), "epochs": len(checkpoint.epochs)}}
    values |= {"ledger": comparison.to_dict()} if comparison else {}
    values |= {"slots": [as_json(slot) for slot in slot_states]} if slot_states else {}
    values |= {"exceeded": excesses} if excesses else {}
    shared.show(options, "\n".join(map(str, filter(None, (checkpoint, comparison, *slot_states, *excesses)))), values)
    healthy = comparison.healthy if comparison else checkpoint.next_start.epoch is not None
    has_log = all(slot.has_log if options.max_retained else slot.healthy for slot in slot_states)
    replicas = comparison.row.replicas if comparison and comparison.row else ()
    healthy = healthy and has_log and not excesses and not any(replica.differing for replica in replicas)
    return shared.FINE if healthy else shared.ATTENTION


def _compare(options: argparse.Namespace, checkpoint: Checkpoint) -> Comparison:
    ledger = shared.read_ledger(options)
    return checkpoint.compare(ledger.sink(options.sink) if options.sink else ledger)


def _show(options: argparse.Namespace) -> int:
    checkpoint = shared.read_checkpoint(options)
    if options.epoch is None:
        lines = [str(checkpoint), ""]
        for epoch in checkpoint.epochs:
            state = "committed" if epoch.committed else "logged"
            text = epoch.problem or "; ".join(str(source) for source in epoch.sources)
            lines.append(f"  {epoch.number:>8}  {state:<9}  {text}")
        shared.show(options, "\n".join(lines), checkpoint.to_dict())
        return shared.FINE
    epoch = checkpoint.epoch(options.epoch)
    values = next(one for one in checkpoint.to_dict()["epochs"] if one["number"] == epoch.number)
    lines = [f"Epoch {epoch.number} of {checkpoint.path}"]
    lines += [f"  {name:<14} {values[name]}" for name in ("committed", "logged_at", "committed_at", "offsets_hash")]
    lines += [f"  {name:<14} {values[name]}" for name in ("watermark", "next_watermark") if values[name]]
    lines += [f"  problem        {epoch.problem}"] if epoch.problem else []
    lines += [f"  source {source.name:<7} {source}\n    {source.offset}" for source in epoch.sources]
    shared.show(options, "\n".join(lines), values)
    return shared.FINE


def _diff(options: argparse.Namespace) -> int:
    difference = shared.read_checkpoint(options).diff(options.first, options.second)
    shared.show(options, difference, difference.to_dict())
    return shared.FINE


def _rewind(options: argparse.Namespace) -> int:
    checkpoint = shared.read_checkpoint(options)
    plan = rewind(checkpoint, options.to, stopped=options.stopped)
    if options.url:
        _check_ledger(options, checkpoint)
    shared.confirm(options, plan.steps, plan.warnings)
    plan.run()
    values = {"epoch": plan.epoch, "backup": str(plan.backup)}
    shared.show(options, f"Done. The previous logs are in {plan.backup}", values)
    return shared.FINE


def _check_ledger(options: argparse.Namespace, logs: Checkpoint) -> None:
    """Refuses a rewind to before the last epoch of the sink."""
    row = shared.read_ledger(options).find(logs.query_id)
    last = row.last_epoch if row else None
    if row and last is not None and last > options.to:
        raise refused(
            f"The ledger of sink '{row.sink_id}' ends with epoch {last}: after this rewind it would refuse epoch "
            f"{options.to + 1} (EPOCH_REGRESSED, or EPOCH_OFFSETS_CHANGED)",
            f"Rewind to epoch {last} or a later one. To write epochs again: remove their rows from the table, then "
            + set_command(row, options.to, options.checkpoint),
        )


def _restore(options: argparse.Namespace) -> int:
    checkpoint = shared.read_checkpoint(options)
    row = shared.read_ledger(options).find(checkpoint.query_id) if options.url else None
    row_hash = row.offsets_hash if row and row.last_epoch == options.epoch else None
    plan = restore(checkpoint, options.epoch, entry=options.entry, offsets_hash=row_hash, stopped=options.stopped)
    shared.confirm(options, plan.steps, plan.warnings)
    plan.run()
    shared.show(options, f"Done: epoch {plan.epoch} is in the log again", {"epoch": plan.epoch})
    return shared.FINE


def _fork(options: argparse.Namespace) -> int:
    plan = fork(shared.read_checkpoint(options), options.copy, same_query=options.same_query, stopped=options.stopped)
    shared.confirm(options, plan.steps, plan.warnings)
    plan.run()
    shared.show(options, f"Done: {plan.copy}", {"copy": str(plan.copy), "query_id": plan.query_id})
    return shared.FINE
