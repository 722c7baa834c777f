package io.epochal.cdc.change

import io.epochal.cdc.pgoutput.Bytes

/** The payload of a journal frame: changes of whole transactions, or a part of one. It contains the definitions of their tables,
  * so that a task can begin at any frame. Numbers are big-endian; u4 has four bytes, i8 eight, with a sign.
  *
  * {{{
  * version        u1, 2
  * definitions    u4, their position
  * note           u4, its position
  * transaction*   i8 LSN, u4 xid, i8 time of commit, i8 stamp, i8 first ordinal, i8 next ordinal, u4 rows, u4 CRC-32C of
  *                all its changes so far, u1 whether it is complete, u4 bytes of its changes
  *   change*      u1 kind, u2 definition, u4 bytes, then the tuples: an old one begins with 'K' (identity) or 'O' (whole), a new
  *                one with 'N', as the server sent them
  * definition*    u4 bytes, then the server's Relation message; of several tables, then its `TypeText`
  * note           the snapshot's progress with these rows, as JSON; empty for changes
  * }}}
  *
  * Rows of the snapshot are inserts of a transaction with the xid 0, which no transaction has. In version 1 ordinals have four bytes.
  *
  * @param payload
  *   valid until the next frame is built
  * @param before
  *   the state before it, which the journal keeps with a segment
  * @param after
  *   the state that later frames build on
  */
final private[cdc] case class ChangeFrame(rows: Int, payload: Bytes, before: ChangeState, after: ChangeState)

private[cdc] object ChangeFrame {
  val Version: Byte = 2
  val Head: Int = 9

  /** Bytes from a transaction's head to its ordinals. */
  val ToOrdinals: Int = 8 + 4 + 8 + 8

  def transactionHead(version: Byte): Int = ToOrdinals + (if (version == 1) 8 else 16) + 4 + 4 + 1 + 4

  val TransactionHead: Int = transactionHead(Version)
}
