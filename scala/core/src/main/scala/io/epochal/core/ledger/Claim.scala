package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.NameList

/** A run that wants to write.
  *
  * @param known
  *   the ledger's row of this query from before another query took the sink over; None if there is none
  * @param stored
  *   the query's rows that were stored in the middle of epochs
  */
final case class Claim(
    sinkId: String,
    queryId: String,
    runId: String,
    target: Target,
    server: ServerIdentity,
    onNewQuery: OnNewQuery,
    known: Option[LedgerRow] = None,
    stored: Progress = Progress.Empty,
    onLedgerEmpty: OnLedgerEmpty = OnLedgerEmpty.Fail
)

/** Decides whether a run becomes the one that may write, and so fences earlier runs. Pure: the sink reads and writes the ledger.
  *
  * {{{
  *             claim (no row)                       claim (newer run: generation + 1)
  *   (nothing) ───────────────► Claimed(1) ─────────────────────────────────────────► Claimed(n + 1)
  *                                  │  EpochDecision.Apply, COMMIT                          │
  *                                  ▼                                                       ▼
  *                              Claimed(1), last = epoch            a commit of generation n: SINK_FENCED
  * }}}
  *
  * A query that replaces another one only raises the generation. The row stays the other's, with its last epoch, until the
  * first epoch of the new query commits ([[EpochDecision.Replace]]): if that never happens, the other resumes where it was.
  */
object Claim {

  /** The ledger's row after the claim.
    *
    * @param current
    *   the sink's row, locked; None if there is none
    * @param others
    *   the rows of other sinks with this target
    */
  def decide(claim: Claim, current: Option[LedgerRow], others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] =
    current match {
      case None      => fresh(claim, others)
      case Some(row) => again(claim, row, others)
    }

  /** The same query under another sink id is the same sink with a new name. It would write its last epoch twice, so it is
    * rejected even if a second sink is accepted.
    *
    * If the ledger has lost its row, but not the positions of stored rows, it continues from these, if that is accepted: the table
    * may have been emptied.
    */
  private def fresh(claim: Claim, others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] =
    sharing(claim, others)
      .orElse(lossError(claim))
      .toLeft(LedgerRow(claim.sinkId, claim.queryId, claim.target, None, 1L, claim.runId, claim.server))

  private def sharing(claim: Claim, others: Seq[LedgerRow]): Option[EpochalException] =
    others
      .find(_.queryId == claim.queryId)
      .orElse(others.find(other => !claim.onNewQuery.accepted(other.sinkId)))
      .map(sharingError(claim, _, others))

  private def lossError(claim: Claim): Option[EpochalException] = {
    val next = claim.stored.boundaries.map(_.epoch + 1)
    Option.when(next.nonEmpty && !next.exists(claim.onLedgerEmpty.names))(
      LostRow("epoch" -> next.max, "sinkId" -> claim.sinkId))
  }

  private def again(claim: Claim, row: LedgerRow, others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] = {
    val sameQuery = row.queryId == claim.queryId
    // Where nothing was written, nothing is left behind: a table made in a failed first attempt may be made again.
    val isRemade = row.target != claim.target && row.target.name == claim.target.name &&
      sameQuery && row.last.isEmpty && claim.stored == Progress.Empty
    val hasLeft = row.target != claim.target && !isRemade
    val left = Seq(Option.when(!sameQuery)(row.queryId), Option.when(hasLeft)(row.target.id)).flatten
    if (claim.onNewQuery.replaces && !(sameQuery && row.last.isDefined))
      others.headOption
        .map(sharingError(claim, _, others))
        .orElse(Option.unless(sameQuery)(incomplete(claim, row)).flatten)
        .orElse(Option.unless(row.target.isTableOf(claim.target))(changeError(claim, row, NameList.render(left))))
        .toLeft(claimedRow(claim, row, isAgain = true).copy(target = if (sameQuery) claim.target else row.target))
    else {
      val last = if (sameQuery) row.last else claim.known.flatMap(_.last)
      Option
        .when(isRemade)(sharing(claim, others))
        .flatten
        .orElse(Option.unless(left.forall(claim.onNewQuery.accepted))(changeError(claim, row, NameList.render(left))))
        .toLeft(claimedRow(claim, row, sameQuery).copy(queryId = claim.queryId, target = claim.target, last = last))
    }
  }

  /** The row with the next generation. A claim that is retried after a lost response keeps its generation.
    *
    * @param isAgain
    *   whether a row with the run's id is the result of its claim
    */
  private def claimedRow(claim: Claim, row: LedgerRow, isAgain: Boolean): LedgerRow = {
    val generation = if (isAgain && row.runId == claim.runId) row.generation else row.generation + 1
    row.copy(generation = generation, runId = claim.runId, server = claim.server)
  }

  /** A query that was itself replaced does not send its first rows again. */
  private def incomplete(claim: Claim, row: LedgerRow): Option[EpochalException] =
    claim.known
      .flatMap(_.last)
      .map(last => EpochDecision.incomplete(claim.queryId, row, s"it has written up to epoch ${last.epoch} before"))

  private val LostRow = Conditions.LedgerEmpty.withHint(
    "The ledger's row was deleted, but epochal_ledger_progress still shows which rows are in the table. Set " +
      "{option:onLedgerEmpty=write:<epoch>}, which writes only the others. If the table was emptied, first delete the sink's rows from " +
      "epochal_ledger_progress and epochal_ledger_boundary.")

  private def sharingError(claim: Claim, other: LedgerRow, others: Seq[LedgerRow]): EpochalException =
    Conditions.TargetShared(
      "table" -> claim.target.name,
      "other" -> other.sinkId,
      "sinkId" -> claim.sinkId,
      "accept" -> NameList.render(others.map(_.sinkId))
    )

  private def changeError(claim: Claim, row: LedgerRow, accept: String): EpochalException =
    if (row.queryId != claim.queryId && !claim.onNewQuery.replaces && !claim.onNewQuery.accepted(row.queryId))
      EpochDecision.otherQuery(row, claim.queryId, accept)
    else
      Conditions.TargetChanged(
        "sinkId" -> claim.sinkId,
        "known" -> row.target.toString,
        "table" -> claim.target.toString,
        "accept" -> accept
      )
}
