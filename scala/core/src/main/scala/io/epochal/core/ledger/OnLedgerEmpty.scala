package io.epochal.core.ledger

/** The policy for a ledger that lacks an epoch although the query is past its first one. It applies to one epoch, not to a
  * later loss of the ledger.
  */
sealed trait OnLedgerEmpty {
  def names(epoch: Long): Boolean = this == OnLedgerEmpty.Write(epoch) || this == OnLedgerEmpty.Skip(epoch)
}

object OnLedgerEmpty {
  case object Fail extends OnLedgerEmpty

  /** The epoch's rows are not in the table: the epoch is written, and the ledger begins with it. */
  final case class Write(epoch: Long) extends OnLedgerEmpty

  /** The epoch's rows are in the table: the ledger begins with the epoch, and no rows are written. */
  final case class Skip(epoch: Long) extends OnLedgerEmpty
}
