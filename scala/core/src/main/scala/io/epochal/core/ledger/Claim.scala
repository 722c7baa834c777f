package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** What to do about a query that the ledger does not expect. */
sealed trait OnNewQuery

object OnNewQuery {
  case object Fail extends OnNewQuery
  case object Append extends OnNewQuery
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
      case Some(row) => again(claim, row)
    }

  /** This very query under another sink id is the same sink with a new name: it would write its last epoch twice, so it is
    * refused even where a second sink is welcome.
    */
  private def fresh(claim: Claim, others: Seq[LedgerRow]): Either[EpochalException, LedgerRow] =
    others
      .find(_.queryId == claim.queryId)
      .orElse(others.headOption.filter(_ => claim.onNewQuery == OnNewQuery.Fail)) match {
      case Some(other) =>
        Left(Conditions.TargetShared("table" -> claim.target.name, "other" -> other.sinkId, "sinkId" -> claim.sinkId))
      case None =>
        Right(LedgerRow(claim.sinkId, claim.queryId, claim.target, None, 1L, claim.runId, claim.server))
    }

  private def again(claim: Claim, row: LedgerRow): Either[EpochalException, LedgerRow] = {
    val sameQuery = row.queryId == claim.queryId
    val sameTarget = row.target == claim.target
    if (claim.onNewQuery == OnNewQuery.Fail && !sameQuery)
      Left(
        Conditions.NewQuery(
          "sinkId" -> claim.sinkId,
          "known" -> row.queryId,
          "last" -> row.last.fold("none")(_.epoch.toString),
          "queryId" -> claim.queryId
        )
      )
    else if (claim.onNewQuery == OnNewQuery.Fail && !sameTarget)
      Left(
        Conditions
          .TargetChanged("sinkId" -> claim.sinkId, "known" -> row.target.toString, "table" -> claim.target.toString)
      )
    else {
      val last = if (sameQuery) row.last else claim.known.flatMap(_.last)
      // A claim that is tried again after a lost answer is the same claim.
      val generation = if (sameQuery && row.runId == claim.runId) row.generation else row.generation + 1
      Right(LedgerRow(claim.sinkId, claim.queryId, claim.target, last, generation, claim.runId, claim.server))
    }
  }
}
