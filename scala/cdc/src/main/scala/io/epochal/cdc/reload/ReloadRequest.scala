package io.epochal.cdc.reload

import java.lang.Long.parseUnsignedLong
import java.util.{Locale, UUID}

/** A table whose rows are to be read again.
  *
  * @param lsn
  *   of the transaction that requests it; of the last one before, if none does. If changes are withheld: of the last one whose changes
  *   are not
  * @param table
  *   its OID
  */
final private[cdc] case class ReloadRequest(lsn: Long, table: Long, purpose: ReloadPurpose = ReloadPurpose.Reload) {
  def name: String = "%016x-%d%s".formatLocal(Locale.ROOT, lsn, table, purpose.mark)

  /** Names an attempt. */
  def newToken(): String = s"$name-${UUID.randomUUID}"
}

private[cdc] object ReloadRequest {
  private val Name = "([0-9a-f]{16})-(\\d+)([a-z]?)(?:-.*)?".r

  /** From its name, or a token. */
  def read(name: String): Option[ReloadRequest] = Option(name).collect { case Name(lsn, table, mark) =>
    ReloadPurpose.all.find(_.mark == mark).map(ReloadRequest(parseUnsignedLong(lsn, 16), table.toLong, _))
  }.flatten
}
