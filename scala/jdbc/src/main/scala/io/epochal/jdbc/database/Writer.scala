package io.epochal.jdbc.database

import io.epochal.core.hash.Sha256

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
