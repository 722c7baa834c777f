package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

/** Finds the sessions that block a claim, and ends those of its predecessors. */
trait Sessions {

  /** The session number of the open transaction. */
  def current(connection: Connection): Long

  /** The sessions that block a session, directly or indirectly, as far as this role may see them.
    *
    * @param connection
    *   a different one
    * @param successor
    *   the sink's newest generation: sessions of generations that it supersedes may be ended
    */
  def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker]

  /** Ends a session, provided that it is still in the same transaction. */
  def end(connection: Connection, blocker: Blocker): Unit

  /** A key by which another session can look at a transaction.
    *
    * @param id
    *   the transaction's, as [[Dialect.begin]] returned it
    */
  def session(connection: Connection, id: Option[String]): Option[String]

  /** Of these keys, those whose sessions execute a statement, or have done so within the given milliseconds. A session that waits
    * for its client to send something, or to read something, executes none.
    *
    * @param connection
    *   a different one, in autocommit mode
    */
  def busy(connection: Connection, keys: Seq[String], milliseconds: Long): Set[String]

  /** Ends a session of ours whose client is lost, unless its transaction has ended. */
  def endSession(connection: Connection, key: String): Unit

  /** Closes the socket of a connection, while its thread waits there. */
  def abort(connection: Connection): Unit = connection.abort(_.run())

  /** Called on the connection after a writer's transaction has ended. */
  def ended(@unused connection: Connection, @unused writer: Writer): Unit = ()
}
