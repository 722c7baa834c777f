package io.epochal.spark.sink.jdbc.connection

import java.sql.Connection

import scala.util.control.NonFatal

import io.epochal.spark.sink.jdbc.{Dialect, JdbcOptions}

/** A transaction that is open on a connection.
  *
  * @param id
  *   by which the database can be asked later what became of it, if it can
  */
final private[jdbc] class Transaction private (val connection: Connection, val id: Option[String], dialect: Dialect) {
  private var open = true

  /** Commits it. Nothing may follow. */
  def commit(): Unit = {
    dialect.commit(connection)
    open = false
  }

  private def close(): Unit = if (open) dialect.rollback(connection)
}

private[jdbc] object Transaction {

  /** Runs `body`, and rolls back what it has not committed. */
  def run[A](connection: Connection, dialect: Dialect, options: JdbcOptions)(body: Transaction => A): A = {
    val transaction = new Transaction(connection, dialect.begin(connection, options.lockTimeout), dialect)
    val result =
      try body(transaction)
      catch {
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
