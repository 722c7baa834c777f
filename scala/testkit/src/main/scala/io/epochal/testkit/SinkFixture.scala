package io.epochal.testkit

import java.{lang, util}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.Condition

/** What the checks need to know of a streaming sink under test. Only Spark's public API; an interface to Java as
  * well.
  *
  * One fixture is one target with one checkpoint. The schema's first column must be a BIGINT; `row(n)` holds n there.
  */
trait SinkFixture {

  def schema: StructType

  /** A row of the schema that is unlike that of any other number. */
  def row(n: Long): InternalRow

  /** A driver that starts: `query` is the checkpoint's id, the same over restarts. */
  def newRun(query: String): SinkRun

  /** Puts the offsets of an epoch where Spark logs them: into the checkpoint, before the epoch is written. */
  def logOffsets(epoch: Long, offsets: String): Unit

  /** The numbers of the rows that readers of the target see, in any order. */
  @throws[Exception]
  def stored(): util.List[lang.Long]

  /** The promises that the sink does not make: the name of each, and why. A report shows them as exempt. */
  def exemptions: util.Map[String, String] = util.Map.of()

  /** Whether an error tells of a condition. An error that is not Epochal's may be any that was made on purpose. A suite over
    * [[SinkChecks]] says so itself.
    */
  def tells(error: Throwable, condition: Condition): Boolean = Refusal.tells(error, condition)

  /** Called after each check. */
  @throws[Exception]
  def close(): Unit = ()
}

/** One run of a query, from start to stop. */
trait SinkRun {

  /** What Spark makes for every micro-batch anew. */
  def newWrite(): StreamingWrite
}
