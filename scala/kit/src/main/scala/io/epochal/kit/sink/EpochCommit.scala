package io.epochal.kit.sink

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{EpochAttempt, EpochDecision, LedgerRow, OnLedgerEmpty}
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.Shipment

/** The transaction that commits an epoch's rows together with its ledger row, once.
  *
  * {{{
  *   begin ── lock the ledger row ── decide ──► AlreadyApplied ── roll back, success
  *                  ▲                  │
  *                  │                  ▼ Apply (Replace: the target is emptied first; Adopt: without the rows)
  *                  │               rows and ledger row ── COMMIT ──► success
  *                  │                                        │
  *                  └── a new connection reads the ledger ◄──┘ response lost (CommitDoubt)
  * }}}
  *
  * @param sinkId
  *   the sink's id in the ledger
  * @param whole
  *   the epoch holds all rows of the target
  * @param endsProgress
  *   the query stored rows in the middle of epochs before, and no longer does
  */
final private[sink] class EpochCommit(
    target: SinkTarget,
    sinkId: String,
    settings: SinkSettings,
    whole: Boolean,
    endsProgress: Boolean = false) {

  def commit(attempt: EpochAttempt, shipment: Shipment): EpochOutcome = {
    val outcome = target.attempt(s"the commit of epoch ${attempt.epoch}") { transaction =>
      val row = EpochCommit.row(transaction, sinkId, attempt.epoch)
      transaction.doubt
        .resolve(attempt.epoch.toString)(priorOutcome(attempt, row, transaction))
        .getOrElse(decide(attempt, shipment, row, transaction))
    }
    target.committed(shipment, outcome)
    outcome
  }

  private def decide(
      attempt: EpochAttempt,
      shipment: Shipment,
      row: LedgerRow,
      transaction: SinkTransaction): EpochOutcome = {
    import settings.{onEpochMismatch, onLedgerEmpty, onNewQuery}
    EpochDecision.decide(attempt, row, onLedgerEmpty, onEpochMismatch, onNewQuery.replaces, transaction.lastRun) match {
      case Left(refusal)                                       => throw refusal
      case Right(EpochDecision.AlreadyApplied(contentDiffers)) => EpochOutcome.Repeated(contentDiffers)
      case Right(EpochDecision.Apply(next))                    => apply(shipment, whole, next, transaction)
      case Right(EpochDecision.Replace(next)) =>
        if (next.queryId != row.queryId) transaction.takeOver(row, next)
        val outcome = apply(shipment, whole = true, next, transaction)
        Claims.log.info(
          s"epoch 0 of query ${next.queryId} has replaced all rows of ${target.name} (sink '$sinkId', before it query ${row.queryId})")
        outcome
      // Rows that tasks have brought to the system are ignored.
      case Right(EpochDecision.Adopt(next)) =>
        transaction.adopt(next)
        Failpoints.reach(Failpoint.LedgerWritten)
        EpochCommit.commit(transaction)
        EpochOutcome.Repeated(contentDiffers = false)
    }
  }

  private def apply(shipment: Shipment, whole: Boolean, next: LedgerRow, transaction: SinkTransaction): EpochOutcome = {
    BadRows.check(settings.badRowLimit, shipment.deadLetters, next.last.get.epoch.toString)
    val start = System.nanoTime()
    try transaction.apply(shipment, whole, next)
    finally shipment.release()
    if (endsProgress) transaction.progress.foreach(_.end(next.queryId))
    Failpoints.reach(Failpoint.LedgerWritten)
    val loadEnd = System.nanoTime()
    EpochCommit.commit(transaction)
    EpochOutcome.Applied(loadEnd - start, System.nanoTime() - loadEnd)
  }

  /** The ledger row is locked, so the transaction whose response was lost has ended. */
  private def priorOutcome(attempt: EpochAttempt, row: LedgerRow, transaction: SinkTransaction): Option[EpochOutcome] =
    if (EpochDecision.landed(attempt, row).fold(throw _, identity))
      Some(
        if (settings.onLedgerEmpty == OnLedgerEmpty.Skip(attempt.epoch)) EpochOutcome.Repeated(contentDiffers = false)
        else EpochOutcome.Applied(0L, 0L))
    else if (transaction.isCommitted.contains(true)) {
      val reason = "the server has committed it, but the ledger does not show it"
      throw CommitDoubt.unknown(target.place, attempt.epoch.toString, reason)
    } else None
}

private[sink] object EpochCommit {

  /** The sink's row in the ledger, locked. */
  def row(transaction: SinkTransaction, sinkId: String, epoch: Long): LedgerRow = {
    Failpoints.reach(Failpoint.BeforeLedgerLock)
    transaction.ledgerRow().getOrElse(throw Claims.lost(sinkId, epoch))
  }

  /** The COMMIT of an epoch. */
  def commit(transaction: SinkTransaction): Unit = {
    Failpoints.reach(Failpoint.BeforeCommit)
    transaction.commit()
    Failpoints.reach(Failpoint.AfterCommit)
  }
}
