package io.epochal.kit.spark

import io.epochal.core.offset.CountedStream

/** A continuous or real-time query, as a sink inspects and controls it. Must be created in the query's own thread, before its
  * tasks start; then any thread may use it.
  */
trait EndlessQuery {

  /** The first epoch of the job that is about to start: Spark has committed the one before. */
  def firstEpoch: Long

  /** Why a restart would not deliver the same rows to the same tasks in the same order, as far as the plan shows. */
  def unrepeatable: Option[String]

  /** The source of a query that is not `unrepeatable`, if its rows can be counted. */
  def counted: Option[CountedStream] = None

  /** Continuous: forgets entries of the offset log that were set aside. Spark would use them as the ends of this run's epochs,
    * and lose rows.
    *
    * @return
    *   an epoch of this run whose offsets are in the log all the same
    */
  def forgetOffsets(): Option[Long]

  /** Continuous: whether this run logged the offsets of the epoch that is being committed. */
  def loggedOffsets(epoch: Long): Boolean

  /** Continuous, where Spark ignores exceptions of a sink's commit: ends the query with this error shortly, unless it is
    * stopping.
    */
  def fail(error: Throwable): Unit
}
