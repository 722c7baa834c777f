package io.epochal.cdc.change

import java.lang.Long.compareUnsigned

/** A snapshot of the server: which transactions it contains.
  *
  * @param text
  *   as `pg_current_snapshot()` prints it: the oldest transaction that ran, the next one, and those that ran
  * @param lsn
  *   a position in the log after it was taken: it contains no transaction whose commit record begins there or later
  */
final private[cdc] case class ServerSnapshot(text: String, lsn: Long) {
  private val Array(oldest, next, list) = text.split(":", -1)
  private val (xmin, xmax) = (oldest.toLong, next.toLong)
  private val active = list.split(',').filter(_.nonEmpty).map(_.toLong).toSet

  /** Whether rows that were read in it show a transaction.
    *
    * @param xid
    *   the lower 32 bits
    */
  def contains(lsn: Long, xid: Int): Boolean = compareUnsigned(lsn, this.lsn) < 0 && shows(xid)

  /** The same for a transaction that has committed. */
  def shows(xid: Int): Boolean = {
    // The transaction is at most 2^31 older or newer than the snapshot.
    val whole = xmax + (xid - xmax.toInt)
    whole < xmin || whole < xmax && !active(whole)
  }
}
