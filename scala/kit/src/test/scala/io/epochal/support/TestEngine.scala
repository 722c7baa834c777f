package io.epochal.support

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.ledger.TriggerMode
import io.epochal.kit.spark.{ClaimingSink, EndlessQuery, RunningQuery, SinkEngine}

/** An engine with one query, whose state the test sets. */
final class TestEngine(running: => RunningQuery, override val startsQuery: Boolean = false) extends SinkEngine {

  /** Of the job that starts next. */
  @volatile var epoch: Long = 0L

  /** Of the micro-batch that begins next, if the engine knows it. */
  @volatile var batch: Option[Long] = None

  override def currentEpoch: Option[Long] = batch

  /** Why the query was ended. */
  @volatile var failure: Option[Throwable] = None

  /** Whether another query logs offsets in the checkpoint. */
  @volatile var foreignOffsets: Boolean = false

  override def endlessQuery(id: String, trigger: TriggerMode): Right[Nothing, EndlessQuery] = Right(new EndlessQuery {
    override def firstEpoch: Long = epoch
    override def unrepeatable: Option[String] = None
    override def forgetOffsets(): Option[Long] = None
    override def loggedOffsets(epoch: Long): Boolean = !foreignOffsets
    override def fail(error: Throwable): Unit = failure = Some(error)
  })

  /** The table that waits for the query's start. */
  @volatile var starting: Option[ClaimingSink] = None

  override def atStart(table: ClaimingSink): Unit = starting = Some(table)

  override def runningQuery(id: String): Right[Nothing, RunningQuery] = Right(running)
  override def hadoop: Configuration = new Configuration(false)
  override def maxResultBytes: Option[Long] = None
}

object TestEngine {

  /** One run in micro-batches. */
  def of(checkpoint: String): TestEngine = {
    val running = RunningQuery(UUID.randomUUID().toString, TriggerMode.MicroBatch, OutputMode.Append, checkpoint)
    new TestEngine(running)
  }
}

final class TestWriteInfo(override val queryId: String, override val schema: StructType) extends LogicalWriteInfo {
  override def options(): CaseInsensitiveStringMap = CaseInsensitiveStringMap.empty()
}
