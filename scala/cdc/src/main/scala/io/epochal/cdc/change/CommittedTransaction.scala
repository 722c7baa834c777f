package io.epochal.cdc.change

/** A transaction of the server.
  *
  * @param lsn
  *   where its commit record begins
  * @param committedAt
  *   in microseconds since 1970, by the server's clock
  * @param stamp
  *   `_commit_timestamp`: the same, or one microsecond after the transaction before, whichever is later
  */
final private[cdc] case class CommittedTransaction(lsn: Long, xid: Int, committedAt: Long, stamp: Long)
