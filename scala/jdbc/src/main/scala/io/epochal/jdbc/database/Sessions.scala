package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.core.hash.Sha256

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

  /** Called on the connection after a writer's transaction has ended. */
  def ended(@unused connection: Connection, @unused writer: Writer): Unit = ()
}

/** The run that owns a transaction, as shown to other sessions of the database.
  *
  * @param sink
  *   16 hexadecimal digits, a hash of the ledger's schema and the sink id
  */
final case class Writer(sink: String, generation: Long) {

  /** Whether a claim by this run makes `other` an older generation, so that it may be ended. */
  def supersedes(other: Writer): Boolean = sink == other.sink && other.generation <= generation
}

object Writer {
  def of(schema: String, sinkId: String, generation: Long): Writer =
    Writer(Sha256.hex(s"$schema\n$sinkId", 8), generation)
}

/** A session that blocks another one.
  *
  * @param process
  *   its number for the server's kill command; None: it has no process (a prepared transaction)
  * @param description
  *   for people: its owner, the age of its transaction, its current statement
  * @param key
  *   what must still hold when it is ended
  * @param writer
  *   the run that it provably belongs to, if it may be ended: our role, our database, not waiting for a replica
  */
final case class Blocker(process: Option[Long], description: String, key: String, writer: Option[Writer])
