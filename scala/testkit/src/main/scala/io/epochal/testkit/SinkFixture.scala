package io.epochal.testkit

import java.{lang, util}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.types.StructType

/** A streaming sink under test, without a query. It is known by Spark's public API alone; also an interface for Java.
  *
  * One fixture is one target with one checkpoint. The schema's first column must be a BIGINT; `row(n)` holds n there.
  */
trait SinkFixture extends Fixture {

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
}

/** One run of a query, from start to stop. */
trait SinkRun {

  /** What Spark makes for every micro-batch anew. */
  def newWrite(): StreamingWrite
}
