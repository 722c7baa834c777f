package io.epochal.kit.sink

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{EpochAttempt, EpochDecision, LedgerRow, OnLedgerEmpty, ServerIdentity}
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.Shipment

/** The result of an epoch's commit. */
sealed trait EpochOutcome

object EpochOutcome {

  /** Its rows and its ledger row were committed now. */
  final case class Applied(loadNanos: Long, commitNanos: Long) extends EpochOutcome

  /** They were committed before. */
  final case class Repeated(contentDiffers: Boolean) extends EpochOutcome
}

/** The transaction that commits an epoch's rows together with its ledger row, once.
  *
  * {{{
  *   begin ── lock the ledger row ── decide ──► AlreadyApplied ── roll back, success
  *                  ▲                  │
  *                  │                  ▼ Apply (Replace: the target is emptied first; Adopt: without the rows)
  *                  │               rows and ledger row ── COMMIT ──► success
  *                  │                                        │
  *                  └── a new connection reads the ledger ◄──┘ response lost
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
    val outcome = new CommitDoubt(target, attempt.epoch.toString, inLedger = true)
      .inTransaction(s"the commit of epoch ${attempt.epoch}") { (transaction, doubt) =>
        Failpoints.reach(Failpoint.BeforeLedgerLock)
        val row = transaction.ledgerRow().getOrElse(throw Claims.lost(sinkId, attempt.epoch))
        if (doubt.isOpen && landed(attempt, row, transaction, doubt))
          if (settings.onLedgerEmpty == OnLedgerEmpty.Skip(attempt.epoch)) EpochOutcome.Repeated(contentDiffers = false)
          else EpochOutcome.Applied(0L, 0L)
        else
          EpochDecision
            .decide(
              attempt,
              row,
              settings.onLedgerEmpty,
              settings.onEpochMismatch,
              settings.onNewQuery.replaces,
              transaction.lastRun)
            .fold(throw _, identity) match {
            case EpochDecision.AlreadyApplied(contentDiffers) => EpochOutcome.Repeated(contentDiffers)
            case EpochDecision.Apply(next)                    => apply(shipment, whole, next, transaction, doubt)
            case EpochDecision.Replace(next) =>
              if (next.queryId != row.queryId) transaction.takeOver(row, next)
              val applied = apply(shipment, whole = true, next, transaction, doubt)
              LoggerFactory
                .getLogger(getClass)
                .info(
                  "epoch 0 of query {} has replaced all rows of {} (sink '{}', before it query {})",
                  next.queryId,
                  target.name,
                  sinkId,
                  row.queryId)
              applied
            // Rows that tasks have brought to the system are ignored.
            case EpochDecision.Adopt(next) =>
              transaction.adopt(next)
              Failpoints.reach(Failpoint.LedgerWritten)
              doubt.commit(transaction)
              EpochOutcome.Repeated(contentDiffers = false)
          }
      }
    target.committed(shipment, outcome)
    outcome
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

  /** The ledger row is locked, so the transaction whose response was lost has ended. */
  private def landed(
      attempt: EpochAttempt,
      row: LedgerRow,
      transaction: SinkTransaction,
      doubt: CommitDoubt): Boolean = {
    val found = EpochDecision.landed(attempt, row).fold(throw _, identity)
    if (!found) {
      if (doubt.landed(transaction).contains(true))
        throw doubt.unknown("the server has committed it, but the ledger does not show it", null)
      doubt.settle()
    }
    found
  }
}

/** A step that ends in a COMMIT. Remembers a lost COMMIT response until the outcome is known.
  *
  * @param inLedger
  *   whether the ledger shows the outcome. For a batch only the transaction's id does, so the server that assigned it is
  *   remembered
  */
final private[sink] class CommitDoubt(target: SinkTarget, epoch: String, inLedger: Boolean) {
  private var open = false
  private var lost: Option[String] = None
  private var server: Option[ServerIdentity] = None

  def isOpen: Boolean = open

  /** Runs `body` in a transaction, and again after a transient failure, then perhaps in doubt. */
  def inTransaction[A](step: String)(body: (SinkTransaction, CommitDoubt) => A): A =
    try
      target.inTransaction(step)(body(_, this))
    catch {
      case ours: EpochalException if !open || !target.couldNotAsk(ours) => throw ours
      case NonFatal(error) if open => throw unknown(String.valueOf(error.getMessage), error)
    }

  def commit(transaction: SinkTransaction): Unit = {
    if (!inLedger && transaction.id.isDefined) server = Some(transaction.server)
    Failpoints.reach(Failpoint.BeforeCommit)
    try {
      transaction.commit()
      Failpoints.reach(Failpoint.AfterCommit)
    } catch {
      case NonFatal(error) if target.losesConnection(error) =>
        open = true
        lost = transaction.id
        throw error
    }
  }

  /** Whether the current server is the one of the lost transaction, without a fail-over in between. A promoted server assigns
    * the same ids to transactions of its own.
    */
  def isSameServer(transaction: SinkTransaction): Boolean =
    server.exists(before => before.timeline.isDefined && before == transaction.server)

  /** Whether the lost transaction was committed, as far as the system knows; throws a transient error while it is in progress.
    */
  def landed(transaction: SinkTransaction): Option[Boolean] = lost.flatMap(transaction.isCommitted)

  /** Nothing was committed: the next transaction is like the first. */
  def settle(): Unit = open = false

  def unknown(reason: String, cause: Throwable): EpochalException =
    Conditions.CommitUnknown.because(cause)("url" -> target.place, "epoch" -> epoch, "reason" -> reason)
}

/** Commits a batch write: all of its rows in one transaction, without the ledger.
  *
  * A batch has no epoch by which it could be recognised, so a repeated call writes again. Within one call, a response lost
  * during COMMIT is resolved by the transaction's id, on the same server and timeline. If the system no longer knows the
  * transaction, or has no ids, the call fails with COMMIT_UNKNOWN rather than writing twice.
  */
final private[sink] class BatchCommit(target: SinkTarget, settings: SinkSettings, whole: Boolean) {

  def commit(shipment: Shipment): Unit = {
    BadRows.check(settings.badRowLimit, shipment.deadLetters, BatchCommit.Epoch)
    new CommitDoubt(target, BatchCommit.Epoch, inLedger = false).inTransaction("the batch write") {
      (transaction, doubt) =>
        val landed = doubt.isOpen && committed(transaction, doubt)
        if (!landed) {
          try transaction.applyBatch(shipment, whole)
          finally shipment.release()
          doubt.commit(transaction)
        }
    }
  }

  private def committed(transaction: SinkTransaction, doubt: CommitDoubt): Boolean =
    doubt.landed(transaction) match {
      case None => throw doubt.unknown("it keeps no record of the transaction", null)
      case Some(_) if !doubt.isSameServer(transaction) =>
        throw doubt.unknown("another server responds now, or the same one after a fail-over", null)
      case Some(landed) =>
        if (!landed) doubt.settle()
        landed
    }
}

private[epochal] object BatchCommit {

  /** Stands for the epoch in messages. */
  val Epoch: String = Condition.BatchWrite

  /** Prefix of the id of each batch write, in place of a stream's sink id. */
  val IdPrefix = "batch:"
}
