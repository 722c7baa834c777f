package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.NameList

/** What the ledger may find changed. An id that was accepted is no longer what the ledger holds after the claim: so the
  * same option, left in a job, accepts nothing more.
  *
  * @param accepted
  *   ids of queries that this one may take over from, of targets that it may leave, of sinks that it may write beside
  * @param replaces
  *   whether the first epoch of a query empties the target: whatever is there gives way to what the query sends
  */
final case class OnNewQuery(accepted: Set[String], replaces: Boolean = false) {

  /** Of the ids that must be accepted all, when some are not. */
  private[ledger] def missing(ids: Seq[String]): Option[Seq[String]] = Option.when(!ids.forall(accepted))(ids)
}

object OnNewQuery {
  val Fail: OnNewQuery = OnNewQuery(Set.empty)
  val Replace: OnNewQuery = OnNewQuery(Set.empty, replaces = true)
}

/** A run that wants to write.
  *
  * @param known
  *   what the ledger has of this very query id from before another query took the sink over; None when it never had it
  */
final case class Claim(
    sinkId: String,
    queryId: String,
    runId: String,
    target: Target,
    server: ServerIdentity,
    onNewQuery: OnNewQuery,
    known: Option[LedgerRow] = None
)

/** How a run becomes the one that may write (K4, K5). Values in, values out; the sink reads and writes the ledger.
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
  * first epoch of the new query commits ([[EpochDecision.Replace]]): if that never happens, the other goes on where it was.
  */
object Claim {

  /** What the ledger must hold after the claim.
    *
    * @param current
    *   the sink's row, locked; None when there is none
    * @param others
    *   the rows of other sinks whose target is this one
    */
  def decide(claim: Claim, current: Option[LedgerRow], others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] =
    current match {
      case None      => fresh(claim, others)
      case Some(row) => again(claim, row, others)
    }

  /** This very query under another sink id is the same sink with a new name: it would write its last epoch twice, so it is
    * refused even where a second sink is welcome.
    */
  private def fresh(claim: Claim, others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] =
    others
      .find(_.queryId == claim.queryId)
      .orElse(others.find(other => !claim.onNewQuery.accepted(other.sinkId))) match {
      case Some(other) => Left(shared(claim, other, others))
      case None =>
        Right(LedgerRow(claim.sinkId, claim.queryId, claim.target, None, 1L, claim.runId, claim.server))
    }

  private def again(claim: Claim, row: LedgerRow, others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] = {
    val sameQuery = row.queryId == claim.queryId
    val left = Seq(Option.when(!sameQuery)(row.queryId), Option.when(row.target != claim.target)(row.target.id)).flatten
    if (claim.onNewQuery.replaces && !(sameQuery && row.last.isDefined))
      others.headOption
        .map(shared(claim, _, others))
        .orElse(Option.unless(sameQuery)(incomplete(claim, row)).flatten)
        .orElse(Option.unless(row.target.isTableOf(claim.target))(changed(claim, row, NameList.render(left))))
        .toLeft(
          row.copy(
            target = if (sameQuery) claim.target else row.target,
            generation = next(claim, row, isAgain = true),
            runId = claim.runId,
            server = claim.server))
    else
      claim.onNewQuery.missing(left) match {
        case Some(ids) => Left(changed(claim, row, NameList.render(ids)))
        case None =>
          val last = if (sameQuery) row.last else claim.known.flatMap(_.last)
          Right(
            LedgerRow(
              claim.sinkId,
              claim.queryId,
              claim.target,
              last,
              next(claim, row, sameQuery),
              claim.runId,
              claim.server))
      }
  }

  /** A claim that is tried again after a lost response is the same claim.
    *
    * @param isAgain
    *   whether a row with the run's id is what its claim has left
    */
  private def next(claim: Claim, row: LedgerRow, isAgain: Boolean): Long =
    if (isAgain && row.runId == claim.runId) row.generation else row.generation + 1

  /** A query that was replaced itself does not send its first rows again. */
  private def incomplete(claim: Claim, row: LedgerRow): Option[EpochalException] =
    claim.known
      .flatMap(_.last)
      .map(last => EpochDecision.incomplete(claim.queryId, row, s"it has written up to epoch ${last.epoch} before"))

  private def shared(claim: Claim, other: LedgerRow, others: Seq[LedgerRow]): EpochalException =
    Conditions.TargetShared(
      "table" -> claim.target.name,
      "other" -> other.sinkId,
      "sinkId" -> claim.sinkId,
      "accept" -> NameList.render(others.map(_.sinkId))
    )

  private def changed(claim: Claim, row: LedgerRow, accept: String): EpochalException =
    if (row.queryId != claim.queryId && !claim.onNewQuery.replaces && !claim.onNewQuery.accepted(row.queryId))
      Conditions.QueryChanged(
        "sinkId" -> claim.sinkId,
        "known" -> row.queryId,
        "last" -> row.last.fold("none")(_.epoch.toString),
        "queryId" -> claim.queryId,
        "accept" -> accept
      )
    else
      Conditions.TargetChanged(
        "sinkId" -> claim.sinkId,
        "known" -> row.target.toString,
        "table" -> claim.target.toString,
        "accept" -> accept
      )
}
