package io.epochal.jdbc.sql

import io.epochal.core.hash.Sha256

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
