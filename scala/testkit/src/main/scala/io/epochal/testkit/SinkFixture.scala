package io.epochal.testkit

import java.{lang, util}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

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
