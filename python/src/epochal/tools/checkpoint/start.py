"""Predicts the next start of a query by the files that Spark reads then: ``metadata``, the last two entries of
``offsets``, and the last one of ``commits``."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epochal.tools.checkpoint.log import TORN_OFFSET

if TYPE_CHECKING:
    from epochal.tools.checkpoint.model import Checkpoint, Epoch

BACKUP = "Restore the file from a backup of the checkpoint."


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


def next_start(found: Checkpoint) -> NextStart:
    """The effect of the next start, independent of the sink."""
    metadata = next((problem for problem in found.problems if problem.startswith("metadata")), None)
    if metadata and (found.epochs or "cannot be read:" in metadata):
        older = "" if "cannot be read" in metadata else " (4.0 resumes it as another query, which the sink refuses)"
        return _fails(f"{metadata}{older}", metadata_remedy(found.path, None))
    known = {epoch.number: epoch for epoch in found.epochs}
    last, done = found.last_logged, last_commit(found)
    if last is None and done is None:
        return NextStart(epoch=0, replay=False, explanation="Spark begins with epoch 0.")
    if last is None or (done is not None and done > last):
        return _fails(f"offsets/{done} is missing, but commits/{done} is there", offsets_remedy(found))
    for number in range(max(last - 1, 0), last + 1):
        if problem := _offsets_problem(known.get(number), number, is_end=number == last or done != last):
            return _fails(problem, offsets_remedy(found))
    if done is not None and (problem := known[done].problem_of("commits")):
        files = (shlex.quote(f"{found.path}/commits/{name}") for name in (done, f".{done}.crc"))
        return _fails(
            problem,
            f"Remove the file, and Spark replays epoch {last}, which a sink with a ledger skips if it has it: "
            f"rm -f {' '.join(files)}",
        )
    if done == last:
        explanation = f"Spark plans epoch {last + 1}, from the offsets at the end of epoch {last}."
        return NextStart(epoch=last + 1, replay=False, explanation=explanation)
    return NextStart(epoch=last, replay=True, explanation=f"Spark replays epoch {last}, up to its logged offsets.")


def last_commit(found: Checkpoint) -> int | None:
    """The last epoch with a file in ``commits``, readable or not."""
    return max((one.number for one in found.epochs if one.committed or one.problem_of("commits")), default=None)


def metadata_remedy(path: str, query_id: str | None) -> str:
    """The repair of ``metadata``, with the query's id if the ledger has it."""
    file, checksum = (shlex.quote(f"{path}/{name}") for name in ("metadata", ".metadata.crc"))
    text = shlex.quote(json.dumps({"id": query_id or "<id>"}, separators=(",", ":")))
    written = f"echo {text} > {file} && rm -f {checksum}"
    if query_id:
        return f"Write the query's id, as in the ledger: {written}"
    return f"Restore it from a backup of the checkpoint, or write the query's id (epochal ledger show …): {written}"


def offsets_remedy(found: Checkpoint, *, known: bool = False) -> str:
    """The repair of ``offsets``: Spark can plan the last epoch again if the sink has not written it.

    Args:
        known: whether the sink's last epoch is known to be the last whole one.
    """
    whole = found.last_whole
    if whole is None or found.has_state:
        return BACKUP
    unless = "Or " if known else f"Or, if the sink has nothing after epoch {whole}, "
    return f"{BACKUP} {unless}let Spark plan the epoch again: epochal checkpoint rewind {found.path} --to {whole}"


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
