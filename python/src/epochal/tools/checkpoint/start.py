"""Predicts the next start of a query by the files that Spark reads then: ``metadata``, the last two entries of
``offsets``, and the last one of ``commits``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from epochal.tools.checkpoint.epochs import Epoch, Epochs
from epochal.tools.checkpoint.files import local_path
from epochal.tools.checkpoint.log import TORN_OFFSET
from epochal.tools.ledger.model import LedgerRow

_SOURCES = "sources/"
#: Begin the problem of a file that no log of Spark is: those of sources, and of state stores.
BESIDE = (_SOURCES, "state/")
BACKUP = "Restore the file from a backup of the checkpoint."
_SKIP = "Or set failOnDataLoss=false (fail_on_data_loss=False) for one start, which skips its rows."


@dataclass(frozen=True, kw_only=True)
class NextStart:
    """The first epoch that Spark runs when the query is restarted.

    Attributes:
        epoch: number of the epoch; None if the query cannot start.
        replay: whether it runs with its logged offsets; otherwise Spark plans it again.
        explanation: one sentence.
        remedy: the repair, if the query cannot start.
    """

    epoch: int | None
    replay: bool
    explanation: str
    remedy: str = ""


def next_start(checkpoint: Epochs) -> NextStart:
    """The effect of the next start, independent of the sink."""
    metadata = next((problem for problem in checkpoint.problems if problem.startswith("metadata")), None)
    if metadata and (checkpoint.epochs or "cannot be read:" in metadata):
        older = "" if "cannot be read" in metadata else " (4.0 resumes it as another query, which the sink refuses)"
        return _fails(f"{metadata}{older}", metadata_remedy(checkpoint.path))
    by_number = {epoch.number: epoch for epoch in checkpoint.epochs}
    last, commit = checkpoint.last_logged, last_commit(checkpoint)
    if last is None and commit is None:
        return NextStart(epoch=0, replay=False, explanation="Spark begins with epoch 0.")
    if last is None or (commit is not None and commit > last):
        return _fails(f"offsets/{commit} is missing, but commits/{commit} is there", offsets_remedy(checkpoint))
    for number in range(max(last - 1, 0), last + 1):
        if problem := _offsets_problem(by_number.get(number), number, is_end=number == last or commit != last):
            return _fails(problem, offsets_remedy(checkpoint))
    if commit is not None and (problem := by_number[commit].problem_of("commits")):
        effect = f"and Spark replays epoch {last}, which a sink with a ledger skips if it has it"
        file, checksum = (f"{checkpoint.path}/commits/{name}" for name in (commit, f".{commit}.crc"))
        if local_path(checkpoint.path) is None:
            return _fails(problem, f"Remove the file {file}, {effect}.")
        return _fails(problem, f"Remove the file, {effect}: rm -f {quote(file)} {quote(checksum)}")
    if damage := next((problem for problem in checkpoint.problems if problem.startswith(BESIDE)), None):
        if not damage.startswith(_SOURCES):
            return _fails(damage, BACKUP)
        fails = f"Epoch {last + 1 if commit == last else last} fails with DATA_LOSS: {damage}."
        return NextStart(epoch=None, replay=False, explanation=fails, remedy=f"{BACKUP} {_SKIP}")
    if commit == last:
        explanation = f"Spark plans epoch {last + 1}, from the offsets at the end of epoch {last}."
        return NextStart(epoch=last + 1, replay=False, explanation=explanation)
    return NextStart(epoch=last, replay=True, explanation=f"Spark replays epoch {last}, up to its logged offsets.")


def last_commit(checkpoint: Epochs) -> int | None:
    """The last epoch with a file in ``commits``, readable or not."""
    return max((one.number for one in checkpoint.epochs if one.committed or one.problem_of("commits")), default=None)


def metadata_remedy(path: str, rows: Sequence[LedgerRow] = (), *, exact: bool = False) -> str:
    """The repair of ``metadata``.

    Args:
        known: rows of the ledger that may be the query's.
        exact: whether there is one, which ends as the checkpoint does.
    """
    if local_path(path) is None:
        return BACKUP
    file, checksum = (quote(f"{path}/{name}") for name in ("metadata", ".metadata.crc"))
    text = quote(json.dumps({"id": rows[0].query_id if exact else "<id>"}, separators=(",", ":")))
    command = f"echo {text} > {file} && rm -f {checksum}"
    if exact:
        return f"If the query writes to {rows[0].target}, write its id, as in the ledger: {command}"
    sinks = ", ".join(f"{row.sink_id} ({row.target})" for row in rows)
    among = f"; its sink may be {sinks}" if sinks else ""
    return f"{BACKUP} Or write the query's id (epochal ledger show …{among}): {command}"


def rewind_command(path: str, epoch: int) -> str:
    """The command for a rewind; it works on local checkpoints only."""
    if local_path(path) is None:
        return f"epochal checkpoint rewind <copy> --to {epoch}, on a local copy, and copy it back"
    return f"epochal checkpoint rewind {quote(path)} --to {epoch}"


def set_command(row: LedgerRow, epoch: int, path: str) -> str:
    """The command that sets the sink's last epoch in the ledger."""
    return f"epochal ledger set {quote(row.sink_id)} --epoch {epoch} --checkpoint {quote(path)} --url …"


def offsets_remedy(checkpoint: Epochs, *, known: bool = False) -> str:
    """The repair of ``offsets``: Spark can plan the last epoch again if the sink has not written it.

    Args:
        known: whether the sink's last epoch is known to be the last whole one.
    """
    whole = checkpoint.last_whole
    if whole is None or checkpoint.has_state:
        return BACKUP
    unless = "Or " if known else f"Or, if the sink has nothing after epoch {whole}, "
    return f"{BACKUP} {unless}let Spark plan the epoch again: {rewind_command(checkpoint.path, whole)}"


def _offsets_problem(epoch: Epoch | None, number: int, *, is_end: bool) -> str | None:
    """Why Spark cannot resume from an entry of ``offsets``.

    Args:
        is_end: whether the next epoch begins or ends at its offsets; otherwise these are read, but not parsed.
    """
    if epoch is None or not epoch.logged:
        return f"offsets/{number} is missing"
    problem = epoch.problem_of("offsets")
    return problem if problem and (is_end or TORN_OFFSET not in problem) else None


def _fails(problem: str, remedy: str) -> NextStart:
    return NextStart(epoch=None, replay=False, explanation=f"Spark fails: {problem}.", remedy=remedy)
