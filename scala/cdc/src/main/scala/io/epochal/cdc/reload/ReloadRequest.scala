package io.epochal.cdc.reload

import java.lang.Long.parseUnsignedLong
import java.util.{Locale, UUID}

/** A table that is to be reloaded.
  *
  * @param lsn
  *   of the transaction that requests it
  * @param table
  *   its OID
  */
final private[reload] case class ReloadRequest(lsn: Long, table: Long) {
  def name: String = "%016x-%d".formatLocal(Locale.ROOT, lsn, table)

  /** Names an attempt. */
  def newToken(): String = s"$name-${UUID.randomUUID}"
}

private[reload] object ReloadRequest {
  private val Name = "([0-9a-f]{16})-(\\d+)(?:-.*)?".r

  /** From its name, or a token. */
  def read(name: String): Option[ReloadRequest] = Option(name).collect { case Name(lsn, table) =>
    ReloadRequest(parseUnsignedLong(lsn, 16), table.toLong)
  }
}
