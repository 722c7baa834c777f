package io.epochal.jdbc.database

import java.sql.Connection
import java.time.Duration

import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.jdbc.sql.Writer

/** A transaction that is open on a connection.
  *
  * @param id
  *   by which the database can be asked later what became of it, if it can
  */
final private[jdbc] class Transaction private (
    val connection: Connection,
    val id: Option[String],
    dialect: Dialect,
    writer: Option[Writer]) {
  private var open = true

  /** Commits it. Nothing may follow. It fails where that went into a file that is not the database any more. */
  def commit(): Unit = {
    dialect.commit(connection)
    open = false
    ended()
    OpenFiles.check(connection)
  }

  private def close(): Unit = if (open) {
    dialect.rollback(connection)
    ended()
  }

  // What the transaction did stands: a failure here must not make it look otherwise.
  private def ended(): Unit = writer.foreach(mine => Try(dialect.ended(connection, mine)))
}

private[jdbc] object Transaction {

  /** Runs `body`, and rolls back what it has not committed.
    *
    * @param writer
    *   whose transaction it is, for a successor that waits for it
    */
  def run[A](connection: Connection, dialect: Dialect, lockTimeout: Duration, writer: Option[Writer] = None)(
      body: Transaction => A): A = {
    val id = writer.fold(dialect.begin(connection, lockTimeout))(dialect.begin(connection, lockTimeout, _))
    val transaction = new Transaction(connection, id, dialect, writer)
    val result =
      try {
        OpenFiles.check(connection)
        body(transaction)
      } catch {
        case error: Throwable => // A fatal one, too, must not give the connection back with the transaction open.
          // Where the connection is lost there is nothing to roll back, and the first error is the reason.
          try transaction.close()
          catch { case NonFatal(second) => error.addSuppressed(second) }
          throw error
      }
    transaction.close()
    result
  }
}
