package io.epochal.kit.source

import org.apache.spark.sql.connector.read.InputPartition

/** Supplies the rows of a stream, on the driver: finds the end, and splits the rows before it.
  *
  * One thread at a time, except `known` and `latest`, which any thread may call.
  *
  * @tparam P
  *   a position in the stream, an immutable value; exclusive, as offsets are
  */
trait Supply[P] extends AutoCloseable {

  /** The number of rows after a position that can be delivered, at most `most`. Never negative.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS if the origin has lost rows, and the errors of a request
    */
  def available(start: P, most: Long): Long

  /** The number of rows after a position that fit into so many bytes, for byte limits; all rows, if they have no size. */
  def rowsWithin(start: P, bytes: Long): Long = Long.MaxValue

  /** The position after `rows` of the rows available after `start`. From now on the rows before it can be read again. */
  def take(start: P, rows: Long): P

  /** Divides the rows between two positions among tasks. Depends on the two positions only: every call yields the same rows. */
  def partitions(start: P, end: P): Array[InputPartition]

  /** The number of rows before a position, as `known` counts them. */
  def rowsBefore(position: P): Long

  /** The result of the last poll; None before the first. */
  def known: Option[Extent]

  /** The position at the known end. */
  def latest: Option[P]

  /** Whether the last poll found no row but must be logged, so that the positions it skipped are not skipped again. */
  def paused: Boolean = false

  /** Trigger.AvailableNow: the run ends where a poll first sees the end; a supply that can, looks for it at once. */
  def freezeEnd(): Unit = ()

  /** Reports that the rows before a position are delivered. Calls may repeat a position, and Spark may still replay the last
    * batch.
    */
  def release(end: P): Unit

  override def close(): Unit = ()
}
