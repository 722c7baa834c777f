package io.epochal.testkit

import java.nio.file.Path
import java.{lang, util}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.Condition
import io.epochal.testkit.report.Promise

/** The settings common to all fixtures. A fixture describes the connector under test. */
trait Fixture {

  /** The promises that the connector does not make: name to reason. A report shows them as exempt. */
  def exemptions: util.Map[String, String] = util.Map.of()

  /** Whether an error is a refusal with the condition. By default, an error that is not Epochal's counts if it looks deliberate, see
    * [[Refusal.reports]]. Suites over [[SourceChecks]] or [[SinkChecks]] use their own method instead.
    */
  def reports(error: Throwable, condition: Condition): Boolean = Refusal.reports(error, condition)

  /** Called after each check. */
  @throws[Exception]
  def close(): Unit = ()

  /** Reason of an exempt promise. */
  private[testkit] def exemption(promise: Promise): Option[String] = Option(exemptions.get(promise.name))
}

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

/** Fixture of a streaming sink, used without a query and through Spark's public API only. Can be implemented in Java.
  *
  * One fixture is one target with one checkpoint. The schema's first column must be a BIGINT; in `row(n)` its value is n.
  */
trait SinkFixture extends Fixture {

  def schema: StructType

  /** A row of the schema, different for each number. */
  def row(n: Long): InternalRow

  /** Starts a run, as a new driver would. `query` is the id of the checkpoint, the same across restarts. */
  def newRun(query: String): SinkRun

  /** Writes the offsets of an epoch to the checkpoint's offset log. Called before the epoch is written, as Spark does. */
  def logOffsets(epoch: Long, offsets: String): Unit

  /** Numbers of the rows that are visible in the target, in any order. */
  @throws[Exception]
  def stored(): util.List[lang.Long]
}

/** One run of a query, from start to stop. */
trait SinkRun {

  /** Creates the write of a micro-batch. Spark creates a new one for each. */
  def newWrite(): StreamingWrite
}
