package io.epochal.kit.sink

import java.util.UUID

import org.apache.spark.sql.connector.write._

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup
import io.epochal.kit.sink.transport.{RowFiles, TaskMessage, Transport}
import io.epochal.kit.spark.QueryStop

final private class TransactionalBatchWrite(request: WriteRequest, whole: Boolean) extends BatchWrite {
  import request._

  private val id = s"${BatchCommit.IdPrefix}${UUID.randomUUID()}"
  private lazy val target = sink.prepare(id, schema)
  private var transport: Transport = _

  /** A batch has no checkpoint: its files are in a user's directory, or, if driver and executors are one process, in a
    * temporary one.
    */
  private lazy val rowFiles: Option[RowFiles] = Option
    .when(sink.usesFiles)(sink.settings.spillDirectory.orElse(engine.temporaryDirectory()))
    .flatten
    .map(directory => RowFiles(rowsBelow(directory), id.replace(':', '-')))

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = QueryStop.guard {
    refusal.orElse(sink.refuses(WriteKind(whole, None))).foreach(throw _)
    try transport = chosen(target, info.numPartitions, rowFiles)
    catch {
      case error: Throwable => // Spark ends the write without another call.
        sink.ended()
        throw error
    }
    writerFactory(target, transport)
  }

  private def refusal: Option[EpochalException] =
    if (sink.settings.sinkId.nonEmpty)
      unsupportedMode(
        "write a batch under a {option:sinkId}",
        "a batch has no epoch by which a second write could be recognised",
        "Leave {option:sinkId} out, or use writeStream with {trigger:availableNow}.")
    else if (sink.settings.onNewQuery.replaces)
      unsupportedMode(
        "write a batch with {option:onNewQuery=replace}",
        "a batch is not a query",
        "Leave {option:onNewQuery} out, and write with .mode(\"overwrite\").")
    else None

  private def unsupportedMode(mode: String, reason: String, suggestion: String): Option[EpochalException] =
    Some(OptionGroup.unsupported(sink.format, mode, reason, suggestion))

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    val shipment = transport.receive(Messages.of[TaskMessage](messages), BatchCommit.Epoch)
    new BatchCommit(target, sink.settings, whole).commit(shipment)
    if (shipment.files.nonEmpty) rowFiles.foreach(_.removeAll())
    sink.ended()
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    if (transport != null)
      try {
        target.abandoned()
        rowFiles.foreach(_.removeAll())
      } finally sink.ended()

  override def toString: String = sink.description
}
