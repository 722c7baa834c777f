package io.epochal.support

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.write.LogicalWriteInfo
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.ledger.TriggerMode
import io.epochal.kit.engine.{RunningQuery, SinkEngine}

/** An engine that says what the test says of its one query. */
final class TestEngine(running: => RunningQuery) extends SinkEngine {

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
