package io.epochal.kit.sink

import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.StreamingWrite

import io.epochal.kit.spark.EveryOutputMode

/** Spark creates one for every micro-batch, so nothing may happen here that should happen once. */
final private[epochal] class TransactionalWriteBuilder(request: WriteRequest) extends EveryOutputMode {
  private var whole = false

  /** Complete mode, or a batch write in overwrite mode: the rows replace all rows of the target. */
  override def truncate(): WriteBuilder = {
    whole = true
    this
  }

  override def build(): Write = {
    if (whole) request.sink.refusesWhole.foreach(throw _)
    new Write {
      override def description(): String = request.sink.description
      override def toStreaming: StreamingWrite = new TransactionalWrite(request, whole)
      override def toBatch: BatchWrite = new TransactionalBatchWrite(request, whole)
      override def supportedCustomMetrics(): Array[CustomMetric] = TaskMetrics.supported
    }
  }
}
