package io.epochal.core.ledger

/** An epoch that a run wants to commit.
  *
  * @param queryId
  *   of the run's query
  * @param generation
  *   from the run's claim
  * @param runId
  *   the run: a ledger restored from a backup can assign the same generation again, but not to the same run
  * @param offsetsHash
  *   hash of the epoch's offsets in Spark's checkpoint; None if they cannot be read
  * @param repartitions
  *   the hash of an earlier epoch's offsets, if in that epoch Spark only repartitioned the query's state: no sink sees it
  * @param logged
  *   the hash of any epoch's offsets in Spark's checkpoint as it is now
  */
final case class EpochAttempt(
    queryId: String,
    epoch: Long,
    generation: Long,
    runId: String,
    trigger: TriggerMode,
    offsetsHash: Option[String],
    digest: ContentDigest,
    repartitions: Long => Option[String] = _ => None,
    logged: Long => Option[String] = _ => None
) {
  def applied: AppliedEpoch = AppliedEpoch(epoch, trigger, offsetsHash, digest)
}
