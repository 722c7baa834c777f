package io.epochal.kit.sink.transport

import io.epochal.core.error.EpochalException
import io.epochal.kit.sink.row.RowFormat

/** For systems into which the driver alone writes: rows travel in the commit messages, and those of tasks that have more
  * in files, which the driver reads piece by piece within the one transaction. An epoch may have any size.
  *
  * @param maxInlineBytes
  *   of one task's rows in its message
  */
final private[epochal] case class FileTransport(maxInlineBytes: Long, files: RowFiles) extends Transport {

  override def open(format: RowFormat, attempt: TaskAttempt): TaskOutput = new RowFileOutput(this, format, attempt)

  override def receive(messages: Seq[TaskMessage], epoch: String): Either[EpochalException, Shipment] =
    InlineTransport.receive(messages, epoch, files.chunks)
}

final private class RowFileOutput(transport: FileTransport, format: RowFormat, attempt: TaskAttempt)
    extends BufferedOutput(format) {
  import RowFileOutput._

  private var file = Option.empty[RowFile]

  // What may be held before it is written.
  private var limit = transport.maxInlineBytes

  override def rowEnded(): Unit = if (holds > limit) {
    if (file.isEmpty) {
      file = Some(transport.files.create(attempt))
      limit = HeldBytes
    }
    file.foreach(to => send(to.write))
  }

  override def finish(report: TaskReport): TaskMessage = file match {
    case None => held(report)
    case Some(to) =>
      send(to.write)
      val crc = to.finish()
      file = None
      FileMessage(report, bytes, crc, to.name)
  }

  override def close(): Unit = file.foreach(_.cancel())
}

private object RowFileOutput {
  val HeldBytes: Long = 1L << 20
}
