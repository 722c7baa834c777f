package io.epochal.jdbc.commit

import java.sql.Connection

import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.ServerIdentity
import io.epochal.jdbc.database.{Database, Failpoint, Failpoints, Transaction, TransactionOutcome}
import io.epochal.jdbc.sql.Writer

/** Remembers that the answer to a COMMIT was lost, until somebody has found out what became of it (K7).
  *
  * @param writer
  *   whose epoch it is, of which the ledger tells. None for a batch: nothing in the database but the transaction's id tells, so
  *   the server is remembered that gave it
  */
final private[jdbc] class CommitDoubt(database: Database, epoch: String, writer: Option[Writer]) {
  private var open = false
  private var current: Option[String] = None
  private var lost: Option[String] = None
  private var server: Option[ServerIdentity] = None

  def isOpen: Boolean = open

  /** Runs `body` in a transaction, and again after a passing failure, then perhaps in doubt. */
  def run[A](step: String)(body: (Transaction, CommitDoubt) => A): A =
    try
      database.transaction(step, writer) { transaction =>
        current = transaction.id
        body(transaction, this)
      }
    catch {
      case ours: EpochalException if !open || !CommitDoubt.leavesOpen(ours) => throw ours
      case NonFatal(error) if open => throw unknown(String.valueOf(error.getMessage), error)
    }

  def commit(transaction: Transaction): Unit = {
    if (writer.isEmpty && transaction.id.isDefined) server = Some(database.dialect.server(transaction.connection))
    Failpoints.reach(Failpoint.BeforeCommit)
    try {
      transaction.commit()
      Failpoints.reach(Failpoint.AfterCommit)
    } catch {
      case NonFatal(error) if database.losesConnection(error) =>
        open = true
        lost = current
        throw error
    }
  }

  /** Whether the server that answers now is the one that the lost transaction was open on, with no fail-over between. One
    * that was promoted gives the same ids to transactions of its own.
    */
  def isSameServer(connection: Connection): Boolean =
    server.exists(before => before.timeline.isDefined && before == database.dialect.server(connection))

  /** What the database knows of the lost transaction; an error that passes while it is still under way. */
  def outcome(connection: Connection): Option[TransactionOutcome] =
    lost.flatMap(database.dialect.decided(connection, _))

  /** It is known that nothing was committed: what follows is a transaction like the first. */
  def settle(): Unit = open = false

  def unknown(reason: String, cause: Throwable): EpochalException =
    Conditions.CommitUnknown.because(cause)("url" -> database.place, "epoch" -> epoch, "reason" -> reason)
}

private object CommitDoubt {

  /** Errors of the connection and the database, after which the doubt is still there. */
  private def leavesOpen(error: EpochalException): Boolean =
    Set(
      Conditions.DatabaseError,
      Conditions.DatabaseUnreachable,
      Conditions.LoginRefused,
      Conditions.TooManyConnections)(error.condition)
}
