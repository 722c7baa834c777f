package io.epochal.core.ledger

/** The last applied epoch.
  *
  * @param offsetsHash
  *   hash of the source offsets that Spark logged for it; None if they could not be read
  */
final case class AppliedEpoch(epoch: Long, trigger: TriggerMode, offsetsHash: Option[String], digest: ContentDigest)
