package io.epochal.kit.sink

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{EpochAttempt, EpochDecision, LedgerRow, OnLedgerEmpty}
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.Shipment

/** What became of an epoch. */
sealed trait EpochOutcome

object EpochOutcome {

  /** Its rows and its ledger row were committed now. */
  final case class Applied(loadNanos: Long, commitNanos: Long) extends EpochOutcome

  /** They had been committed before. */
  final case class Repeated(contentDiffers: Boolean) extends EpochOutcome
}

/** The transaction that commits an epoch's rows together with its ledger row (K1, K3, K5, K7, K13).
  *
  * {{{
  *   begin ── lock the ledger row ── decide ──► AlreadyApplied ── roll back, success
  *                  ▲                  │
  *                  │                  ▼ Apply (Replace: the target is emptied first; Adopt: without the rows)
  *                  │               rows and ledger row ── COMMIT ──► success
  *                  │                                        │
  *                  └── a new connection asks what landed ◄──┘ response lost
  * }}}
  *
  * @param sinkId
  *   whose row in the ledger it is
  * @param whole
  *   the epoch holds all rows of the target
  * @param endsProgress
  *   the query has stored rows in the middle of epochs before, and does so no more
  */
final private[sink] class EpochCommit(
    target: SinkTarget,
    sinkId: String,
    settings: SinkSettings,
    whole: Boolean,
    endsProgress: Boolean = false) {

  def commit(attempt: EpochAttempt, shipment: Shipment): EpochOutcome = {
    val outcome = transact(attempt, shipment)
    target.committed(shipment, outcome)
    outcome
  }

  private def transact(attempt: EpochAttempt, shipment: Shipment): EpochOutcome =
    new CommitDoubt(target, attempt.epoch.toString, inLedger = true).run(s"the commit of epoch ${attempt.epoch}") {
      (transaction, doubt) =>
        Failpoints.reach(Failpoint.BeforeLedgerLock)
        val row = transaction.ledgerRow().getOrElse(throw lost(attempt))
        if (doubt.isOpen && landed(attempt, row, transaction, doubt))
          if (skips(attempt)) EpochOutcome.Repeated(contentDiffers = false) else EpochOutcome.Applied(0L, 0L)
        else
          EpochDecision
            .decide(attempt, row, settings.onLedgerEmpty, settings.onEpochMismatch, settings.onNewQuery.replaces)
            .fold(throw _, identity) match {
            case EpochDecision.AlreadyApplied(contentDiffers) => EpochOutcome.Repeated(contentDiffers)
            case EpochDecision.Apply(next)                    => apply(shipment, whole, next, transaction, doubt)
            case EpochDecision.Replace(next) =>
              if (next.queryId != row.queryId) transaction.takeOver(row, next)
              val applied = apply(shipment, whole = true, next, transaction, doubt)
              EpochCommit.log.info(
                "epoch 0 of query {} has replaced all rows of {} (sink '{}', before it query {})",
                next.queryId,
                target.name,
                sinkId,
                row.queryId)
              applied
            // What tasks have brought of it to the system does not count.
            case EpochDecision.Adopt(next) =>
              transaction.adopt(next)
              Failpoints.reach(Failpoint.LedgerWritten)
              doubt.commit(transaction)
              EpochOutcome.Repeated(contentDiffers = false)
          }
    }

  private def apply(
      shipment: Shipment,
      whole: Boolean,
      next: LedgerRow,
      transaction: SinkTransaction,
      doubt: CommitDoubt): EpochOutcome = {
    BadRows.check(settings.badRowLimit, shipment.deadLetters, next.last.get.epoch.toString)
    val start = System.nanoTime()
    try transaction.apply(shipment, whole, next)
    finally shipment.release()
    if (endsProgress) transaction.progress.foreach(_.end(next.queryId))
    Failpoints.reach(Failpoint.LedgerWritten)
    val loaded = System.nanoTime()
    doubt.commit(transaction)
    EpochOutcome.Applied(loaded - start, System.nanoTime() - loaded)
  }

  private def skips(attempt: EpochAttempt): Boolean = settings.onLedgerEmpty == OnLedgerEmpty.Skip(attempt.epoch)

  /** The ledger row is locked, so the transaction whose response was lost has ended. */
  private def landed(
      attempt: EpochAttempt,
      row: LedgerRow,
      transaction: SinkTransaction,
      doubt: CommitDoubt): Boolean = {
    val found = EpochDecision.landed(attempt, row).fold(throw _, identity)
    if (!found) {
      if (doubt.outcome(transaction).contains(TransactionOutcome.Committed))
        throw doubt.unknown("the server has committed it, but the ledger does not show it", null)
      doubt.settle()
    }
    found
  }

  private def lost(attempt: EpochAttempt): EpochalException =
    Conditions.LedgerEmpty("epoch" -> attempt.epoch, "sinkId" -> sinkId)
}

private object EpochCommit {
  private val log = LoggerFactory.getLogger(classOf[EpochCommit])
}
