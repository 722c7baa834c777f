package io.epochal.rest.sink

import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, NamedReference, SortDirection, SortOrder}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.connector.write.{
  BatchWrite,
  DataWriterFactory,
  PhysicalWriteInfo,
  RequiresDistributionAndOrdering,
  Write,
  WriteBuilder,
  WriterCommitMessage
}
import org.apache.spark.sql.streaming.OutputMode

import io.epochal.core.error.Conditions
import io.epochal.kit.sink.MicroBatches
import io.epochal.kit.spark.{EveryOutputMode, QueryStop}

/** Spark makes one for every micro-batch, so nothing may happen here that should happen once. */
final private[rest] class RestWriteBuilder(run: RestSinkRun) extends EveryOutputMode {

  override def truncate(): WriteBuilder = throw Conditions.ModeUnsupported(
    "format" -> RestSinkOptions.Format,
    "mode" -> "replace what the API holds",
    "reason" -> "output mode complete, and a batch in overwrite mode, send all rows that there are to be, and an API cannot be emptied",
    "suggestion" -> "Use output mode append or update, or a batch in append mode."
  )

  override def build(): Write = if (run.sortsByKeys) new SortedRestWrite(run) else new RestWrite(run)
}

private class RestWrite(run: RestSinkRun) extends Write {
  override def description(): String = s"${RestSinkOptions.Format} ${run.settings.place}"
  override def toStreaming: StreamingWrite = new RestStreamingWrite(run)
  override def toBatch: BatchWrite = new RestBatchWrite(run)
  override def supportedCustomMetrics(): Array[CustomMetric] = RestTaskMetrics.supported
}

/** Requests of several rows whose keys are made of columns: Spark deals the rows out by these columns to a fixed number of
  * tasks and sorts them, so that an epoch's rows make the same requests in whatever order and partitions they come.
  */
final private class SortedRestWrite(run: RestSinkRun) extends RestWrite(run) with RequiresDistributionAndOrdering {

  private val keys: Array[NamedReference] =
    run.shape.keys.map(key => Expressions.column(s"`${key.field.name.replace("`", "``")}`")).toArray

  override def requiredDistribution(): Distribution = Distributions.clustered(keys.map(key => key: Expression))
  override def requiredNumPartitions(): Int = run.settings.keys.numPartitions
  override def requiredOrdering(): Array[SortOrder] = keys.map(Expressions.sort(_, SortDirection.ASCENDING))
}

/** The driver's part of one micro-batch. Tasks send rows before the driver's commit: nothing can be taken back. */
final private class RestStreamingWrite(run: RestSinkRun) extends StreamingWrite {
  import run.settings

  private lazy val query = run.engine.runningQuery(run.queryId).fold(throw _, identity)

  /** Called before any task runs. */
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = QueryStop.guard {
    MicroBatches.refused(RestSinkOptions.Format, query.trigger).foreach(throw _)
    if (settings.keys.sent && run.shape.keys.isEmpty) run.checkOrder()
    run.show()
    if (settings.keys.sent) run.hold(query.checkpoint, info.numPartitions)
    run.factory(everyEpoch = query.outputMode != OutputMode.Append, info.numPartitions)
  }

  /** Attempts race without a referee: they send the same requests under the same keys. */
  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    QueryStop.guard(run.committed(epoch.toString, messages))

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()

  override def toString: String = s"${RestSinkOptions.Format} ${settings.place}"
}

/** A batch has no epoch by which it could be known again: its keys hold for its own attempts only, unless they are made of
  * columns under a `sinkId`.
  */
final private class RestBatchWrite(run: RestSinkRun) extends BatchWrite {

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = {
    if (run.settings.keys.sinkId.isDefined && run.shape.keys.isEmpty)
      throw Conditions.ModeUnsupported(
        "format" -> RestSinkOptions.Format,
        "mode" -> "write a batch under a sinkId without keyColumns",
        "reason" -> "the rows of two batches would have the same positions, and so the same keys",
        "suggestion" -> "Set keyColumns, or leave sinkId out."
      )
    run.factory(everyEpoch = false, info.numPartitions)
  }

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit =
    QueryStop.guard(run.committed(RestWriterFactory.Batch, messages))

  override def abort(messages: Array[WriterCommitMessage]): Unit = ()
}
