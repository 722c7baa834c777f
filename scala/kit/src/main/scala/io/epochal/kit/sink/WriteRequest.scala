package io.epochal.kit.sink

import org.apache.spark.sql.types.StructType

import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.{RowFiles, Transport}
import io.epochal.kit.spark.SinkEngine
import io.epochal.kit.store.HadoopFileStore

/** The state that the writes of one query or batch share. */
final private[sink] case class WriteRequest(
    sink: TransactionalSink,
    claims: Claims,
    schema: StructType,
    queryId: String,
    metrics: SinkMetrics,
    engine: SinkEngine) {

  def chosen(target: SinkTarget, tasks: Int, files: => Option[RowFiles]): Transport =
    target.transport(tasks, maxInlineBytes, files)

  /** Task results also count against Spark's own limit, whose error gives no advice. */
  private def maxInlineBytes: Long = {
    val limit = sink.settings.inlineMaxBytes
    engine.maxResultBytes.fold(limit)(max => math.min(limit, max / 10 * 9))
  }

  def writerFactory(target: SinkTarget, transport: Transport): SinkWriterFactory =
    new SinkWriterFactory(transport, target.rowFormat, schema, BadRows(sink.settings.badRowLimit, schema, target.name))

  def rowsBelow(directory: String): HadoopFileStore =
    new HadoopFileStore(directory, engine.hadoop).below(RowFiles.Directory)
}
