package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.core.hash.Sha256

/** How a claim finds the sessions that keep it waiting, and ends those of its predecessors (K15). */
trait Sessions {

  /** The number of the session that the open transaction has. */
  def current(connection: Connection): Long

  /** The sessions for which a session waits, also indirectly, as far as this role may see them.
    *
    * @param connection
    *   another one
    * @param successor
    *   the sink's newest generation: those that it supersedes may be ended
    */
  def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker]

  /** Ends a session, provided that it is still in the transaction in which it was seen. */
  def end(connection: Connection, blocker: Blocker): Unit

  /** After the end of a transaction that was begun for a writer, on its connection. */
  def ended(@unused connection: Connection, @unused writer: Writer): Unit = ()
}

/** Whose transaction it is, as other sessions of the database see it.
  *
  * @param sink
  *   16 hexadecimal digits, a hash of the ledger's schema and the sink id
  */
final case class Writer(sink: String, generation: Long) {

  /** Whether a run that claims after this one has nothing to fear from `other`: the claim makes it an older generation. */
  def supersedes(other: Writer): Boolean = sink == other.sink && other.generation <= generation
}

object Writer {
  def of(schema: String, sinkId: String, generation: Long): Writer =
    Writer(Sha256.hex(s"$schema\n$sinkId", 8), generation)
}

/** A session that keeps another one waiting.
  *
  * @param process
  *   its number, as the server's command to end it takes it; None: it has no process (a prepared transaction)
  * @param description
  *   for people: whose it is, how old its transaction, what it does
  * @param key
  *   what must still be so when it is ended
  * @param writer
  *   the run that it is proven to belong to, where that may be ended: our role, our database, not waiting for a replica
  */
final case class Blocker(process: Option[Long], description: String, key: String, writer: Option[Writer])
