package io.epochal.jdbc.database

import java.sql.{Connection, ResultSet}
import java.time.Duration

import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.kit.database.Sql
import io.epochal.kit.sink.CommitDoubt
import io.epochal.kit.sink.row.EncodedRows

/** A transaction on a connection. It begins when it is first used. */
final private[jdbc] class Transaction private (
    raw: Connection,
    dialect: Dialect,
    lockTimeout: Duration,
    writer: Option[Writer],
    val doubt: CommitDoubt) {
  private var begun = false
  private var open = false

  /** By which the database can report the outcome later, if it can. */
  private var id = Option.empty[String]
  private var preparedLoad = Option.empty[PreparedLoad]

  /** The connection, in the open transaction. */
  def connection: Connection = {
    if (!begun) begin((dialect.begin(raw, lockTimeout, writer), Nil)): Unit
    preparedLoad.foreach(_.undo(raw))
    preparedLoad = None
    raw
  }

  /** Runs a query: in an unused transaction together with its beginning.
    *
    * @param load
    *   to be prepared with it, if [[loadPrepared]] follows
    */
  def first[A](sql: Sql, load: Option[PreparedLoad])(read: ResultSet => A): Seq[A] =
    if (begun) sql.query(connection)(read)
    else {
      val rows = begin(dialect.begin(raw, lockTimeout, writer, sql, load)(read))
      preparedLoad = load
      rows
    }

  /** Loads rows, if nothing but [[first]] has used the transaction. */
  def loadPrepared(rows: => EncodedRows): Option[Loaded] = preparedLoad.map(_(raw, rows))

  private def begin[A](body: => (Option[String], Seq[A])): Seq[A] = {
    begun = true
    val (newId, rows) = ConnectionWatch.briefly(body)
    open = true
    id = newId
    ConnectionWatch.enter(dialect.sessions.flatMap(_.session(raw, newId)))
    OpenFiles.check(raw)
    rows
  }

  /** Commits; nothing may follow. Fails if the file written to is not the database any more.
    *
    * @param last
    *   statements to run before
    */
  def commit(last: Seq[Sql] = Nil): Unit = {
    if (!begun) connection: Unit
    doubt.commit(id)(dialect.commit(raw, last))
    open = false
    notifyEnd()
    OpenFiles.check(raw)
  }

  private def close(): Unit = if (open) {
    dialect.rollback(raw)
    notifyEnd()
  }

  // The transaction is committed: a failure here must not make it look otherwise.
  private def notifyEnd(): Unit = writer.foreach(mine => Try(dialect.sessions.foreach(_.ended(raw, mine))))
}

private[jdbc] object Transaction {

  /** Runs `body`, and rolls back what it did not commit.
    *
    * @param writer
    *   the run whose transaction it is, for successors that wait for it
    */
  def run[A](
      connection: Connection,
      dialect: Dialect,
      lockTimeout: Duration,
      writer: Option[Writer] = None,
      doubt: CommitDoubt = new CommitDoubt(_ => false))(body: Transaction => A): A = ConnectionWatch.inSession(None) {
    val transaction = new Transaction(connection, dialect, lockTimeout, writer, doubt)
    val result =
      try body(transaction)
      catch {
        case error: Throwable => // Fatal errors too: the connection must not return to the pool with the transaction open.
          // On a lost connection there is nothing to roll back, and the first error is the cause.
          try transaction.close()
          catch { case NonFatal(second) => error.addSuppressed(second) }
          throw error
      }
    transaction.close()
    result
  }
}
