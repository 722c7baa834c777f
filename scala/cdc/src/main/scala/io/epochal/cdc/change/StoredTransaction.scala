package io.epochal.cdc.change

/** How much of a transaction the journal has.
  *
  * @param ordinal
  *   of its next change
  * @param crc
  *   CRC-32C of the bytes of its changes so far: the server must send them again if the rest is still missing
  */
final private[cdc] case class StoredTransaction(
    transaction: CommittedTransaction,
    ordinal: Long,
    crc: Int,
    isComplete: Boolean)
