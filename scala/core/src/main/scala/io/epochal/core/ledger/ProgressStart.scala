package io.epochal.core.ledger

/** A job of a continuous or real-time query that is about to start.
  *
  * @param epoch
  *   its first epoch: the one after the last that Spark has committed
  * @param partitions
  *   its tasks
  * @param offsetsHash
  *   of the offsets in the checkpoint for the epoch before; None if there are none
  * @param regrouped
  *   whether the source divides the rows among its tasks in another way than before
  */
final case class ProgressStart(
    queryId: String,
    epoch: Long,
    trigger: TriggerMode,
    partitions: Int,
    generation: Long,
    runId: String,
    offsetsHash: Option[String],
    regrouped: Boolean = false) {
  private[ledger] def before: Long = epoch - 1
}
