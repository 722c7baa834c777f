package io.epochal.cdc.pgoutput

import org.postgresql.replication.LogSequenceNumber

/** A position in PostgreSQL's log. */
private[cdc] object Lsn {

  /** As the server prints it: `0/16B3748`. */
  def show(lsn: Long): String = LogSequenceNumber.valueOf(lsn).asString

  def read(text: String): Option[Long] =
    Option.when(Pattern.matches(text))(LogSequenceNumber.valueOf(text).asLong)

  private val Pattern = "[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}".r
}
