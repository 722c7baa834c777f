package io.epochal.testkit

import java.nio.file.Path
import java.util

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.Condition

/** What the checks need to know of a source under test. Only Spark's public API: any connector can be put through them.
  *
  * The rows of the source must be numbered from 0 in the order in which they are delivered, so that two deliveries can be
  * compared, and `makeAvailable` must be the only thing that makes rows appear.
  */
trait SourceFixture {

  def schema: StructType

  /** A new stream over the source, as a new driver would make it.
    *
    * @param checkpoint
    *   the source's own directory in the checkpoint; the same directory is the same query
    * @param partitions
    *   how many partitions a batch may have
    */
  def newStream(checkpoint: Path, partitions: Int): MicroBatchStream

  /** The same kind of source over another origin: its offsets belong to somebody else. */
  def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream

  /** Makes this many more rows exist at the origin. */
  @throws[Exception]
  def makeAvailable(rows: Int): Unit

  /** How many rows, from the first one on, lie before an offset; `NotKnown` has the checks read and count them. */
  def rowsBefore(offset: Offset): Long = { val _ = offset; SourceFixture.NotKnown }

  /** Whether rows can be read again long after they were committed. A source that journals what it reads need keep no more than
    * a few epochs of it.
    */
  def keepsRows: Boolean = true

  /** Whether the source can say where it ends before it is read to there. One that is not ends a run under AvailableNow where it
    * first sees its end.
    */
  def endIsKnownAtStart: Boolean = true

  /** The promises that the source does not make: the name of each, and why. A report shows them as exempt. */
  def exemptions: util.Map[String, String] = util.Map.of()

  /** Whether an error tells of a condition. An error that is not Epochal's may be any that was made on purpose. A suite over
    * [[SourceChecks]] says so itself.
    */
  def tells(error: Throwable, condition: Condition): Boolean = Refusal.tells(error, condition)

  /** Called after each check. */
  @throws[Exception]
  def close(): Unit = ()
}

object SourceFixture {
  val NotKnown: Long = -1L
}
