package io.epochal.testkit

import java.nio.file.Path

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType

import io.epochal.testkit.report.Promise

/** Fixture of a source, used through Spark's public API only, so any connector can be checked.
  *
  * Rows must be numbered from 0 in delivery order, so that two deliveries can be compared. Only `makeAvailable` may make rows
  * appear.
  */
trait SourceFixture extends Fixture {

  def schema: StructType

  /** Creates a stream over the source, as a new driver would.
    *
    * @param checkpoint
    *   the source's directory in the checkpoint; the same directory means the same query
    * @param partitions
    *   maximum number of partitions of a batch
    */
  def newStream(checkpoint: Path, partitions: Int): MicroBatchStream

  /** Creates a stream of the same kind of source over another origin. */
  def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream

  /** Adds `rows` rows to the origin. */
  @throws[Exception]
  def makeAvailable(rows: Int): Unit

  /** Number of rows before an offset. For `NotKnown` the checks read and count them. */
  def rowsBefore(offset: Offset): Long = { val _ = offset; SourceFixture.NotKnown }

  /** Whether rows can be read again long after their commit. A source that journals its rows may keep only a few epochs. */
  def keepsRows: Boolean = true

  /** Whether the source knows its end without reading up to it. Otherwise a run under AvailableNow ends where the source first sees
    * the end.
    */
  def endIsKnownAtStart: Boolean = true

  override private[testkit] def exemption(promise: Promise): Option[String] =
    super
      .exemption(promise)
      .orElse(Some(promise).collect {
        case SourcePromises.KeepsRows if !keepsRows =>
          "declared: the source keeps no rows long after they were committed"
        case SourcePromises.AvailableNowTarget if !endIsKnownAtStart =>
          "declared: the source cannot say where it ends before it is read to there"
      })
}

object SourceFixture {
  val NotKnown: Long = -1L
}
