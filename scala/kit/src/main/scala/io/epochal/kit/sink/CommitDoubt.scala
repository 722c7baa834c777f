package io.epochal.kit.sink

import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.ServerIdentity

/** Remembers that the response to a COMMIT was lost, until somebody has found out what became of it (K7).
  *
  * @param inLedger
  *   whether the ledger tells of it. Of a batch nothing in the system but the transaction's id tells, so the server is remembered
  *   that gave it
  */
final private[sink] class CommitDoubt(target: SinkTarget, epoch: String, inLedger: Boolean) {
  private var open = false
  private var current: Option[String] = None
  private var lost: Option[String] = None
  private var server: Option[ServerIdentity] = None

  def isOpen: Boolean = open

  /** Runs `body` in a transaction, and again after a transient failure, then perhaps in doubt. */
  def run[A](step: String)(body: (SinkTransaction, CommitDoubt) => A): A =
    try
      target.transaction(step) { transaction =>
        current = transaction.id
        body(transaction, this)
      }
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
        lost = current
        throw error
    }
  }

  /** Whether the server that responds now is the one that the lost transaction was open on, with no fail-over between. One
    * that was promoted gives the same ids to transactions of its own.
    */
  def isSameServer(transaction: SinkTransaction): Boolean =
    server.exists(before => before.timeline.isDefined && before == transaction.server)

  /** What the system knows of the lost transaction; a transient error while it is still under way. */
  def outcome(transaction: SinkTransaction): Option[TransactionOutcome] = lost.flatMap(transaction.outcome)

  /** It is known that nothing was committed: what follows is a transaction like the first. */
  def settle(): Unit = open = false

  def unknown(reason: String, cause: Throwable): EpochalException =
    Conditions.CommitUnknown.because(cause)("url" -> target.place, "epoch" -> epoch, "reason" -> reason)
}
