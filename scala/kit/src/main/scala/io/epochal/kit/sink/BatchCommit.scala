package io.epochal.kit.sink

import io.epochal.core.error.Condition
import io.epochal.core.ledger.ServerIdentity
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.Shipment

/** Commits a batch write: all of its rows in one transaction, without the ledger.
  *
  * A batch has no epoch by which it could be recognised, so a repeated call writes again. Within one call, a response lost
  * during COMMIT is resolved by the transaction's id, on the same server and timeline. If the system no longer knows the
  * transaction, or has no ids, the call fails with COMMIT_UNKNOWN rather than writing twice.
  */
final private[sink] class BatchCommit(target: SinkTarget, settings: SinkSettings, whole: Boolean) {
  import BatchCommit.Epoch

  /** The server that the COMMIT was sent to. */
  private var server = Option.empty[ServerIdentity]

  def commit(shipment: Shipment): Unit = {
    BadRows.check(settings.badRowLimit, shipment.deadLetters, Epoch)
    target.attempt("the batch write") { transaction =>
      transaction.doubt.resolve(Epoch)(Option.when(landed(transaction))(())).getOrElse {
        try transaction.applyBatch(shipment, whole)
        finally shipment.release()
        server = Some(transaction.server)
        EpochCommit.commit(transaction)
      }
    }
  }

  /** A promoted server assigns the same ids to transactions of its own. */
  private def landed(transaction: SinkTransaction): Boolean = {
    def unknownOutcome(reason: String) = CommitDoubt.unknown(target.place, Epoch, reason)
    val isStored = transaction.isCommitted.getOrElse(throw unknownOutcome("it keeps no record of the transaction"))
    if (!server.exists(before => before.timeline.isDefined && before == transaction.server))
      throw unknownOutcome("another server responds now, or the same one after a fail-over")
    isStored
  }
}

private[epochal] object BatchCommit {

  /** Stands for the epoch in messages. */
  val Epoch: String = Condition.BatchWrite

  /** Prefix of the id of each batch write, in place of a stream's sink id. */
  val IdPrefix = "batch:"
}
