package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.NameList

/** Changes that the user accepts in the ledger. After the claim the ledger no longer holds an accepted id, so the same option,
  * left in a job, accepts nothing more.
  *
  * @param accepted
  *   ids of queries to take over from, of targets to leave, of sinks to write beside
  * @param replaces
  *   whether the first epoch of a query empties the target first
  */
final case class OnNewQuery(accepted: Set[String], replaces: Boolean = false) {

  /** The ids, if some of them are not accepted. */
  private[ledger] def missing(ids: Seq[String]): Option[Seq[String]] = Option.when(!ids.forall(accepted))(ids)
}

object OnNewQuery {
  val Fail: OnNewQuery = OnNewQuery(Set.empty)
  val Replace: OnNewQuery = OnNewQuery(Set.empty, replaces = true)
}

/** A run that wants to write.
  *
  * @param known
  *   the ledger's row of this query from before another query took the sink over; None if there is none
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

  /** The next generation. A claim that is retried after a lost response keeps its generation.
    *
    * @param isAgain
    *   whether a row with the run's id is the result of its claim
    */
  private def next(claim: Claim, row: LedgerRow, isAgain: Boolean): Long =
    if (isAgain && row.runId == claim.runId) row.generation else row.generation + 1

  /** A query that was itself replaced does not send its first rows again. */
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
