package io.epochal.testkit

import java.nio.file.Path

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType

import io.epochal.testkit.report.Promise

/** A source under test. It is known by Spark's public API alone, so any connector can be checked.
  *
  * The rows of the source must be numbered from 0 in the order in which they are delivered, so that two deliveries can be
  * compared, and `makeAvailable` must be the only thing that makes rows appear.
  */
trait SourceFixture extends Fixture {

  def schema: StructType

  /** A new stream over the source, as a new driver would make it.
    *
    * @param checkpoint
    *   the source's own directory in the checkpoint; the same directory is the same query
    * @param partitions
    *   how many partitions a batch may have
    */
  def newStream(checkpoint: Path, partitions: Int): MicroBatchStream

  /** The same kind of source over another origin. */
  def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream

  /** Adds so many rows to the origin. */
  @throws[Exception]
  def makeAvailable(rows: Int): Unit

  /** The number of rows before an offset; with `NotKnown` the checks read and count them. */
  def rowsBefore(offset: Offset): Long = { val _ = offset; SourceFixture.NotKnown }

  /** Whether rows can be read again long after they were committed. A source that journals its rows need keep only a few epochs. */
  def keepsRows: Boolean = true

  /** Whether the source knows its end before it has read that far. One that does not ends a run under AvailableNow where it first sees
    * the end.
    */
  def endIsKnownAtStart: Boolean = true

  override private[testkit] def exemption(promise: Promise): Option[String] =
    super
      .exemption(promise)
      .orElse(promise match {
        case SourcePromises.KeepsRows if !keepsRows =>
          Some("declared: the source keeps no rows long after they were committed")
        case SourcePromises.AvailableNowTarget if !endIsKnownAtStart =>
          Some("declared: the source cannot say where it ends before it is read to there")
        case _ => None
      })
}

object SourceFixture {
  val NotKnown: Long = -1L
}
