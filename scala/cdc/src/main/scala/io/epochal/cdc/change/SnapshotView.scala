package io.epochal.cdc.change

import io.epochal.cdc.pgoutput.Bytes

/** Which changes are already contained in the snapshot. */
private[cdc] trait SnapshotView {

  /** None: the snapshot contains none of the transaction's changes. Else whether it contains the change of a row, by the row's key. */
  def of(lsn: Long, xid: Int): Option[(CapturedTable, Bytes) => Boolean]

  /** The position before which a transaction's changes may be contained in part; 0: there is none. */
  def preparedUntil: Long = 0L

  /** Locates many rows by one query, for calls of `of` until the next one. */
  def prepare(rows: Seq[(CapturedTable, Bytes)]): Unit = ()

  /** Whether the table was copied after a transaction had emptied it. */
  def containsTruncate(table: CapturedTable, lsn: Long, xid: Int): Boolean = false
}

private[cdc] object SnapshotView {

  /** Every change is contained. */
  val Everything: (CapturedTable, Bytes) => Boolean = (_, _) => true
}
