package io.epochal.cdc

/** Position in the stream: journal rows before `row` have been delivered. */
final private[cdc] case class CdcPosition(row: Long, origin: CdcOrigin)
