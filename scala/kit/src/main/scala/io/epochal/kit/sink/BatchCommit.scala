package io.epochal.kit.sink

import io.epochal.core.error.Condition
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.Shipment

/** Commits a batch write: all of its rows in one transaction, without the ledger.
  *
  * A batch has no epoch by which it could be known again, so a call that is repeated writes again. Within one call, a
  * response lost during COMMIT is settled by the transaction's id, on the same server and timeline; where the system does
  * not know it any more, or has none, the call fails with COMMIT_UNKNOWN rather than writing twice.
  */
final private[sink] class BatchCommit(target: SinkTarget, settings: SinkSettings, whole: Boolean) {

  def commit(shipment: Shipment): Unit = {
    BadRows.check(settings.badRowLimit, shipment.deadLetters, BatchCommit.Epoch)
    new CommitDoubt(target, BatchCommit.Epoch, inLedger = false).run("the batch write") { (transaction, doubt) =>
      val landed = doubt.isOpen && committed(transaction, doubt)
      if (!landed) {
        try transaction.applyBatch(shipment, whole)
        finally shipment.release()
        doubt.commit(transaction)
      }
    }
  }

  private def committed(transaction: SinkTransaction, doubt: CommitDoubt): Boolean =
    doubt.outcome(transaction) match {
      case None => throw doubt.unknown("it keeps no record of the transaction", null)
      case Some(_) if !doubt.isSameServer(transaction) =>
        throw doubt.unknown("another server responds now, or the same one after a fail-over", null)
      case Some(TransactionOutcome.Committed) => true
      case Some(_) =>
        doubt.settle()
        false
    }
}

private[epochal] object BatchCommit {

  /** Stands for the epoch in messages. */
  val Epoch: String = Condition.BatchWrite

  /** Begins the id of each batch write, where a stream has its sink id. */
  val IdPrefix = "batch:"
}
